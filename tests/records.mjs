// Records of scenarios by the engine in WebAssembly: node records.mjs ENGINE_JS ENGINE_WASM < [NAME... | {name, text}...] > {NAME: {whole, sliced, differs}}
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const SLICE_S = 0.01337;
const [, , glue, binary] = process.argv;
const { Engine } = await import(pathToFileURL(glue));
const engine = await Engine.of(await WebAssembly.compile(readFileSync(binary)));

function whole(request) {
  const run = engine.open(request);
  const { record, columns } = run.finish();
  run.close();
  return { record, columns };
}

function sliced(request, durationS) {
  const run = engine.open(request);
  const parts = [];
  for (let step = 1; run.advance(step * SLICE_S) < durationS; step += 1) parts.push(run.take());
  const { record, columns } = run.finish();
  parts.push(columns);
  run.close();
  const joined = (name) => parts.flatMap((part) => Array.from(part[name]));
  return { record, columns: Object.fromEntries(engine.columnNames.map((name) => [name, joined(name)])) };
}

function differs(one, other) {
  return engine.columnNames.filter(
    (name) => one[name].length !== other[name].length || one[name].some((value, row) => !Object.is(value, other[name][row])),
  );
}

const wanted = JSON.parse(readFileSync(0, "utf8"));
const answers = {};
for (const entry of wanted) {
  const { name, text } = entry.text ? entry : { name: entry, text: engine.ready(entry) };
  const request = { text, name, bin_s: 0.1 };
  const [one, other] = [whole(request), sliced(request, JSON.parse(whole(request).record).duration_s)];
  answers[name] = { whole: one.record, sliced: other.record, differs: differs(one.columns, other.columns) };
}
process.stdout.write(JSON.stringify(answers));
