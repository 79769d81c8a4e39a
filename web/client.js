// A worker with the engine: the newest request wins, and a worker that does not answer is replaced.

const PATIENCE_MS = 30_000;

export class Client {
  constructor(module, start) {
    this.module = module;
    this.start = start;
    this.id = 0;
    this.begin();
  }

  begin() {
    this.worker = this.start();
    this.worker.postMessage({ module: this.module });
    this.worker.onmessage = ({ data }) => {
      if (data.id !== this.id) return;
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
    return new Promise((resolve) => {
      this.settle = resolve;
      this.timer = setTimeout(() => this.giveUp(`no answer within ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
      this.worker.postMessage({ id: this.id, ...question });
    });
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
    this.worker.terminate();
    this.begin();
  }
}
