// The engine: a WebAssembly module, and the text and columns that go in and out of it.

import { Controls } from "./own.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The engine has stopped and cannot be used again; the message says where. */
export class EngineFailure extends Error {}

/** The engine in a compiled WebAssembly module. */
export class Engine {
  static async of(module) {
    const controls = new Controls();
    return new Engine((await WebAssembly.instantiate(module, controls.imports())).exports, controls);
  }

  constructor(exports, controls) {
    this.exports = exports;
    this.controls = controls;
    this.columnNames = this.#json("sojourn_columns");
  }

  /** Everything that a scenario can name. */
  catalogue() {
    return this.#json("sojourn_catalogue");
  }

  /** Lets scenarios name a control of somebody's own, `mine`; without the control itself they are checked, not run. */
  use(control = null) {
    if (control) this.controls.install(control);
    this.call("sojourn_add_control");
  }

  /** The text of a ready scenario; null for any other name. */
  ready(name) {
    return this.call("sojourn_ready", ...this.#text(name)) ? this.answer() : null;
  }

  /** What a scenario is with every default filled in, or `problems`. */
  check(request) {
    this.controls.error = null;
    this.call("sojourn_check", ...this.#text(JSON.stringify(request)));
    return JSON.parse(this.answer());
  }

  /** A run before its first event, or `problems`. */
  open(request) {
    const run = this.call("sojourn_open", ...this.#text(JSON.stringify(request)));
    return run === 0 ? JSON.parse(this.answer()) : new Run(this, run);
  }

  /** Calls an exported function; a trap becomes a failure with the engine's message. */
  call(name, ...values) {
    try {
      return this.exports[name](...values);
    } catch (error) {
      this.exports.sojourn_failure();
      throw new EngineFailure(this.answer() || String(error));
    }
  }

  #json(name) {
    this.call(name);
    return JSON.parse(this.answer());
  }

  #text(text) {
    const bytes = encoder.encode(text);
    const address = this.exports.sojourn_alloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
    return [address, bytes.length];
  }

  /** The text that the last call left. */
  answer() {
    const { memory, sojourn_answer, sojourn_answer_length } = this.exports;
    return decoder.decode(new Uint8Array(memory.buffer, sojourn_answer(), sojourn_answer_length()));
  }
}

/** A run that is taken forward step by step, and closed at the end. */
export class Run {
  constructor(engine, handle) {
    this.engine = engine;
    this.handle = handle;
  }

  /** Advances to a time in s, or to the end; returns where the run is then. */
  advance(untilS) {
    return this.engine.call("sojourn_advance", this.handle, untilS);
  }

  /** The bins that have ended since the last call: copies of all columns by name. */
  take() {
    this.engine.call("sojourn_take", this.handle);
    return this.#columns();
  }

  /** Goes to the end: the record as JSON text, and the bins that have not been taken; or a `failure`. */
  finish() {
    const { controls } = this.engine;
    const done = this.engine.call("sojourn_finish", this.handle);
    const answer = this.engine.answer();
    return done ? { record: answer, columns: this.#columns() } : { failure: `${answer}${controls.error ? ` (${controls.error})` : ""}` };
  }

  close() {
    this.engine.call("sojourn_close", this.handle);
  }

  #columns() {
    const { memory, sojourn_column, sojourn_column_length } = this.engine.exports;
    const view = (index) => {
      const length = sojourn_column_length(this.handle, index);
      return new Float64Array(memory.buffer, sojourn_column(this.handle, index), length).slice();
    };
    return Object.fromEntries(this.engine.columnNames.map((name, index) => [name, view(index)]));
  }
}
