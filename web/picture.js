// Both sides as one picture: SVG from the charts, and PNG from the SVG.

import { panels } from "./charts.js";
import { label, plot, sample } from "./plot.js";

const WIDTH = 600;
const HEIGHT = 180;
const HEAD = 40;
const TITLE = 30;
const KEY_WIDTH = 130;

/** An SVG of both sides with their titles; `limits` are the shared scales. */
export function svgOf(titles, curves, limits, ground, text) {
  const sides = curves.map((curve, side) => {
    const charts = panels(curve, limits);
    const parts = charts.map((panel, index) => (
      `<g transform="translate(0 ${HEAD + index * (TITLE + HEIGHT)})">${label(10, 20, `${panel.title} in ${panel.unit}`, text)}`
      + `<g transform="translate(0 ${TITLE})">${plot({ ...panel, text, width: WIDTH, height: HEIGHT })}</g></g>`
    ));
    const below = HEAD + charts.length * (TITLE + HEIGHT) + 20;
    const keys = charts.at(-1).lines.map((line, index) => (
      sample(44 + index * KEY_WIDTH, below - 4, line) + label(78 + index * KEY_WIDTH, below, line.name, text)
    ));
    return `<g transform="translate(${side * WIDTH})">${label(10, 26, titles[side], text, "start", 18)}${parts.join("")}${keys.join("")}</g>`;
  });
  const height = HEAD + panels(curves[0], limits).length * (TITLE + HEIGHT) + 35;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * WIDTH}" height="${height}" font-family="sans-serif">`
    + `<rect width="100%" height="100%" fill="${ground}"/>${sides.join("")}</svg>`;
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
