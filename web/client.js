// A worker with the engine: the newest request wins, and a worker that does not answer is replaced.

const PATIENCE_MS = 30_000;
// Somebody else's code may never return.
const PATIENCE_WITH_CONTROL_MS = 10_000;

export class Client {
  constructor(module, start) {
    this.module = module;
    this.start = start;
    this.id = 0;
    this.control = null;
    this.worker = null;
  }

  /** Starts the worker; the module may be under way yet. */
  begin() {
    const worker = this.start();
    this.worker = worker;
    // In order: what is asked follows the module.
    this.ready = Promise.resolve(this.module).then((module) => worker.postMessage({ module, control: this.control }));
    this.worker.onmessage = ({ data }) => {
      if (data.id !== this.id) return;
      if (data.alive) {
        this.wait();
        return;
      }
      const settle = this.settle;
      this.clear();
      // An engine that has panicked is not used again.
      if (data.failure) this.restart();
      settle(data);
    };
    this.worker.onerror = (event) => this.giveUp(`the worker failed: ${event.message}`);
  }

  /** Resolves to the worker's answer, or to null where a newer request came in between. */
  ask(question) {
    this.settle?.(null);
    this.clear();
    this.id += 1;
    if (!this.worker) this.begin();
    const [id, worker] = [this.id, this.worker];
    return new Promise((resolve) => {
      this.settle = resolve;
      this.wait();
      this.ready.then(() => worker.postMessage({ id, ...question }));
    });
  }

  /** Waits for a sign of life. */
  wait() {
    const patience = this.control ? PATIENCE_WITH_CONTROL_MS : PATIENCE_MS;
    const sentence = `no answer within ${patience / 1000} s, so the worker was ended${this.control ? "; does your control return" : ""}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(sentence), patience);
  }

  /** Takes a control of somebody's own into a new worker. */
  use(control) {
    this.control = control;
    this.settle?.(null);
    this.clear();
    this.restart();
  }

  clear() {
    clearTimeout(this.timer);
    this.settle = null;
  }

  giveUp(sentence) {
    const settle = this.settle;
    this.clear();
    this.restart();
    settle?.({ failure: sentence });
  }

  restart() {
    this.worker?.terminate();
    this.begin();
  }
}
