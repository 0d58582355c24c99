/** Ratios in one run: the two sides take turns, so that a noisy machine disturbs both alike. */
import { spawnSync } from "node:child_process";

export interface Result {
  readonly name: string;
  /** What is measured, divided by what it is measured against. */
  readonly ratio: number;
  /** Absent where the number is only told. */
  readonly aim?: number;
  readonly detail: string;
}

export type Side = () => void | Promise<void>;

/** The ratio of the medians, and both of them in milliseconds. */
export async function compare(measured: Side, against: Side, rounds: number) {
  const { ours, theirs } = await medians({ ours: measured, theirs: against }, rounds);
  return ratioOf(ours, theirs);
}

/** How long each side takes in milliseconds, the first time not counted. */
export async function medians<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(sides) as Name[]; // The keys of a literal.
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, taken] of times) {
      const start = performance.now();
      await sides[name]();
      if (round > 0) taken.push(performance.now() - start);
    }
  }
  const entries = [...times].map(([name, taken]) => [name, median(taken)] as const);
  return Object.fromEntries(entries) as Record<Name, number>; // One for each name.
}

export function ratioOf(ours: number, theirs: number) {
  return { ratio: ours / theirs, detail: `${ours.toFixed(2)} ms against ${theirs.toFixed(2)} ms` };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Runs a program and fails loudly if it does. */
export function runProgram(file: string, words: readonly string[], env = process.env): string {
  const { status, stdout, stderr } = spawnSync(file, words, {
    env,
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`${file} ${words.join(" ")} ended with ${status}:\n${stderr}`);
  return stdout;
}
