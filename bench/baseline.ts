/** The ratios of an earlier run, and a comparison with new ones. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Result } from "./measure.ts";

/** More than noise. */
const MAX_GROWTH = 1.5;
const FILE = path.join(import.meta.dirname, "baseline.json");

type Baseline = Readonly<Record<string, number>>;

export function storeBaseline(results: readonly Result[]): void {
  const entries = results.map(({ name, ratio }) => [name, Number(ratio.toFixed(3))]);
  const all = { ...readBaseline(), ...Object.fromEntries(entries) };
  writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`);
}

/** One line per ratio that is more than half worse than the baseline, or new. */
export function compareWithBaseline(
  results: readonly Result[],
  baseline: Baseline = readBaseline(),
): readonly string[] {
  return results.flatMap(({ name, ratio }) => {
    const before = baseline[name];
    if (before === undefined) return [`${name}: not in the baseline; store it with --store`];
    if (ratio <= before * MAX_GROWTH) return [];
    return [`${name}: ${ratio.toFixed(2)}, and was ${before.toFixed(2)}`];
  });
}

function readBaseline(): Baseline {
  if (!existsSync(FILE)) return {};
  return JSON.parse(readFileSync(FILE, "utf8")) as Baseline; // Written above.
}
