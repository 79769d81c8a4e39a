// The editor of a congestion control of one's own, with the laws beside it.

import { LAWS } from "./laws.js";
import { TEMPLATE } from "./own.js";

const LARGEST_MODULE = 1_000_000; // bytes

export class Editor {
  /** `client` is a worker of its own for trials; `use` takes over a control that has passed. */
  constructor({ client, use }) {
    Object.assign(this, { client, use, turn: 0 });
    this.area = document.getElementById("own-code");
    this.said = document.getElementById("own-said");
    this.list = document.getElementById("own-laws");
    this.area.value = TEMPLATE;
    document.getElementById("own-use").onclick = () => this.take({ code: this.area.value });
    document.getElementById("own-file").onchange = ({ target }) => {
      if (target.files[0]) this.open(target.files[0]);
      // The same file may be chosen again after it has changed.
      target.value = "";
    };
  }

  /** Takes a module that somebody chose or dropped. */
  async open(file) {
    document.getElementById("own").open = true;
    if (file.size > LARGEST_MODULE) {
      this.said.textContent = `${file.name} has ${(file.size / 1e6).toFixed(1)} MB; a control has at most 1 MB. What was shown stays.`;
      return;
    }
    try {
      await this.take({ module: await WebAssembly.compile(await file.arrayBuffer()) });
    } catch (error) {
      this.said.textContent = `${file.name} is no WebAssembly module: ${error.message}`;
    }
  }

  /** Tries a control in a worker of its own, and takes it over where it runs. */
  async take(control) {
    this.turn += 1;
    const turn = this.turn;
    this.said.textContent = "The control is being tried.";
    this.list.replaceChildren();
    this.client.use(control);
    for (const law of LAWS) {
      const records = await this.#records(law);
      if (turn !== this.turn || records === null) return;
      if (typeof records === "string") {
        this.said.textContent = `${records} What was shown stays.`;
        return;
      }
      const [holds, found] = law.judge(records);
      const sign = holds === null ? "" : (holds ? "✓ " : "✗ ");
      this.list.append(Object.assign(document.createElement("li"), { textContent: `${sign}${law.name}: ${found}` }));
    }
    this.said.textContent = "The control is called mine, and has the first group on the right. It stays on this machine: a link does not hold it.";
    this.use(control);
  }

  /** The records of a law's runs; a sentence where there are none. */
  async #records({ text, seeds }) {
    const records = [];
    for (const seed of seeds) {
      const answer = await this.client.ask({ request: { text, seed, name: "trial" }, lean: true });
      if (answer === null) return null;
      if (!answer.record) return `${answer.failure ?? answer.problems[0].message}.`;
      records.push(JSON.parse(answer.record));
    }
    return records;
  }
}
