// A chart over time as SVG: the same drawing on the screen and in a saved picture.

const LEFT = 44;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 22;
const LABEL_WIDTH = 90;
const LABEL_HEIGHT = 35;

/** Lines and bands of one chart: `lines` is a list of {values, ink, dash, band}, where a value may be null. */
export function plot({ width, height, endS, most, times, lines, text, grid }) {
  const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  const x = (timeS) => (LEFT + (timeS / endS) * wide).toFixed(1);
  const y = (value) => (TOP + high * (1 - value / most)).toFixed(1);
  const rules = ticks(most, high / LABEL_HEIGHT).map((value) => (
    `<path d="M${LEFT} ${y(value)}h${wide}" stroke="${grid}"/>${label(LEFT - 6, Number(y(value)) + 4, value, text, "end")}`
  ));
  const seconds = ticks(endS, wide / LABEL_WIDTH).map((value) => label(x(value), height - 5, `${value} s`, text, Number(x(value)) > width - LEFT / 2 ? "end" : "middle"));
  const bands = lines.filter((line) => line.band).map(({ band: [least, largest], ink }) => {
    const rows = [...times.keys()].filter((row) => least[row] !== null);
    const edge = (values, order) => order.map((row) => `${x(times[row])} ${y(values[row])}`);
    const outline = [...edge(largest, rows), ...edge(least, rows.reverse())].join("L");
    return outline && `<path d="M${outline}z" fill="${ink}" fill-opacity=".2"/>`;
  });
  const paths = lines.map(({ values, ink, dash }) => {
    let [path, pen] = ["", "M"];
    values.forEach((value, row) => {
      if (value !== null) path += `${pen}${x(times[row])} ${y(value)}`;
      pen = value === null ? "M" : "L";
    });
    // A row stands for its bin: the last one ends a bin later.
    if (pen === "L" && times.length > 1) path += `H${x(Math.min(endS, 2 * times.at(-1) - times.at(-2)))}`;
    return `<path d="${path}" fill="none" stroke="${ink}" stroke-width="1.5" stroke-dasharray="${dash.join(" ")}"/>`;
  });
  return [...rules, ...seconds, ...bands, ...paths].join("");
}

/** Where a time lies in a chart of this width, and the time at such a place. */
export const placeOf = (timeS, endS, width) => LEFT + (timeS / endS) * (width - LEFT - RIGHT);
export const timeAt = (place, endS, width) => Math.min(1, Math.max(0, (place - LEFT) / (width - LEFT - RIGHT))) * endS;

/** Round numbers from 0 to the largest value, in at most so many steps. */
function ticks(most, steps) {
  const rough = most / Math.max(1, Math.floor(steps));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

/** A text in a picture. */
export function label(x, y, words, ink, anchor = "start", size = 12) {
  const safe = String(words).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" fill="${ink}" font-size="${size}" text-anchor="${anchor}">${safe}</text>`;
}

/** The line that stands for a series in a key. */
export function sample(x, y, { ink, dash }) {
  return `<path d="M${x} ${y}h28" stroke="${ink}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`;
}
