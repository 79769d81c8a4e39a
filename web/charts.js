// Queue delay and throughput of both sides, on one scale for both.

import { placeOf, plot, sample, timeAt } from "./plot.js";
import { shown } from "./quantity.js";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const LIGHT = ["#b3352b", "#1f5fa8", "#2b7a3a", "#7a4fa0"];
const DARK = ["#ff9186", "#7db4f0", "#82d08f", "#c9a2ee"];
const DELAY = 3; // the color of the queue, which belongs to no group on a first screen
const HEIGHT = 170;
// By how many bins a key moves the cursor of a chart.
const KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
const dark = matchMedia("(prefers-color-scheme: dark)");

export const color = (index) => (dark.matches ? DARK : LIGHT)[index % LIGHT.length];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The largest values of several sides: what a shared scale must hold. */
export function scales(sides) {
  const most = (values) => values.reduce((largest, value) => Math.max(largest, value ?? 0), 0) * 1.05 || 1;
  return {
    delayMs: most(sides.flatMap((side) => [...side.delays, ...(side.band?.delay[1] ?? [])])),
    rateMbps: most(sides.flatMap((side) => [...side.rates, ...(side.band?.rates ?? []).map((band) => band[1])].flat())),
    endS: Math.max(...sides.map((side) => side.endS)),
  };
}

/** The charts of one side: what each shows, for `plot`. */
export function panels(curve, limits) {
  const shared = { endS: limits.endS, times: curve.times, text: style("--quiet"), grid: style("--line") };
  const groups = curve.names.map((name, index) => ({
    name, values: curve.rates[index], ink: color(index), dash: DASHES[index % DASHES.length], band: curve.band?.rates[index],
  }));
  const queue = [{ name: "", values: curve.delays, ink: color(DELAY), dash: [], band: curve.band?.delay }];
  return [
    { title: "Queue delay", unit: "ms", most: limits.delayMs, lines: queue, ...shared },
    { title: "Throughput", unit: "Mbit/s", most: limits.rateMbps, lines: groups, ...shared },
  ];
}

/** The charts of one side in an element; `point` hears of a time that somebody points at. */
export class Charts {
  constructor(element, where, point) {
    Object.assign(this, { element, where, told: point, charts: [], drawn: null, width: 0 });
    new ResizeObserver(() => this.width !== element.clientWidth && this.again()).observe(element);
    dark.addEventListener("change", () => this.again());
  }

  again() {
    if (this.drawn) this.draw(...this.drawn);
  }

  draw(curve, limits) {
    this.drawn = [curve, limits];
    this.width = this.element.clientWidth;
    const wanted = panels(curve, limits);
    if (this.charts.length !== wanted.length) this.#make(wanted);
    wanted.forEach((panel, index) => {
      const { place, picture } = this.charts[index];
      this.charts[index].panel = panel;
      picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
      picture.innerHTML = `${plot({ ...panel, width: this.width, height: HEIGHT })}<path class="cursor" d="M0 0V${HEIGHT}" stroke="currentColor" hidden/>`;
      place.setAttribute("aria-valuemax", String(limits.endS));
    });
    this.legend.innerHTML = wanted.at(-1).lines.map((line) => `<li><svg width="28" height="8" aria-hidden="true">${sample(0, 4, line)}</svg></li>`).join("");
    wanted.at(-1).lines.forEach(({ name }, index) => this.legend.children[index].append(name));
    this.point(null);
  }

  /** Puts the cursor of the charts at a time, with the values there; away for null. */
  point(timeS) {
    this.timeS = timeS;
    for (const { place, picture, said, panel } of this.charts) {
      const cursor = picture.lastElementChild;
      cursor.toggleAttribute("hidden", timeS === null);
      said.textContent = timeS === null ? "" : this.#said(panel, timeS);
      place.setAttribute("aria-valuenow", String(timeS ?? 0));
      place.setAttribute("aria-valuetext", said.textContent || "no time chosen");
      if (timeS !== null) cursor.setAttribute("transform", `translate(${placeOf(timeS, panel.endS, this.width)})`);
    }
  }

  #said({ times, lines, unit }, timeS) {
    const row = Math.max(0, times.findLastIndex((time) => time <= timeS));
    const values = lines.map(({ name, values: column }) => `${name} ${shown(column[row])}`.trim());
    return `${timeS.toFixed(1)} s: ${values.join(", ")} ${unit}`;
  }

  #make(wanted) {
    this.charts = wanted.map((panel) => this.#chart(panel));
    this.legend = Object.assign(document.createElement("ul"), { className: "legend" });
    this.element.replaceChildren(...this.charts.flatMap(({ head, place }) => [head, place]), this.legend);
  }

  #chart({ title, unit }) {
    const head = Object.assign(document.createElement("div"), { className: "chart-head" });
    const said = Object.assign(document.createElement("span"), { className: "quiet" });
    head.append(Object.assign(document.createElement("h3"), { textContent: `${title} in ${unit}` }), said);
    const place = Object.assign(document.createElement("div"), { className: "chart", tabIndex: 0 });
    place.setAttribute("role", "slider");
    place.setAttribute("aria-valuemin", "0");
    place.setAttribute("aria-label", `${title} over time, ${this.where}: the keys move to a time; the table below has the numbers of the run`);
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("aria-hidden", "true");
    picture.setAttribute("height", String(HEIGHT));
    place.append(picture);
    place.onpointermove = (event) => this.told(timeAt(event.clientX - place.getBoundingClientRect().left, this.drawn[1].endS, this.width));
    place.onpointerleave = () => this.told(null);
    place.onkeydown = (event) => {
      const bins = KEYS[event.key];
      if (bins === undefined) return;
      event.preventDefault();
      const { times } = this.drawn[0];
      const now = this.timeS === null ? -1 : times.findLastIndex((time) => time <= this.timeS);
      this.told(times[Math.min(times.length - 1, Math.max(0, now + bins))]);
    };
    return { head, said, place, picture };
  }
}
