// The map: every queue with every control for one group of the scenario on the left.

import { shown } from "./quantity.js";

const METRICS = [
  { name: "share of the group, %", of: (record, group) => (record.groups[group]?.share ?? NaN) * 100, most: () => 100 },
  { name: "queue delay, mean, ms", of: (record) => record.bottleneck.queue_ms.mean, most: largest },
  { name: "queue delay, 99th percentile, ms", of: (record) => record.bottleneck.queue_ms.p99, most: largest },
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
    const name = this.group.value;
    const { side, scenario } = this.base();
    this.cells.clear();
    this.make(name);
    const limit = scenario.bottleneck.queue.limit;
    const { queues, controls } = this.catalogue;
    const waiting = queues.flatMap((queue) => controls.map((control) => [queue, control]));
    const count = waiting.length;
    const work = async (client) => {
      for (let next = waiting.shift(); next && turn === this.turn; next = waiting.shift()) {
        const [queue, control] = next;
        const changed = side.copy();
        const keeps = typeof limit === "string" && queue.parameters.some((parameter) => parameter.name === "limit");
        changed.set("bottleneck.queue", keeps ? `{kind="${queue.name}", limit="${limit}"}` : `{kind="${queue.name}"}`);
        changed.set(`group.${name}.control`, `{kind="${control.name}"}`);
        const answer = await client.ask({ request: changed.request(), lean: true });
        if (turn !== this.turn) return;
        const reason = answer === null ? "stopped" : (answer.failure ?? answer.problems?.[0].message ?? null);
        this.cells.set(`${queue.name} ${control.name}`, { side: changed, record: reason ? null : JSON.parse(answer.record), reason, name });
        if (control === controls.at(-1)) this.paint();
        this.state.textContent = `${this.cells.size} of ${count} cells`;
      }
    };
    await Promise.all(this.clients.map(work));
    if (turn !== this.turn) return;
    this.paint();
    const done = [...this.cells.values()].filter((cell) => cell.record).length;
    this.state.textContent = `${done} cells in ${((performance.now() - began) / 1000).toFixed(1)} s; ${this.cells.size - done} are empty, and say why when they are pointed at`;
  }

  make(group) {
    const head = document.createElement("thead");
    const row = head.insertRow();
    row.append(document.createElement("td"));
    for (const control of this.catalogue.controls) row.append(heading("col", control.name));
    const body = document.createElement("tbody");
    for (const queue of this.catalogue.queues) {
      const line = body.insertRow();
      line.append(heading("row", queue.name));
      for (const control of this.catalogue.controls) line.insertCell().dataset.cell = `${queue.name} ${control.name}`;
    }
    const caption = document.createElement("caption");
    caption.textContent = `Rows: queue. Columns: control of group ${group}.`;
    this.table.replaceChildren(caption, head, body);
  }

  paint() {
    const { of, most, name } = METRICS[Number(this.metric.value)];
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
      const part = Math.min(1, Math.max(0, number / top));
      // From light yellow to dark blue, which reads without telling red from green.
      button.style.background = `hsl(${60 + 170 * part} 70% ${88 - 58 * part}%)`;
      button.className = part > 0.72 ? "dark" : "light";
      button.textContent = Number.isFinite(number) ? String(Math.round(number)) : "–";
      button.setAttribute("aria-label", `${place.dataset.cell}: ${name} ${shown(number)}`);
      button.onclick = () => this.open(cell.side.copy());
      place.replaceChildren(button);
    }
  }
}

function heading(scope, text) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = text;
  return cell;
}
