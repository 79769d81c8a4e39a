// Rows of the engine as columns over time, and of several seeds what lies between the lowest and the highest.

import { quantity } from "./quantity.js";

/** Rows of the bottleneck and of each group as columns over time. */
export function curves({ scenario, columns, links }) {
  const link = links.indexOf("bottleneck");
  const rows = [...columns["queue.link"].keys()].filter((row) => columns["queue.link"][row] === link);
  const times = rows.map((row) => columns["queue.time_s"][row]);
  const place = new Map(times.map((time, index) => [time, index]));
  const delays = rows.map((row) => finite(columns["queue.queue_ms"][row]));
  const names = scenario.group.map((group) => group.title ?? group.name);
  const bytes = names.map(() => new Float64Array(times.length));
  columns["flows.time_s"].forEach((time, row) => {
    bytes[columns["flows.group"][row]][place.get(time)] += columns["flows.delivered_bytes"][row];
  });
  const binS = times.length > 1 ? times[1] - times[0] : 1;
  return { endS: quantity(scenario.duration), times, delays, names, rates: bytes.map((column) => Array.from(column, (count) => (count * 8) / binS / 1e6)) };
}

function finite(value) {
  return Number.isFinite(value) ? value : null;
}

/** For the delay and the rate of each group, columns of the lowest and the highest value of several runs. */
export function bandOf(runs) {
  const columns = (of) => [Math.min, Math.max].map((choose) => runs[0].times.map((_, row) => {
    const values = runs.map((run) => of(run)[row]).filter((value) => value !== null);
    return values.length ? choose(...values) : null;
  }));
  return { delay: columns((run) => run.delays), rates: runs[0].names.map((_, group) => columns((run) => run.rates[group])) };
}
