// A page that loads on both sides at the same time: each object appears when its last byte arrived in the simulation.

import { quantity, shown } from "./quantity.js";

const MIN_SHARE = 0.04; // of the page's height, so that a small object is seen
const still = matchMedia("(prefers-reduced-motion: reduce)");

export const webOf = (scenario) => scenario.group.findIndex((group) => group.traffic?.kind === "web");

/** The pages of the first browser in a run with packets, one after the other: objects with times in s since the page began. */
export function pagesOf({ scenario, columns }) {
  const group = webOf(scenario);
  const rows = [...columns["objects.group"].keys()].filter((row) => columns["objects.group"][row] === group && columns["objects.index"][row] === 0);
  const objects = rows.map((row) => ({ askedS: columns["objects.asked_s"][row], arrivedS: columns["objects.arrived_s"][row], bytes: columns["objects.bytes"][row] }));
  objects.sort((one, other) => one.askedS - other.askedS);
  const pages = [];
  let lastS = -Infinity;
  for (const { askedS, arrivedS, bytes } of objects) {
    // Within a page something is always under way.
    if (askedS > lastS) pages.push({ beganS: askedS, objects: [] });
    pages.at(-1).objects.push({ atS: arrivedS - pages.at(-1).beganS, bytes });
    lastS = Math.max(lastS, arrivedS);
  }
  // Whether the last one was whole when the run ended is known only where each page has the same number of objects.
  const count = scenario.group[group].traffic.objects;
  if (pages.length && pages.at(-1).objects.length !== count) pages.pop();
  return pages.map((page) => ({ ...page, tookS: Math.max(...page.objects.map((one) => one.atS)) }));
}

/** Both browsers in the page, with one button. */
export class Visits {
  /** `load` resolves to both answers with packets. */
  constructor({ place, where, load }) {
    Object.assign(this, { load, turn: 0, page: 0, pages: null });
    this.button = Object.assign(document.createElement("button"), { type: "button", textContent: "Load the page on both sides", onclick: () => this.visit() });
    this.views = where.map((side) => {
      const box = document.createElement("div");
      const said = Object.assign(document.createElement("p"), { className: "quiet" });
      const screen = Object.assign(document.createElement("div"), { className: "screen" });
      screen.setAttribute("role", "img");
      screen.setAttribute("aria-label", `Page on the ${side}: a block for each object that is there`);
      box.append(said, screen);
      return { box, said, screen };
    });
    const row = Object.assign(document.createElement("div"), { className: "two narrow" });
    row.append(...this.views.map((view) => view.box));
    place.append(this.button, row);
  }

  forget() {
    this.turn += 1;
    this.pages = null;
    this.button.textContent = "Load the page on both sides";
  }

  /** Shows how long the pages take, and the first one as it is at its end. */
  show(answers) {
    this.pages = answers.map(pagesOf);
    const warmupS = quantity(answers[0].scenario.warmup);
    this.shared = Math.min(...this.pages.map((pages) => pages.length));
    // Where the run has settled on both sides, the page of the same number.
    this.page = Math.min(this.shared - 1, Math.max(...this.pages.map((pages) => pages.findIndex((page) => page.beganS >= warmupS)), 0));
    this.first = this.page;
    this.draw(Infinity);
  }

  /** Loads the next page on both sides, in the time that it takes. */
  async visit() {
    this.turn += 1;
    const turn = this.turn;
    if ((await this.load()) === null || turn !== this.turn) return;
    if (this.shared === 0) return;
    const longestS = Math.max(...this.pages.map((pages) => pages[this.page].tookS));
    const began = performance.now();
    const frame = () => {
      if (turn !== this.turn) return;
      const timeS = (performance.now() - began) / 1000;
      this.draw(still.matches && timeS < longestS ? Math.floor(timeS) : timeS);
      if (timeS < longestS) requestAnimationFrame(frame);
      else {
        this.page = this.page + 1 < this.shared ? this.page + 1 : this.first;
        this.button.textContent = `Load page ${this.page + 1} of ${this.shared} on both sides`;
      }
    };
    requestAnimationFrame(frame);
  }

  draw(timeS) {
    this.views.forEach(({ said, screen }, index) => {
      const page = this.pages[index][this.page];
      if (!page) {
        screen.replaceChildren();
        said.textContent = "No page was loaded to its end in this run.";
        return;
      }
      const all = page.objects.reduce((sum, one) => sum + one.bytes, 0);
      if (screen.childElementCount !== page.objects.length) screen.replaceChildren(...page.objects.map(() => document.createElement("i")));
      page.objects.forEach(({ atS, bytes }, place) => {
        screen.children[place].style.flexGrow = String(page.objects.length * Math.max(MIN_SHARE, bytes / all));
        screen.children[place].classList.toggle("there", atS <= timeS);
      });
      const there = page.objects.filter((one) => one.atS <= timeS).length;
      const whole = there === page.objects.length;
      const text = whole ? `Page ${this.page + 1} is there after ${shown(page.tookS)} s.` : `${timeS.toFixed(1)} s: ${there} of ${page.objects.length} objects.`;
      // Nobody wants every object read aloud.
      said.setAttribute("aria-live", whole ? "polite" : "off");
      if (said.textContent !== text) said.textContent = text;
    });
  }
}
