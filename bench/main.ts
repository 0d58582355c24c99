/**
 * `npm run bench`: prints a table of ratios, and writes them as JSON to bench/results. `-- --load` runs the
 * heavy scenarios instead, which take minutes and gigabytes. `--compare` fails if a ratio is more than half
 * worse than in the stored baseline. `--store` makes this run the baseline.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { benchAppend } from "./append.ts";
import { compareWithBaseline, storeBaseline } from "./baseline.ts";
import { benchList, benchSearch, benchStart } from "./commands.ts";
import { benchHeavy } from "./heavy.ts";
import { benchInquiry } from "./inquiry.ts";
import { benchLoad } from "./load.ts";
import type { Result } from "./measure.ts";
import { benchQueryStart, benchStreaming } from "./query.ts";
import { benchQuestion } from "./question.ts";
import { benchRequest } from "./request.ts";

type Bench = (folder: string) => Promise<Result | Result[]>;

const standard: readonly Bench[] = [
  benchStart,
  benchAppend,
  benchLoad,
  benchList,
  benchSearch,
  benchQuestion,
  benchInquiry,
  benchRequest,
  benchQueryStart,
  benchStreaming,
];

const isLoad = process.argv.includes("--load");
const results: Result[] = [];
for (const bench of isLoad ? [benchHeavy] : standard) {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-bench-"));
  try {
    for (const result of [await bench(folder)].flat()) {
      results.push(result);
      const { name, ratio, aim, detail } = result;
      const verdict = aim === undefined ? "    " : ratio <= aim ? "ok  " : "over";
      const limit = aim === undefined ? "" : `  (aim ${aim})`;
      console.log(`${verdict}  ${name.padEnd(39)} ${ratio.toFixed(2)}${limit}  ${detail}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const folder = path.join(import.meta.dirname, "results");
mkdirSync(folder, { recursive: true });
writeFileSync(
  path.join(folder, isLoad ? "load.json" : "latest.json"),
  `${JSON.stringify(results, null, 2)}\n`,
);

if (process.argv.includes("--store")) storeBaseline(results);
if (process.argv.includes("--compare")) {
  const worse = compareWithBaseline(results);
  for (const line of worse) console.error(`worse: ${line}`);
  if (worse.length > 0) process.exitCode = 1;
}
