// For who comes with a question and knows no queue: why calls break while a backup runs, and what helps.

import { callOf, saidOf } from "./call.js";
import { shown } from "./quantity.js";
import { Side } from "./side.js";

export const READY = "backups-beside-calls";
const PAGES = '\n[[group]]\nname = "pages"\ncontrol = "cubic"\nrtt = "30 ms"\ntraffic = { kind = "web", objects = 12, size = "30 kB", think = "2 s" }\n';
export const HELP = [["bottleneck.queue", '{kind="cake", preset="diffserv4"}'], ["group.backups.dscp", '"le"']];

/** A home's uplink on both sides: as most routers have it, and with what helps. */
export function homes(engine) {
  const text = engine.ready(READY) + PAGES;
  return [new Side(text), new Side(text, null, HELP)];
}

/** Whether both sides are still those of the guide. */
export function stillHomes(answers) {
  return answers.every(({ scenario }, index) => scenario.bottleneck.queue.kind === ["droptail", "cake"][index] && callOf(scenario) >= 0);
}

/** The steps of the guide as sentences, from what both runs gave. */
export function steps(answers) {
  const [left, right] = answers.map(({ parsed, scenario }) => {
    const { voip } = parsed.groups[scenario.group[callOf(scenario)].name];
    return { voip, waitMs: parsed.bottleneck.queue_ms.mean, busy: `${shown(parsed.bottleneck.utilization * 100)} %` };
  });
  const said = ({ voip }) => `${shown(voip.mos)} of 4.5 (${saidOf(voip.mos)})`;
  return [
    `Both sides are the uplink of a home: a call, two uploads, a backup and somebody who reads web pages. Left, the router has one large buffer. The uploads keep it full, so every packet waits ${shown(left.waitMs)} ms, those of the call too. The call's quality is ${said(left)}.`,
    `Right, the router runs CAKE, which gives each flow its own queue and lets the call go first. The wait is ${shown(right.waitMs)} ms on average, and the call's quality is ${said(right)}. The link is busy for ${right.busy} of the time, on the left for ${left.busy}.`,
    "What to do: switch on smart queue management (SQM) in your router, with CAKE or FQ-CoDel, and set its rates to about 90 % of what your line carries, so that packets wait in the router and not in the modem. The right side also marks the backup's packets as lower effort (LE): it then takes only what others leave.",
    "Without such a router: limit what uploads and backups may send to well below the rate of your uplink, or let them run when nobody calls.",
  ];
}
