// Quantities as the engine writes them: a number, a space, a unit.

const FACTORS = {
  "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
  ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  packet: 1, packets: 1,
};

/** The number in basic units (bit/s, s, packets); NaN for any other text. */
export function quantity(text) {
  const [, value, unit] = /^([\d.eE+-]+) (\S+)$/.exec(String(text)) ?? [];
  return unit in FACTORS ? Number(value) * FACTORS[unit] : NaN;
}

/** A number for people: three digits. */
export function shown(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
