/** The figures of an earlier run, and regressions against them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Figures, StoredResult } from "./measure.ts";
import type { Stamp } from "./stamp.ts";
import { isWorse, type Kind, limitOf } from "./statistics.ts";

const FILE = path.join(import.meta.dirname, "baseline.json");

/** By the result's name. */
export type Baseline = Readonly<Record<string, Stamp & { readonly figures: Figures }>>;

export interface Regression {
  readonly name: string;
  readonly reason: string;
}

export function readBaseline(): Baseline {
  if (!existsSync(FILE)) return {};
  return JSON.parse(readFileSync(FILE, "utf8")) as Baseline; // Written below.
}

/** Adds the results, and removes those missing from `rows`, the names of all results. */
export function storeBaseline(results: readonly StoredResult[], rows: readonly string[]): void {
  const all = {
    ...readBaseline(),
    ...Object.fromEntries(
      results.map(({ name, date, commit, figures }) => [
        name,
        { date, commit, figures: rounded(figures) },
      ]),
    ),
  };
  const known = rows.flatMap((row) => (all[row] === undefined ? [] : [[row, all[row]]]));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}

function rounded(figures: Figures): Figures {
  const entries = Object.entries(figures).map(([kind, { value, noise }]) => [
    kind,
    { value: Number(value.toPrecision(4)), noise: Number(noise.toFixed(3)) },
  ]);
  return Object.fromEntries(entries) as Figures; // The same kinds.
}

/** The results that grew more than their noise explains, or that are missing from the baseline. */
export function findRegressions(
  results: readonly Pick<StoredResult, "name" | "figures">[],
  baseline: Baseline,
): readonly Regression[] {
  return results.flatMap(({ name, figures }) => {
    const earlier = baseline[name];
    if (earlier === undefined)
      return [{ name, reason: "not in the baseline; store it with --store" }];
    // By each kind: CPU time shows small changes, and only wall-clock time shows waiting.
    return (Object.keys(figures) as Kind[]).flatMap((kind) => {
      const [before, now] = [earlier.figures[kind], figures[kind]];
      if (before === undefined || now === undefined || !isWorse(kind, before, now)) return [];
      const growth = percent(now.value / before.value - 1);
      const limit = percent(limitOf(kind, before, now));
      const reason = `${KINDS[kind]} grew by ${growth}, from ${before.value.toPrecision(3)} at ${earlier.commit} to ${now.value.toPrecision(3)}; noise explains ${limit}`;
      return [{ name, reason }];
    });
  });
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

const KINDS: Readonly<Record<Kind, string>> = { time: "time", cpu: "CPU time", size: "size" };
