// Runs scenarios away from the page. Of several requests only the newest is answered.

import { bandOf, curves } from "./curves.js";
import { Engine } from "./engine.js";
import { quantity } from "./quantity.js";

const LOOK_EVERY_MS = 25;
const LONGEST_MS = 20_000;
const STEPS = 400;
const BINS = 300;
const MAX_PACKETS = 1e6;

let engine;
let newest = 0;

// A timer would wait for at least 4 ms. Several requests may wait: each goes on once.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

function nextTask() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}

onmessage = async ({ data }) => {
  if (data.module) {
    engine = started(data);
    // Whoever asks hears of it.
    engine.catch(() => {});
    return;
  }
  newest = data.id;
  try {
    const answer = await work(await engine, data);
    if (answer) postMessage({ id: data.id, ...answer });
  } catch (error) {
    postMessage({ id: data.id, failure: String(error.message ?? error) });
  }
};

async function started({ module, control }) {
  const one = await Engine.of(module);
  if (control) one.use(control);
  return one;
}

async function work(present, { id, request, lean, packets, seeds = 1 }) {
  await nextTask();
  if (id !== newest) return null;
  const checked = present.check(request);
  if (checked.problems) return { problems: checked.problems };
  const durationS = quantity(checked.scenario.duration);
  if (packets && checked.packets > MAX_PACKETS) {
    return { failure: `about ${checked.packets.toExponential(0)} packets; at most ${MAX_PACKETS} can be played: take a shorter duration or a lower rate` };
  }
  const wanted = { ...request, ...(lean ? {} : { bin_s: durationS / BINS }), ...(packets ? { packets } : {}) };
  const first = await run(present, id, wanted, durationS);
  if (first === null || first.failure || first.problems) return first;
  const runs = [];
  for (let index = 0; seeds > 1 && index < seeds; index += 1) {
    const other = index === 0 ? first : await run(present, id, { ...wanted, seed: checked.scenario.seed + index }, durationS);
    if (other === null || other.failure || other.problems) return other;
    runs.push(curves({ ...checked, columns: other.columns }));
  }
  if (lean) return { record: first.record };
  return { ...checked, ...first, band: runs.length ? bandOf(runs) : null };
}

/** One run to its end; null where a newer request came in between. */
async function run(present, id, wanted, durationS) {
  const began = performance.now();
  const opened = present.open(wanted);
  if (opened.problems) return { problems: opened.problems };
  try {
    let looked = performance.now();
    for (let step = 1; step < STEPS; step += 1) {
      const nowS = opened.advance((durationS * step) / STEPS);
      if (Number.isNaN(nowS)) break;
      const ms = performance.now();
      if (ms - began > LONGEST_MS) {
        return { failure: `stopped after ${LONGEST_MS / 1000} s at ${nowS.toFixed(1)} of ${durationS} simulated seconds` };
      }
      if (ms - looked > LOOK_EVERY_MS) {
        await nextTask();
        if (id !== newest) return null;
        postMessage({ id, alive: true });
        looked = performance.now();
      }
    }
    return { ...opened.finish(), tookMs: performance.now() - began };
  } finally {
    opened.close();
  }
}
