// One side of the comparison: a text, and changes of single keys, which the engine applies as `sojourn run --set` does.

import { toml } from "./files.js";

const MOST_CHANGES = 1000;
// As for a file of `sojourn run`.
export const LARGEST_TEXT = 1 << 20;
// What a terminal acts on, or shows in another order: in a command that somebody copies it would end the quotes.
const UNPRINTED = /[\p{C}\p{Zl}\p{Zp}]/u;

/** A side as a link holds it, a ready scenario by its name or a text, and changes; throws for anything else. */
export function sideOf(given, engine) {
  const { text = null, name = null, changes = [] } = given ?? {};
  const pair = (one) => Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === "string" && !UNPRINTED.test(part));
  if (!Array.isArray(changes) || changes.length > MOST_CHANGES || !changes.every(pair)) {
    throw new Error(`its changes are not at most ${MOST_CHANGES} keys with printable values`);
  }
  const of = text ?? (typeof name === "string" ? engine.ready(name) : null);
  if (typeof of !== "string" || of.length > LARGEST_TEXT || (text !== null && name !== null)) {
    throw new Error("a side is neither the name of a ready scenario nor a text of at most 1 MiB");
  }
  return new Side(of, name, changes);
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
    const options = this.name === null ? [] : this.request().overrides.map((text) => ` --set ${quoted(text)}`);
    return `sojourn run ${quoted(this.name ?? file)} --runs 1${options.join("")}`;
  }
}

/** A word for a shell: as it is where no shell acts on it, else in quotes. */
function quoted(text) {
  return /^[\w.,:=/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
