// Sliders and pickers: each writes one key of the scenario, and shows what the engine made of it.

import { quantity, shown } from "./quantity.js";

const STEPS = 1000;
// What most people ask for stands first in the menu of queues.
const FIRST_QUEUES = ["droptail", "red", "codel", "fq_codel", "pie", "cake"];

/** What can be moved, from the scenario on the left: label, keys, value in basic units, range, text for the engine; `line`: what is
 * said of a line of one's own. */
export function sliders(scenario) {
  const { bottleneck, group: groups } = scenario;
  const list = [];
  const rate = quantity(bottleneck.rate);
  if (Number.isFinite(rate)) {
    list.push({
      line: true, id: "rate", label: "Rate", keys: () => ["bottleneck.rate"], value: rate, range: [2e5, 1e9],
      text: (value) => `${shown(value / 1e6)} Mbit/s`,
    });
  }
  const limit = quantity(bottleneck.queue.limit);
  if (Number.isFinite(limit)) {
    list.push({
      id: "buffer", label: "Buffer", keys: () => ["bottleneck.queue.limit"], value: limit, range: [2, 5000],
      text: (value) => `${Math.round(value)} packets`,
    });
  }
  const back = quantity(scenario.reverse?.rate);
  if (Number.isFinite(back)) {
    list.push({
      line: true, id: "reverse-rate", label: "Return rate", keys: (side) => (side.reverse ? ["reverse.rate"] : []), value: back, range: [2e5, 1e9],
      text: (value) => `${shown(value / 1e6)} Mbit/s`,
    });
  }
  const rtt = quantity(groups[0].rtt);
  if (Number.isFinite(rtt)) {
    list.push({
      line: true, id: "rtt", label: "Base RTT", keys: (side) => side.group.map((group) => `group.${group.name}.rtt`), value: rtt, range: [1e-3, 1],
      text: (value) => `${shown(value * 1e3)} ms`,
    });
  }
  for (const { name, title, flows } of groups) {
    const keys = (side) => side.group.filter((group) => group.name === name).map(() => `group.${name}.flows`);
    list.push({ id: `flows-${name}`, label: `Flows of ${title ?? name}`, keys, value: flows, range: [1, 100], text: (value) => String(Math.round(value)) });
  }
  return list;
}

/** Draws sliders; a slider that is being moved stays where it is. */
export function drawSliders(place, list, change) {
  const names = list.map((one) => one.id).join();
  if (place.dataset.names !== names) {
    place.dataset.names = names;
    place.replaceChildren(...list.map(makeSlider));
  }
  for (const one of list) {
    const input = place.querySelector(`[data-id="${CSS.escape(one.id)}"]`);
    const [low, high] = one.range.map(Math.log);
    const text = one.text(one.value);
    if (document.activeElement !== input || input.dataset.moving !== "true") {
      input.value = String(Math.round(((Math.log(one.value) - low) / (high - low)) * STEPS));
      show(input, text);
    }
    input.oninput = () => {
      input.dataset.moving = "true";
      const moved = one.text(Math.exp(low + (Number(input.value) / STEPS) * (high - low)));
      show(input, moved);
      change(one, moved);
    };
    input.onchange = () => { input.dataset.moving = "false"; };
  }
}

function show(input, text) {
  input.previousElementSibling.textContent = text;
  input.setAttribute("aria-valuetext", text);
}

function makeSlider(one) {
  const row = document.createElement("div");
  row.className = "slider";
  const label = document.createElement("label");
  label.htmlFor = `slider-${one.id}`;
  label.textContent = one.label;
  const output = document.createElement("output");
  const input = document.createElement("input");
  Object.assign(input, { type: "range", id: label.htmlFor, min: "0", max: String(STEPS), step: "1" });
  input.dataset.id = one.id;
  row.append(label, output, input);
  return row;
}

/** Selects for the queue and the control of each group of one side. */
export function drawPickers(place, side, scenario, catalogue, where, change) {
  const groups = scenario.group.filter((group) => group.control);
  const choices = [
    { label: "Queue", key: "bottleneck.queue", entries: catalogue.queues, now: scenario.bottleneck.queue },
    ...groups.map((group) => ({
      label: `Control of ${group.title ?? group.name}`, key: `group.${group.name}.control`, entries: catalogue.controls, now: group.control,
    })),
  ];
  const names = choices.map((one) => `${one.key} ${one.entries.length}`).join();
  if (place.dataset.names !== names) {
    place.dataset.names = names;
    place.replaceChildren(...choices.map((one) => makePicker(one, where)));
  }
  choices.forEach((one, index) => {
    const select = place.querySelectorAll("select")[index];
    select.value = chosen(one, side.changes.get(one.key));
    select.title = one.entries.find((entry) => entry.name === one.now.kind)?.summary ?? "";
    select.onchange = () => change(one.key, setting(one, select.value));
  });
}

/** The option that stands for the present setting: with its preset where that was picked here. */
function chosen({ now }, change) {
  const preset = /preset="([^"]+)"/.exec(change ?? "")?.[1];
  return preset === undefined ? now.kind : `${now.kind} ${preset}`;
}

/** The value for an option, as a table in TOML; a queue keeps its limit where the new kind has one too. */
function setting({ key, entries, now }, option) {
  const [kind, preset] = option.split(" ");
  const has = entries.find((entry) => entry.name === kind).parameters.some((parameter) => parameter.name === "limit");
  const keeps = key === "bottleneck.queue" && has && typeof now.limit === "string";
  const parts = [`kind="${kind}"`, ...(preset ? [`preset="${preset}"`] : []), ...(keeps ? [`limit="${now.limit}"`] : [])];
  return `{${parts.join(", ")}}`;
}

function makePicker({ label, entries }, where) {
  const frame = document.createElement("label");
  const select = document.createElement("select");
  select.setAttribute("aria-label", `${label}, ${where}`);
  const first = entries.filter(({ name }) => FIRST_QUEUES.includes(name));
  const [short, long] = ["Often asked for", "All"].map((title) => Object.assign(document.createElement("optgroup"), { label: title }));
  if (first.length) select.append(short, long);
  short.append(...FIRST_QUEUES.filter(() => first.length).map((name) => new Option(name, name)));
  for (const entry of entries) {
    // A discipline that only holds others needs a text of its own: the editor's work.
    if (entry.holds) continue;
    const place = first.length ? long : select;
    if (!first.includes(entry)) place.append(new Option(entry.name, entry.name));
    for (const preset of entry.presets) place.append(new Option(`${entry.name}, as ${preset.name}`, `${entry.name} ${preset.name}`));
  }
  frame.append(label, select);
  return frame;
}
