// What somebody does to both sides in the middle of a run, written into their scenarios.

import { toml, wayOf } from "./files.js";
import { quantity, shown } from "./quantity.js";

const RECORDING = "ready:synthetic-lte";

/** The kicks by their labels: each is the text that goes behind a scenario with every default written out. */
export const KICKS = [
  { label: "Halve the rate", text: (scenario, at) => {
    const rate = rateAt(scenario, at);
    return Number.isFinite(rate) ? change(at, `bottleneck.rate = "${shown(rate / 2e6)} Mbit/s"`) : null;
  } },
  { label: "Add a newcomer", text: newcomer },
  { label: "Turn it into a mobile link", text: (_, at) => change(at, `bottleneck.trace = "${RECORDING}"`) },
];

function change(at, what) {
  return `\n[[change]]\nat = "${at} s"\n${what}\n`;
}

/** The rate in bit/s that a scenario's bottleneck has at a time; NaN where it follows a recording. */
function rateAt(scenario, at) {
  let rate = quantity(scenario.bottleneck.rate);
  for (const one of scenario.change ?? []) {
    if (quantity(one.at) <= at && one.bottleneck?.rate) rate = quantity(one.bottleneck.rate);
    if (quantity(one.at) <= at && one.bottleneck?.trace) rate = NaN;
  }
  return rate;
}

/** One more flow like those of the first group that has a control. */
function newcomer({ group: groups }, at) {
  const like = groups.find((group) => group.control);
  if (!like) return null;
  const names = groups.map((group) => group.name);
  let name = "newcomer";
  for (let number = 2; names.includes(name); number += 1) name = `newcomer-${number}`;
  const rtt = Array.isArray(like.rtt) ? like.rtt[0] : like.rtt;
  return `\n[[group]]\nname = "${name}"\nrtt = "${rtt}"\nstart = "${at} s"\n${wayOf(like)}control = ${toml(like.control)}\ntransport = ${toml(like.transport)}\n`;
}
