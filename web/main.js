// The page: two sides, what changes them, and what is shown of them.

import { Charts, scales } from "./charts.js";
import { Client } from "./client.js";
import { curves } from "./curves.js";
import { Editor } from "./editor.js";
import { Engine } from "./engine.js";
import { kindOf, scenarioOf } from "./files.js";
import { drawPickers, drawSliders, sliders } from "./forms.js";
import { HELP, homes, READY, steps, stillHomes } from "./guide.js";
import { KICKS } from "./kick.js";
import { LESSONS } from "./lessons.js";
import { packed, unpacked } from "./link.js";
import { GridMap } from "./map.js";
import { guests, People } from "./people.js";
import { pngOf, svgOf } from "./picture.js";
import { Player } from "./player.js";
import { quantity } from "./quantity.js";
import { fillTable, queueOf, verdict } from "./results.js";
import { LARGEST_TEXT, sideOf } from "./side.js";

// A home's uplink with its modem's own buffer, and with what helps.
const FIRST = { sides: [{ name: READY }, { name: READY, changes: HELP }] };
const WHERE = ["left", "right"];
const TYPING_MS = 200;
const KEEP_LINK_MS = 400;
const RESUME_MS = 300;
const SEEDS = 10;
const LARGEST_FILE = 5_000_000; // bytes

const at = (id) => document.getElementById(id);

/** The engine's module: inside the page where that is one file, else beside it. */
async function engineModule() {
  const inside = at("engine-data");
  if (!inside) return WebAssembly.compileStreaming(fetch("engine.wasm"));
  const bytes = Uint8Array.from(atob(inside.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function startWorker() {
  const inside = at("worker-code");
  if (!inside) return new Worker("worker.js");
  // A page from a file has no origin, from which it could start a worker.
  return new Worker(URL.createObjectURL(new Blob([JSON.parse(inside.textContent)], { type: "text/javascript" })));
}

class Lab {
  /** `clients` are the workers of both sides, which may have begun before. */
  constructor(engine, module, clients) {
    this.engine = engine;
    this.clients = clients;
    this.answers = [null, null];
    this.views = WHERE.map((where, index) => this.#makeView(where, index));
    this.map = new GridMap({
      clients: Array.from({ length: Math.min(4, navigator.hardwareConcurrency || 1) }, () => new Client(module, startWorker)),
      catalogue: () => this.catalogue,
      base: () => ({ side: this.sides[0], scenario: this.answers[0].scenario }),
      open: (side) => this.show([this.sides[0], side]),
    });
    this.editor = new Editor({ client: new Client(module, startWorker), use: (control) => this.#use(control) });
    this.player = new Player({
      places: this.views.map((view) => view.queue),
      load: () => this.packets(),
      point: (timeS) => this.#point(timeS),
    });
    this.people = new People({
      where: WHERE,
      load: async () => ((await this.player.ready()) ? this.packets() : null),
      timeS: () => this.player.timeS,
      point: (timeS) => this.player.follow(timeS),
      add: () => this.#write((scenario) => guests(scenario)),
    });
    at("hear").append(...WHERE.map((where, index) => button(`Hear the ${where} call`, () => this.people.calls.listen(index))));
    at("guide-begin").onclick = () => this.#guide();
    this.#makeLessons();
    this.#makeKicks();
    at("ten-seeds").onchange = () => this.run();
    at("save-svg").onclick = () => save("sojourn.svg", this.#picture());
    at("save-png").onclick = async () => save("sojourn.png", await pngOf(this.#picture()));
    at("open-file").onchange = ({ target }) => {
      this.#open(target.files[0], 0);
      target.value = "";
    };
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const right = this.views[1].section.contains(event.target);
      if (event.dataTransfer.files.length) this.#open(event.dataTransfer.files[0], right ? 1 : 0);
    });
    at("copy-link").onclick = () => this.#copyLink();
    addEventListener("hashchange", () => this.follow());
  }

  /** Shows what the address says; the first screen where it says nothing. */
  async follow() {
    const hash = location.hash.slice(1);
    if (hash !== "" && hash === this.hash) return;
    let given = FIRST;
    try {
      if (hash !== "") given = await unpacked(hash);
      if (!Array.isArray(given?.sides) || given.sides.length !== 2) throw new Error("it holds no two scenarios");
      const sides = given.sides.map((side) => sideOf(side, this.engine));
      notice("");
      this.show(sides);
    } catch (error) {
      notice(`This link cannot be read (${error.message}). ${this.sides ? "What was shown stays." : "The first example is shown."}`);
      if (!this.sides) this.show(FIRST.sides.map((side) => sideOf(side, this.engine)));
    }
  }

  show(sides) {
    this.sides = sides;
    this.guided = false;
    this.run();
  }

  /** Takes over a control of somebody's own, and gives it to the first group on the right. */
  #use(control) {
    // Code of others runs in workers alone.
    this.engine.use();
    this.catalogue = null;
    [...this.clients, ...this.map.clients].forEach((client) => client.use(control));
    const group = this.answers[1].scenario.group.find((one) => one.control);
    if (group) this.sides[1].set(`group.${group.name}.control`, '{kind="mine"}');
    this.run();
  }

  /** Runs both sides; the picture changes when both are there. */
  async run() {
    this.turn = (this.turn ?? 0) + 1;
    const turn = this.turn;
    const began = performance.now();
    document.body.dataset.state = "running";
    clearTimeout(this.resuming);
    this.player.forget();
    this.people.forget();
    const seeds = at("ten-seeds").checked ? SEEDS : 1;
    const asked = this.sides.map((side, index) => this.clients[index].ask({ request: side.request(), seeds }));
    // Both sides are under way: the catalogue is for what is drawn of them.
    await Promise.all(this.clients.map(({ ready }) => ready));
    this.catalogue ??= this.engine.catalogue();
    const answers = await Promise.all(asked);
    if (turn !== this.turn || answers.includes(null)) return;
    answers.forEach((answer, index) => this.#take(answer, index));
    if (this.answers.every(Boolean)) this.#draw(performance.now() - began);
    document.body.dataset.state = answers.every((answer) => answer.record) ? "done" : "refused";
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => this.#keepLink(), KEEP_LINK_MS);
  }

  #take(answer, index) {
    const view = this.views[index];
    const problems = answer.failure ? [{ message: answer.failure }] : (answer.problems ?? []);
    const told = [...problems, ...(answer.warnings ?? [])];
    for (const list of [view.problems, view.text.problems]) {
      list.replaceChildren(...told.map(({ message }) => Object.assign(document.createElement("li"), { textContent: message })));
      list.hidden = told.length === 0;
    }
    view.charts.element.classList.toggle("stale", problems.length > 0);
    if (answer.record) {
      this.answers[index] = { ...answer, parsed: JSON.parse(answer.record), curve: { ...curves(answer), band: answer.band } };
      // The text that somebody is writing is theirs.
      if (document.activeElement !== view.text.area) view.text.area.value = answer.toml;
    }
    const side = this.sides[index];
    view.text.command.textContent = side.command(`${WHERE[index]}.toml`);
  }

  #draw(ms) {
    const limits = scales(this.answers.map((answer) => answer.curve));
    this.limits = limits;
    this.answers.forEach((answer, index) => {
      const view = this.views[index];
      view.title.textContent = `${queueOf(answer)} (${WHERE[index]})`;
      view.charts.draw(answer.curve, limits);
      drawPickers(view.pickers, this.sides[index], answer.scenario, this.catalogue, WHERE[index], (key, value) => {
        this.sides[index].set(key, value);
        this.run();
      });
    });
    const list = sliders(this.answers[0].scenario);
    for (const [place, shown] of [["line", list.filter(({ line }) => line)], ["sliders", list.filter(({ line }) => !line)]]) {
      drawSliders(at(place), shown, (one, text) => {
        this.sides.forEach((side, index) => one.keys(this.answers[index].scenario).forEach((key) => side.set(key, text)));
        this.run();
      });
    }
    fillTable(at("results"), this.answers);
    at("verdict").textContent = verdict(this.answers);
    const band = at("ten-seeds").checked ? ` Bands span ${SEEDS} seeds; lines and table are those of the first.` : "";
    at("speed").textContent = `Both sides took ${Math.round(ms)} ms.${band}`;
    this.map.offer(this.answers[0].scenario);
    // The packets cost another run of both sides: not while somebody moves a slider.
    const noticed = this.people.offer(this.answers);
    at("hear").hidden = !this.people.hasCall;
    this.resuming = setTimeout(() => {
      this.player.resume();
      if (noticed) this.packets();
    }, RESUME_MS);
    this.#judgeLesson();
    this.#tellGuide();
  }

  #makeView(where, index) {
    const section = document.createElement("section");
    section.setAttribute("aria-labelledby", `title-${where}`);
    const title = Object.assign(document.createElement("h2"), { id: `title-${where}`, textContent: where });
    const pickers = Object.assign(document.createElement("div"), { className: "pickers" });
    const problems = Object.assign(document.createElement("ul"), { className: "problems", hidden: true });
    problems.setAttribute("role", "alert");
    const place = document.createElement("div");
    const queue = document.createElement("div");
    section.append(title, pickers, problems, queue, place);
    at("sides").append(section);
    return { section, title, pickers, problems, queue, charts: new Charts(place, where, (timeS) => this.#point(timeS)), text: this.#makeText(where, index) };
  }

  #makeText(where, index) {
    const section = document.createElement("section");
    const label = Object.assign(document.createElement("label"), { textContent: `Scenario on the ${where}, every default written out`, htmlFor: `text-${where}` });
    const area = Object.assign(document.createElement("textarea"), { id: `text-${where}`, spellcheck: false, maxLength: LARGEST_TEXT });
    const problems = Object.assign(document.createElement("ul"), { className: "problems", hidden: true });
    const command = document.createElement("pre");
    command.tabIndex = 0;
    const row = Object.assign(document.createElement("p"), { className: "row" });
    row.append(button("Save TOML", () => save(`${where}.toml`, this.answers[index].toml)));
    row.append(button("Save record", () => save(`${where}.json`, `{"scenario": ${JSON.stringify(this.answers[index].scenario)}, "version": "${this.catalogue.version}", "runs": [${this.answers[index].record}]}`)));
    row.append(button("Save series as CSV", () => save(`${where}.csv`, table(this.answers[index].curve))));
    area.oninput = () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => {
        this.sides[index].write(area.value);
        this.run();
      }, TYPING_MS);
    };
    section.append(label, area, problems, row, "Continue on the command line:", command);
    at("texts").append(section);
    return { area, problems, command };
  }

  #point(timeS) {
    this.views.forEach((view) => view.charts.point(timeS));
    this.people.cursor(timeS);
  }

  /** Both runs with every packet, once for each change; null where something newer came in between. */
  packets() {
    if (this.packed?.turn !== this.turn) this.packed = { turn: this.turn, answers: this.#packets() };
    return this.packed.answers;
  }

  async #packets() {
    const turn = this.turn;
    const asked = this.sides.map((side, index) => this.clients[index].ask({ request: side.request(), packets: true }));
    const answers = await Promise.all(asked);
    if (turn !== this.turn || answers.includes(null)) return null;
    if (answers.every((answer) => answer.record)) this.people.show(answers);
    return answers;
  }

  /** Writes text behind both scenarios; what was there before can be taken back. */
  #write(text) {
    const before = this.sides.map((side) => side.copy());
    this.sides.forEach((side, index) => {
      const { scenario, toml } = this.answers[index];
      const written = text(scenario);
      if (written) side.write(toml + written);
    });
    this.kicked = [...(this.kicked ?? []), before];
    this.run();
  }

  /** Shows a home's uplink, and says step by step what is seen. */
  #guide() {
    this.#endLesson();
    this.show(homes(this.engine));
    this.guided = true;
  }

  #tellGuide() {
    this.guided &&= stillHomes(this.answers);
    if (!this.guided) {
      at("guide-steps").replaceChildren();
      return;
    }
    const list = document.createElement("ol");
    list.append(...steps(this.answers).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    const see = button("See a page load", () => {
      at("visit").scrollIntoView({ block: "center" });
      this.people.visits.visit();
    });
    const row = Object.assign(document.createElement("p"), { className: "row" });
    row.append(see);
    at("guide-steps").replaceChildren(list, row);
  }

  #makeKicks() {
    const middle = (scenario) => Math.round(quantity(scenario.duration) * 500) / 1000;
    const kicks = KICKS.map(({ label, text }) => button(label, () => this.#write((scenario) => text(scenario, middle(scenario)))));
    const undo = button("Take back", () => {
      const before = this.kicked?.pop();
      if (before) this.show(before);
    });
    const said = Object.assign(document.createElement("span"), { textContent: "In the middle of the run:" });
    at("kicks").replaceChildren(said, ...kicks, undo);
  }

  /** Both sides as one picture. */
  #picture() {
    const style = getComputedStyle(document.body);
    const titles = this.answers.map((answer, index) => `${queueOf(answer)} (${WHERE[index]})`);
    return svgOf(titles, this.answers.map((answer) => answer.curve), this.limits, style.backgroundColor, style.color);
  }

  /** Opens a file that somebody dropped or chose. */
  async #open(file, index) {
    if (!file) return;
    if (file.size > LARGEST_FILE) {
      notice(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; a file for this page has at most 5 MB. What was shown stays.`);
      return;
    }
    if (file.name.endsWith(".wasm")) {
      await this.editor.open(file);
      return;
    }
    const text = await file.text();
    const kind = kindOf(text);
    notice("");
    try {
      // The same link for both: what differs is what is done with it.
      if (kind === "trace") this.sides.forEach((side, one) => side.follow(this.answers[one].scenario.bottleneck, file.name, text));
      else {
        const own = kind === "record" ? scenarioOf(text) : text;
        if (own.length > LARGEST_TEXT) throw new Error("it has more than 1 MiB");
        this.sides[index].write(own);
      }
      this.run();
    } catch (error) {
      notice(`${file.name} cannot be read as a ${kind}: ${error.message}. What was shown stays.`);
    }
  }

  #makeLessons() {
    LESSONS.forEach((lesson, index) => {
      const one = button(`${index + 1}. ${lesson.title}`, () => {
        this.lesson = { ...lesson };
        for (const other of at("lesson-list").children) other.setAttribute("aria-pressed", String(other === one));
        const parts = [...lesson.text, lesson.question, ""].map((text) => Object.assign(document.createElement("p"), { textContent: text }));
        at("lesson").replaceChildren(...parts);
        this.show([lesson.left, lesson.right].map((side) => sideOf(side, this.engine)));
        // The sliders and the charts stand below it.
        at("guide").scrollIntoView();
      });
      one.setAttribute("aria-pressed", "false");
      at("lesson-list").append(one);
    });
  }

  #endLesson() {
    this.lesson = null;
    at("lesson").replaceChildren();
    for (const one of at("lesson-list").children) one.setAttribute("aria-pressed", "false");
  }

  /** Says whether the reader has found what the lesson asks for. */
  #judgeLesson() {
    if (!this.lesson) return;
    const list = sliders(this.answers[0].scenario);
    const values = Object.fromEntries(list.map(({ id, value }) => [id, value]));
    this.lesson.first ??= values;
    const moved = list.filter(({ id, value }) => value !== this.lesson.first[id]).map(({ id, label }) => (id === this.lesson.slider ? "" : label));
    const others = moved.filter(Boolean);
    const said = others.length === 0 ? this.lesson.answer : `That is another way to it, by ${others.join(" and ")}: put it back, and move what the question names.`;
    at("lesson").lastElementChild.textContent = this.lesson.reached(this.answers) ? said : "";
  }

  async #keepLink() {
    this.hash = await packed({ sides: this.sides.map((side) => side.packed()) });
    history.replaceState(null, "", `#${this.hash}`);
  }

  async #copyLink() {
    await this.#keepLink();
    try {
      await navigator.clipboard.writeText(location.href);
      at("copied").textContent = `Copied: ${location.href.length} characters.`;
    } catch {
      at("copied").textContent = "The browser refused the clipboard; the link is in the address bar.";
    }
  }
}

function button(text, act) {
  return Object.assign(document.createElement("button"), { type: "button", textContent: text, onclick: act });
}

function save(name, text) {
  const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(text instanceof Blob ? text : new Blob([text])) });
  link.click();
  URL.revokeObjectURL(link.href);
}

function table({ times, delays, names, rates }) {
  const head = ["time_s", "queue_ms", ...names.map((name) => `${name}_mbps`)];
  const rows = times.map((time, row) => [time, delays[row] ?? "", ...rates.map((column) => column[row])]);
  return [head, ...rows].map((row) => row.join(",")).join("\n");
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = text === "";
}

async function begin() {
  try {
    // The workers read their code while the engine is under way.
    const coming = engineModule();
    const clients = WHERE.map(() => new Client(coming, startWorker));
    clients.forEach((client) => client.begin());
    const module = await coming;
    const lab = new Lab(await Engine.of(module), module, clients);
    // What a test in a browser asks for.
    globalThis.sojournLab = lab;
    await lab.follow();
  } catch (error) {
    at("verdict").textContent = "";
    notice(`The engine could not be started (${error.message}). This page needs a browser with WebAssembly and module workers.`);
  }
}

begin();
