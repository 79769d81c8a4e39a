// Queue delay and throughput of both sides, on one scale for both.

/* global uPlot */

export const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const LIGHT = ["#b3352b", "#1f5fa8", "#2b7a3a", "#7a4fa0"];
const DARK = ["#ff9186", "#7db4f0", "#82d08f", "#c9a2ee"];
const HEIGHT = 170;
const dark = matchMedia("(prefers-color-scheme: dark)");

export const color = (index) => (dark.matches ? DARK : LIGHT)[index % LIGHT.length];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The largest values of several sides: what a shared scale must hold. */
export function scales(sides) {
  const most = (values) => values.reduce((largest, value) => Math.max(largest, value ?? 0), 0) * 1.05 || 1;
  return {
    delayMs: most(sides.flatMap((side) => [...side.delays, ...(side.band?.delay[1] ?? [])])),
    rateMbps: most(sides.flatMap((side) => [...side.rates, ...(side.band?.rates ?? []).map((band) => band[1])].flat())),
    endS: most(sides.flatMap((side) => side.times)) / 1.05,
  };
}

/** The charts of one side in an element. */
export class Charts {
  constructor(element) {
    this.element = element;
    this.drawn = null;
    const again = () => this.drawn && this.draw(...this.drawn, true);
    new ResizeObserver(again).observe(element);
    dark.addEventListener("change", again);
  }

  draw(curve, limits, anew = false) {
    this.drawn = [curve, limits];
    const width = this.element.clientWidth;
    const key = JSON.stringify([curve.names, width, dark.matches, Boolean(curve.band)]);
    if (anew && key === this.key) return;
    this.limits = limits;
    if (key !== this.key) this.#make(curve, width);
    this.key = key;
    this.delay.setData([curve.times, curve.delays, ...(curve.band?.delay ?? [])]);
    this.rate.setData([curve.times, ...curve.rates, ...(curve.band?.rates ?? []).flat()]);
  }

  /** Puts the cursor of both charts at a time. */
  point(timeS) {
    for (const chart of [this.delay, this.rate]) chart?.setCursor({ left: chart.valToPos(timeS, "x"), top: 0 }, false);
  }

  #make(curve, width) {
    this.delay?.destroy();
    this.rate?.destroy();
    this.element.replaceChildren();
    const purple = dark.matches ? "#c9a2ee" : "#6a3d9a";
    const queue = [{ label: "queue delay", stroke: purple, fill: `${purple}22`, width: 1.5 }];
    const groups = curve.names.map((name, index) => ({
      label: name, stroke: color(index), dash: DASHES[index % DASHES.length], width: 1.5,
    }));
    this.delay = this.#chart("Queue delay in ms", width, queue, curve.band, () => this.limits.delayMs);
    this.rate = this.#chart("Throughput in Mbit/s", width, groups, curve.band, () => this.limits.rateMbps);
    this.element.append(legend(curve.names));
  }

  #chart(title, width, series, band, most) {
    // Behind the lines stand the lowest and the highest value of each.
    const edges = band ? series.flatMap(() => [{ label: "lowest" }, { label: "highest" }]) : [];
    const bands = (band ? series : []).map(({ stroke }, index) => {
      const low = 1 + series.length + 2 * index;
      return { series: [low + 1, low], fill: `${stroke}33` };
    });
    const heading = document.createElement("h3");
    heading.textContent = title;
    const place = document.createElement("div");
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${title} over time; the table below has the numbers`);
    this.element.append(heading, place);
    const axis = { stroke: style("--quiet"), grid: { stroke: style("--line"), width: 1 }, ticks: { show: false } };
    const options = {
      width, height: HEIGHT, legend: { show: false }, cursor: { y: false, sync: { key: "lab" }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: () => [0, this.limits.endS] }, y: { range: () => [0, most()] } },
      axes: [{ ...axis, size: 30, values: (_, values) => values.map((value) => `${value} s`) }, { ...axis, size: 52 }],
      series: [{}, ...[...series, ...edges].map((one) => ({ ...one, points: { show: false } }))], bands,
    };
    return new uPlot(options, [[], ...series.map(() => []), ...edges.map(() => [])], place);
  }
}

function legend(names) {
  const list = document.createElement("ul");
  list.className = "legend";
  names.forEach((name, index) => {
    const item = document.createElement("li");
    const dash = DASHES[index % DASHES.length].join(" ");
    item.innerHTML = '<svg width="28" height="8" aria-hidden="true"><line x2="28" y1="4" y2="4" stroke-width="2"/></svg>';
    const line = item.querySelector("line");
    line.setAttribute("stroke", color(index));
    line.setAttribute("stroke-dasharray", dash);
    item.append(name);
    list.append(item);
  });
  return list;
}
