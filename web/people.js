// What people notice of the queues: a call that is heard, and a page that loads.

import { callOf, Calls } from "./call.js";
import { toml, wayOf } from "./files.js";
import { Visits, webOf } from "./visit.js";

const byId = (id) => document.getElementById(id);
const LATEST_START_S = 10;

/** A call and a browser beside what a scenario has, as text behind it. */
export function guests({ group: groups }) {
  const rtt = groups.map((group) => group.rtt).map((one) => (Array.isArray(one) ? one[0] : one)).find(Boolean) ?? "50 ms";
  const controlled = groups.find((group) => group.control);
  const sender = controlled ? `control = ${toml(controlled.control)}\ntransport = ${toml(controlled.transport)}\n` : "";
  const names = groups.map((group) => group.name);
  const free = (name) => (names.includes(name) ? free(`${name}-2`) : name);
  const one = (name, rest) => `\n[[group]]\nname = "${free(name)}"\nrtt = "${rtt}"\n${wayOf(groups[0])}${rest}`;
  return one("call", 'dscp = "ef"\ntraffic = { kind = "voip" }\n')
    + one("pages", `${sender}traffic = { kind = "web", objects = 12, size = "30 kB", think = "2 s" }\n`);
}

export class People {
  /**
   * `load` resolves to both answers with packets; `timeS` tells where the packets stand; `point` hears of the time that is
   * heard; `add` adds guests to both sides.
   */
  constructor({ where, load, timeS, point, add }) {
    const from = (endS) => {
      const earliest = Math.min(LATEST_START_S, endS / 4);
      return timeS() < endS - 2 ? Math.max(timeS(), earliest) : earliest;
    };
    this.calls = new Calls({ place: byId("call"), where, load, from, point });
    this.visits = new Visits({ place: byId("visit"), where, load });
    byId("add-guests").onclick = add;
  }

  /** Takes over new scenarios; whether people notice anything of them. */
  offer(answers) {
    const both = (of) => answers.every(({ scenario }) => of(scenario) >= 0);
    [this.hasCall, this.hasPages] = [both(callOf), both(webOf)];
    byId("call").hidden = !this.hasCall;
    byId("visit").hidden = !this.hasPages;
    byId("no-guests").hidden = this.hasCall || this.hasPages;
    return this.hasCall || this.hasPages;
  }

  forget() {
    this.calls.forget();
    this.visits.forget();
  }

  /** Puts the cursor of the calls' charts at a time; away for null. */
  cursor(timeS) {
    if (this.calls.calls) this.calls.cursor(timeS);
  }

  /** Shows runs with packets. */
  show(answers) {
    if (this.hasCall) this.calls.show(answers);
    if (this.hasPages) this.visits.show(answers);
  }
}
