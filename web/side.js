// One side of the comparison: a text, and changes of single keys, which the engine applies as `sojourn run --set` does.

import { toml } from "./files.js";

/** A side as a link holds it, checked; throws for anything else. */
export function sideOf(given, engine) {
  const { name = null, changes = [] } = given ?? {};
  const text = given?.text ?? (name === null ? null : engine.ready(name));
  const right = typeof text === "string" && Array.isArray(changes);
  if (!right || !changes.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === "string"))) {
    throw new Error("the link holds no two scenarios");
  }
  return new Side(text, name, changes);
}

export class Side {
  constructor(text, name = null, changes = []) {
    this.text = text;
    this.name = name;
    this.changes = new Map(changes);
    this.traces = [];
  }

  /** Sets a key; what was set below it goes, since the key is replaced as a whole. */
  set(key, value) {
    for (const known of [...this.changes.keys()]) {
      if (known === key || known.startsWith(`${key}.`)) this.changes.delete(known);
    }
    this.changes.set(key, value);
  }

  /** Replaces the text by another that somebody wrote. */
  write(text) {
    this.text = text;
    this.name = null;
    this.changes.clear();
    this.traces = [];
  }

  copy() {
    return Object.assign(new Side(this.text, this.name, [...this.changes]), { traces: this.traces });
  }

  /** Puts a recorded link in the place of the bottleneck's rate. */
  follow({ rate, trace, ...bottleneck }, name, text) {
    this.traces = [[name, text]];
    this.set("bottleneck", toml({ trace: name, ...bottleneck }));
  }

  request() {
    const name = this.name === null ? {} : { name: this.name };
    return { text: this.text, ...name, traces: this.traces, overrides: [...this.changes].map(([key, value]) => `${key}=${value}`) };
  }

  /** What a link holds of it: a ready scenario is named, any other is there in full. */
  packed() {
    const changes = [...this.changes];
    return this.name === null ? { text: this.text, changes } : { name: this.name, changes };
  }

  /** The command that continues outside the page. */
  command(file) {
    const source = this.name ?? file;
    const options = this.name === null ? [] : this.request().overrides.map((text) => ` --set ${quoted(text)}`);
    return `sojourn run ${source} --runs 1${options.join("")}`;
  }
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
