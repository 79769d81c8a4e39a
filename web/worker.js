// Runs scenarios away from the page. Of several requests only the newest is answered.

import { Engine } from "./engine.js";
import { quantity } from "./quantity.js";

const LOOK_EVERY_MS = 25;
const LONGEST_MS = 20_000;
const STEPS = 400;
const BINS = 300;

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
    engine = Engine.of(data.module);
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

async function work(present, { id, request, lean }) {
  await nextTask();
  if (id !== newest) return null;
  const began = performance.now();
  const checked = present.check(request);
  if (checked.problems) return { problems: checked.problems };
  const durationS = quantity(checked.scenario.duration);
  const run = present.open({ ...request, ...(lean ? {} : { bin_s: durationS / BINS }) });
  if (run.problems) return { problems: run.problems };
  try {
    let looked = performance.now();
    for (let step = 1; step < STEPS; step += 1) {
      const nowS = run.advance((durationS * step) / STEPS);
      const ms = performance.now();
      if (ms - began > LONGEST_MS) {
        return { failure: `stopped after ${LONGEST_MS / 1000} s at ${nowS.toFixed(1)} of ${durationS} simulated seconds` };
      }
      if (ms - looked > LOOK_EVERY_MS) {
        await nextTask();
        if (id !== newest) return null;
        looked = performance.now();
      }
    }
    const { record, columns } = run.finish();
    return { ...checked, record, columns: lean ? null : columns, tookMs: performance.now() - began };
  } finally {
    run.close();
  }
}
