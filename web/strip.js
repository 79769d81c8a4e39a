// The ideal strip: a short delay, best effort first, and a link that low priority can fill when nobody else does.

import { label } from "./plot.js";
import { shown } from "./quantity.js";

/** What the four conditions ask for, as `sojourn.data.strip` has them. */
export const BOUNDS = { delay_ms: 20, share: 0.9, utilization: 0.95, alone: 0.9 };
const [HEIGHT, LEFT, BOTTOM, EDGE] = [300, 44, 38, 10];
const MIN_MS = 0.1;

const others = (scenario, low) => scenario.group.filter((group) => group.control && group.name !== low).map((group) => group.name);

/** What a run with both classes says: the mean delay of the call, or of all packets, and best effort's part of the goodput. */
export function placeOf(record, scenario, low) {
  const call = scenario.group.find((group) => group.traffic?.kind === "voip");
  const best = others(scenario, low).reduce((sum, name) => sum + (record.groups[name]?.goodput_mbps ?? 0), 0);
  const delays = call ? record.groups[call.name] : record.bottleneck;
  return { delayMs: delays.queue_ms?.mean ?? NaN, share: best / (best + (record.groups[low].goodput_mbps ?? 0)) };
}

export const meets = ({ delayMs, share }) => delayMs < BOUNDS.delay_ms && share > BOUNDS.share;

/** Whether the link is used as well with both as with best effort alone, and by low priority alone. */
export const fills = (both, best, low) => {
  const [one, other, alone] = [both, best, low].map((record) => record.bottleneck.utilization);
  return other > 0 && one / other > BOUNDS.utilization && alone > BOUNDS.alone;
};

/** Keys with which the one class is alone: the groups of the other send for a millisecond. */
export function alone(scenario, low, isLow) {
  const silent = isLow ? others(scenario, low) : [low];
  return silent.flatMap((name) => [[`group.${name}.start`, "0 s"], [`group.${name}.stop`, "1 ms"]]);
}

/** Cells as points, delay against best effort's share: {name, place, inside} each; filled where all four conditions are met. */
export function drawing(cells, { width, text, grid, ink }) {
  const known = cells.filter(({ place }) => place.delayMs >= 0 && place.share >= 0);
  const mostMs = Math.max(1000, ...known.map(({ place }) => place.delayMs));
  const [wide, high] = [width - LEFT - EDGE, HEIGHT - BOTTOM - EDGE];
  const x = (ms) => LEFT + (wide * Math.log(Math.max(MIN_MS, ms) / MIN_MS)) / Math.log(mostMs / MIN_MS);
  const y = (share) => EDGE + high * (1 - share);
  const strip = `<rect x="${LEFT}" y="${EDGE}" width="${x(BOUNDS.delay_ms) - LEFT}" height="${y(BOUNDS.share) - EDGE}" fill="${ink}" fill-opacity=".2"/>`;
  const rows = [0, 0.5, 1].map((share) => `<path d="M${LEFT} ${y(share)}h${wide}" stroke="${grid}"/>${label(LEFT - 6, y(share) + 4, share * 100, text, "end")}`);
  const columns = [0.1, 1, 10, 100, 1000].map((ms) => label(x(ms), HEIGHT - 22, ms, text, ms < 1000 ? "middle" : "end"));
  const points = known.map(({ name, place, inside }) => (
    `<circle cx="${x(place.delayMs).toFixed(1)}" cy="${y(place.share).toFixed(1)}" r="4" stroke="${ink}" fill="${inside ? ink : "none"}"><title>${name}: ${shown(place.delayMs)} ms, ${shown(place.share * 100)} %</title></circle>`
  ));
  return { height: HEIGHT, svg: [strip, ...rows, ...columns, label(LEFT, HEIGHT - 4, "mean queue delay in ms, against the share of best effort in %", text), ...points].join("") };
}
