// Both sides as one picture: SVG from the numbers, and PNG from the SVG.

import { DASHES, color } from "./charts.js";

const WIDTH = 480;
const PANEL_HEIGHT = 150;
const LEFT = 60;
const TOP = 60;

/** An SVG of both sides with their titles; `limits` are the shared scales. */
export function svgOf(titles, curves, limits, ground, text) {
  const panels = curves.flatMap((curve, side) => {
    const x = LEFT + side * (WIDTH + 2 * LEFT);
    return [
      label(x, 25, titles[side], 18),
      panel(x, TOP, "Queue delay in ms", limits.delayMs, limits.endS, curve.times, [[curve.delays, color(3), []]], text),
      panel(x, TOP + PANEL_HEIGHT + TOP, "Throughput in Mbit/s", limits.rateMbps, limits.endS, curve.times,
        curve.rates.map((rate, index) => [rate, color(index), DASHES[index % DASHES.length]]), text),
      ...curve.names.map((name, index) => keyOf(x + index * 110, 2 * (TOP + PANEL_HEIGHT) + 45, name, index)),
    ];
  });
  const [width, height] = [2 * (WIDTH + 2 * LEFT), 2 * (TOP + PANEL_HEIGHT) + 60];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="${text}">`
    + `<rect width="100%" height="100%" fill="${ground}"/>${panels.join("")}</svg>`;
}

function label(x, y, text, size = 12, anchor = "start") {
  const safe = String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" font-size="${size}" text-anchor="${anchor}">${safe}</text>`;
}

function panel(x, y, title, most, endS, times, lines, stroke) {
  const px = (time) => (x + (time / endS) * WIDTH).toFixed(1);
  const py = (value) => (y + PANEL_HEIGHT * (1 - value / most)).toFixed(1);
  const paths = lines.map(([values, ink, dash]) => {
    let pen = "M";
    let path = "";
    values.forEach((value, index) => {
      if (value === null) {
        pen = "M";
        return;
      }
      path += `${pen}${px(times[index])} ${py(value)}`;
      pen = "L";
    });
    return `<path d="${path}" fill="none" stroke="${ink}" stroke-width="1.5" stroke-dasharray="${dash.join(" ")}"/>`;
  });
  const ticks = [0, most / 2, most].map((value) => label(x - 6, Number(py(value)) + 4, Number(value.toPrecision(2)), 12, "end"));
  const seconds = [0, endS / 2, endS].map((value) => label(px(value), y + PANEL_HEIGHT + 16, `${Number(value.toPrecision(3))} s`, 12, "middle"));
  const frame = `<path d="M${x} ${y}V${y + PANEL_HEIGHT}H${x + WIDTH}" fill="none" stroke="${stroke}"/>`;
  return [label(x, y - 8, title), frame, ...ticks, ...seconds, ...paths].join("");
}

function keyOf(x, y, name, index) {
  const dash = DASHES[index % DASHES.length].join(" ");
  return `<line x1="${x}" x2="${x + 26}" y1="${y - 4}" y2="${y - 4}" stroke="${color(index)}" stroke-width="2" stroke-dasharray="${dash}"/>${label(x + 30, y, name)}`;
}

/** The PNG of an SVG, at twice its size. */
export async function pngOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}
