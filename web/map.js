// The map: every queue with every control for one group of the scenario on the left.

import { MAX_MOS } from "./call.js";
import { shown } from "./quantity.js";
import { alone, drawing, fills, meets, placeOf } from "./strip.js";

const PAINT_EVERY_MS = 500;
const METRICS = [
  { name: "share of the group, %", of: (record, group) => (record.groups[group]?.share ?? NaN) * 100, most: () => 100 },
  { name: "queue delay, mean, ms", of: (record) => record.bottleneck.queue_ms.mean, most: largest },
  { name: "queue delay, 99th percentile, ms", of: (record) => record.bottleneck.queue_ms.p99, most: largest },
  { name: "call quality, MOS", of: (record) => Object.values(record.groups).find((group) => group.voip)?.voip.mos ?? NaN, most: () => MAX_MOS, digits: 1 },
  { name: "utilization, %", of: (record) => record.bottleneck.utilization * 100, most: () => 100 },
];

function largest(values) {
  return values.reduce((most, value) => Math.max(most, Number.isFinite(value) ? value : 0), 0) || 1;
}

export class GridMap {
  constructor({ clients, catalogue, base, open }) {
    Object.assign(this, { clients, catalogue, base, open, cells: new globalThis.Map(), turn: 0 });
    this.group = document.getElementById("map-group");
    this.metric = document.getElementById("map-metric");
    this.table = document.getElementById("map-table");
    this.state = document.getElementById("map-state");
    METRICS.forEach(({ name }, index) => this.metric.append(new Option(name, String(index))));
    this.metric.onchange = () => this.paint();
    this.picture = document.getElementById("map-strip");
    this.inside = document.getElementById("map-inside");
    new ResizeObserver(() => this.drawStrip()).observe(this.picture.parentElement);
    document.getElementById("map-run").onclick = () => this.compute();
  }

  /** Offers the groups of a scenario; the last one, which in the papers has the low priority, first. */
  offer(scenario) {
    const names = scenario.group.filter((group) => group.control).map((group) => group.name).reverse();
    if (names.join() === this.names) return;
    this.names = names.join();
    this.group.replaceChildren(...names.map((name) => new Option(name, name)));
  }

  async compute() {
    this.turn += 1;
    const turn = this.turn;
    const began = performance.now();
    let painted = began;
    const name = this.group.value;
    const { side, scenario } = this.base();
    this.cells.clear();
    this.drawStrip();
    this.make(name);
    // Where one class is alone: for best effort the control of the other does not matter.
    this.bests = new globalThis.Map();
    const limit = scenario.bottleneck.queue.limit;
    const { queues, controls } = this.catalogue();
    const waiting = queues.flatMap((queue) => controls.map((control) => [queue, control]));
    const count = waiting.length;
    const work = async (client) => {
      for (let next = waiting.shift(); next && turn === this.turn; next = waiting.shift()) {
        const [queue, control] = next;
        const changed = side.copy();
        const keeps = typeof limit === "string" && queue.parameters.some((parameter) => parameter.name === "limit");
        changed.set("bottleneck.queue", keeps ? `{kind="${queue.name}", limit="${limit}"}` : `{kind="${queue.name}"}`);
        changed.set(`group.${name}.control`, `{kind="${control.name}"}`);
        const { record, reason } = await recordOf(client, changed);
        if (turn !== this.turn) return;
        const place = record && placeOf(record, scenario, name);
        this.cells.set(`${queue.name} ${control.name}`, { side: changed, queue: queue.name, record, reason, name, place });
        if (performance.now() - painted > PAINT_EVERY_MS) {
          this.paint();
          painted = performance.now();
        }
        this.state.textContent = `${this.cells.size} of ${count} cells`;
      }
    };
    await Promise.all(this.clients.map(work));
    if (turn !== this.turn) return;
    this.paint();
    const done = [...this.cells.values()].filter((cell) => cell.record).length;
    const said = `${done} cells in ${((performance.now() - began) / 1000).toFixed(1)} s; ${this.cells.size - done} are empty, and say why when they are pointed at`;
    this.state.textContent = said;
    const rest = [...this.cells.values()].filter((cell) => cell.record && meets(cell.place));
    await Promise.all(this.clients.map(async (client) => {
      for (let cell = rest.shift(); cell && turn === this.turn; cell = rest.shift()) cell.inside = await this.#isInside(client, cell, scenario);
    }));
    if (turn !== this.turn) return;
    this.paint();
    this.drawStrip();
    this.inside.textContent = this.#saidOfStrip(scenario);
    this.state.textContent = `${said}. The strip is drawn below.`;
  }

  /** Whether a cell that is short and puts best effort first also meets the two conditions that need further runs. */
  async #isInside(client, { side, queue, record, name }, scenario) {
    const only = async (isLow) => {
      const one = side.copy();
      alone(scenario, name, isLow).forEach(([key, value]) => one.set(key, value));
      return (await recordOf(client, one)).record;
    };
    if (!this.bests.has(queue)) this.bests.set(queue, await only(false));
    const [best, low] = [this.bests.get(queue), await only(true)];
    return Boolean(best && low && fills(record, best, low));
  }

  #saidOfStrip(scenario) {
    const names = [...this.cells].filter(([, cell]) => cell.inside).map(([name]) => name);
    const of = scenario.group.some((group) => group.traffic?.kind === "voip") ? "the call" : "all packets";
    const first = `Each circle is a cell. The strip holds those with less than 20 ms of mean queue delay of ${of}, and more than 90 % of the goodput for the other groups. `
      + "Filled circles also use more than 95 % of what the other groups alone use, and more than 90 % of the link where the group is alone";
    return `${first}: ${names.length ? names.join(", ") : "none here"}.`;
  }

  /** Draws the strip with all cells; nothing before there are any. */
  drawStrip() {
    const cells = [...this.cells].filter(([, cell]) => cell.record).map(([name, { place, inside }]) => ({ name, place, inside }));
    this.picture.toggleAttribute("hidden", cells.length === 0);
    if (cells.length === 0) {
      this.inside.textContent = "";
      return;
    }
    const width = this.picture.parentElement.clientWidth;
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    const { height, svg } = drawing(cells, { width, text: style("--quiet"), grid: style("--line"), ink: style("--accent") });
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("height", String(height));
    this.picture.innerHTML = svg;
  }

  make(group) {
    const head = document.createElement("thead");
    const row = head.insertRow();
    row.append(document.createElement("td"));
    for (const control of this.catalogue().controls) row.append(heading("col", control.name));
    const body = document.createElement("tbody");
    for (const queue of this.catalogue().queues) {
      const line = body.insertRow();
      line.append(heading("row", queue.name));
      for (const control of this.catalogue().controls) line.insertCell().dataset.cell = `${queue.name} ${control.name}`;
    }
    const caption = document.createElement("caption");
    caption.textContent = `Rows: queue. Columns: control of group ${group}.`;
    this.table.replaceChildren(caption, head, body);
  }

  paint() {
    const { of, most, name, digits = 0 } = METRICS[Number(this.metric.value)];
    const value = (cell) => (cell.record ? of(cell.record, cell.name) : NaN);
    const top = most([...this.cells.values()].map(value));
    for (const place of this.table.querySelectorAll("[data-cell]")) {
      const cell = this.cells.get(place.dataset.cell);
      if (!cell) continue;
      if (!cell.record) {
        place.textContent = "·";
        place.title = cell.reason;
        continue;
      }
      const number = value(cell);
      const button = document.createElement("button");
      button.type = "button";
      const part = Math.min(1, Math.max(0, number / top)) || 0;
      // From light yellow to dark blue, which reads without telling red from green.
      button.style.background = `hsl(${60 + 170 * part} 70% ${88 - 58 * part}%)`;
      button.className = part > 0.72 ? "dark" : "light";
      button.textContent = Number.isFinite(number) ? number.toFixed(digits) : "–";
      button.classList.toggle("inside", cell.inside === true);
      button.setAttribute("aria-label", `${place.dataset.cell}: ${name} ${shown(number)}${cell.inside ? ", in the ideal strip" : ""}`);
      button.onclick = () => this.open(cell.side.copy());
      place.replaceChildren(button);
    }
  }
}

/** The record of a side's run, or why there is none. */
async function recordOf(client, side) {
  const answer = await client.ask({ request: side.request(), lean: true });
  const reason = answer === null ? "stopped" : (answer.failure ?? answer.problems?.[0].message ?? null);
  return { record: reason === null ? JSON.parse(answer.record) : null, reason };
}

function heading(scope, text) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = text;
  return cell;
}
