// A congestion control of somebody's own, in JavaScript or as a WebAssembly module: the engine calls it through imports.

const SIGNALS = ["loss", "ecn", "timeout"];
const REPAIRS = ["partial", "selective", "timeout"];
const ACK = ["now_ns", "newly_acked", "delivered", "flight", "window_limited", "in_recovery", "rtt_ns", "srtt_ns", "min_rtt_ns", "one_way_delay_ns", "marked"];
const FLAGS = new Set(["window_limited", "in_recovery", "marked"]);

/** What stands in the editor at first. */
export const TEMPLATE = `// One object for each flow. Windows are in segments, times in ns, as in a control in Python.
class Control {
  constructor({ initial_window }) {
    this.window = initial_window;
    this.ssthresh = Infinity;
  }

  // Also here: now_ns, delivered, flight, rtt_ns, srtt_ns, min_rtt_ns, one_way_delay_ns, marked; null where unknown.
  on_ack({ newly_acked, in_recovery, window_limited }) {
    if (in_recovery || !window_limited) return;
    this.window += this.window < this.ssthresh ? newly_acked : newly_acked / this.window;
  }

  // signal: "loss", "ecn" or "timeout", at most once in a round trip.
  on_congestion({ signal, repeated }) {
    if (!repeated) this.ssthresh = Math.max(this.window / 2, 2);
    this.window = signal === "timeout" ? 1 : this.ssthresh;
  }
}
`;

const known = (value) => (Number.isNaN(value) ? null : value);

/** The controls of all flows of one engine by their handles, and what the first that failed said. */
export class Controls {
  constructor() {
    Object.assign(this, { start: null, flows: [], free: [], error: null });
  }

  /** Takes over what somebody wrote; throws where it is no control. */
  install({ code, module }) {
    if (module) {
      this.start = (...path) => new FromModule(module, path);
      return;
    }
    const control = new Function(`"use strict";\n${code}\nreturn Control;`)();
    for (const method of ["on_ack", "on_congestion"]) {
      if (typeof control.prototype[method] !== "function") throw new Error(`class Control has no method ${method}`);
    }
    this.start = (mss_bytes, initial_window, sack) => new control({ mss_bytes, initial_window, sack: sack === 1 });
  }

  /** What the engine's module imports. */
  imports() {
    const tell = (handle, method, act) => {
      const flow = this.flows[handle];
      try {
        act(flow);
      } catch (error) {
        // A window that is none ends the run.
        this.error ??= `${method}: ${error.message}`;
        this.flows[handle] = { window: NaN, ssthresh: Infinity };
      }
    };
    const keep = (method, make) => {
      const handle = this.free.pop() ?? this.flows.length;
      tell(handle, method, () => { this.flows[handle] = make(); });
      return handle;
    };
    const ack = {};
    return { control: {
      make: (...path) => keep("constructor", () => this.start(...path)),
      copy: (handle) => keep("copy", () => copied(this.flows[handle])),
      forget: (handle) => {
        this.flows[handle] = null;
        this.free.push(handle);
      },
      on_ack: (handle, ...values) => tell(handle, "on_ack", (flow) => {
        ACK.forEach((name, index) => { ack[name] = FLAGS.has(name) ? values[index] === 1 : known(values[index]); });
        flow.on_ack(ack);
      }),
      on_congestion: (handle, now_ns, signal, repeated, flight, pipe, srtt_ns) => tell(handle, "on_congestion", (flow) => {
        flow.on_congestion({ now_ns, signal: SIGNALS[signal], repeated: repeated === 1, flight, pipe, srtt_ns: known(srtt_ns) });
      }),
      on_recovered: (handle, now_ns, repair, flight) => tell(handle, "on_recovered", (flow) => {
        flow.on_recovered?.({ now_ns, repair: REPAIRS[repair], flight });
      }),
      set_window: (handle, window, ssthresh) => tell(handle, "window", (flow) => { Object.assign(flow, { window, ssthresh }); }),
      window: (handle) => Number(this.flows[handle].window),
      ssthresh: (handle) => Number(this.flows[handle].ssthresh ?? Infinity),
    } };
  }
}

function copied(flow) {
  return flow instanceof FromModule ? flow.copy() : Object.assign(Object.create(Object.getPrototypeOf(flow)), structuredClone({ ...flow }));
}

/** A flow's control in an instance of a module, which exports what the engine imports, but without handles. */
class FromModule {
  constructor(module, path) {
    Object.assign(this, { module, path, exports: new WebAssembly.Instance(module, {}).exports });
    this.exports.make?.(...path);
  }

  get window() { return this.exports.window(); }
  set window(value) { this.exports.set_window?.(value, this.ssthresh); }
  get ssthresh() { return this.exports.ssthresh?.() ?? Infinity; }
  set ssthresh(value) { this.exports.set_window?.(this.window, value); }

  on_ack(ack) { this.exports.on_ack(...ACK.map((name) => Number(ack[name] ?? NaN))); }

  on_congestion({ now_ns, signal, repeated, flight, pipe, srtt_ns }) {
    this.exports.on_congestion(now_ns, SIGNALS.indexOf(signal), Number(repeated), flight, pipe, srtt_ns ?? NaN);
  }

  /** Another instance with the same memory: a module's state lies there. */
  copy() {
    const other = new FromModule(this.module, this.path);
    if (this.exports.memory) {
      const bytes = this.exports.memory.buffer;
      const missing = bytes.byteLength - other.exports.memory.buffer.byteLength;
      if (missing > 0) other.exports.memory.grow(missing >> 16);
      new Uint8Array(other.exports.memory.buffer).set(new Uint8Array(bytes));
    }
    return other;
  }
}
