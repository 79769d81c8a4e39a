// Size of a page in brotli, file by file: node page-size.mjs FOLDER. Fails above the budget.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const BUDGET = 1_200_000; // bytes in brotli: what a visitor fetches
const [, , folder] = process.argv;
const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
let sum = 0;
for (const name of files.sort()) {
  const text = readFileSync(join(folder, name));
  const size = brotliCompressSync(text, { params: { ...params, [constants.BROTLI_PARAM_LGWIN]: 24 } }).length;
  console.log(`${name.padEnd(28)} ${String(text.length).padStart(8)} B  ${String(size).padStart(7)} B in brotli`);
  sum += size;
}
console.log(`${"sum".padEnd(28)} ${" ".repeat(10)}  ${String(sum).padStart(7)} B of at most ${BUDGET} B`);
process.exit(sum > BUDGET ? 1 : 0);
