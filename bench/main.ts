/** `npm run bench`: one table of ratios, and the same as JSON in bench/results. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { benchAppend } from "./append.ts";
import { benchList, benchSearch, benchStart } from "./commands.ts";
import { benchInquiry } from "./inquiry.ts";
import { benchLoad } from "./load.ts";
import type { Result } from "./measure.ts";
import { benchQueryStart, benchStreaming } from "./query.ts";
import { benchQuestion } from "./question.ts";
import { benchRequest } from "./request.ts";

const benches: readonly ((folder: string) => Promise<Result | Result[]>)[] = [
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

const results: Result[] = [];
for (const bench of benches) {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-bench-"));
  try {
    for (const result of [await bench(folder)].flat()) {
      results.push(result);
      const { name, ratio, aim, detail } = result;
      const verdict = aim === undefined ? "    " : ratio <= aim ? "ok  " : "over";
      const wanted = aim === undefined ? "" : `  (aim ${aim})`;
      console.log(`${verdict}  ${name.padEnd(39)} ${ratio.toFixed(2)}${wanted}  ${detail}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const folder = path.join(import.meta.dirname, "results");
mkdirSync(folder, { recursive: true });
writeFileSync(path.join(folder, "latest.json"), `${JSON.stringify(results, null, 2)}\n`);
