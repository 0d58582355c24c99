/** Measures ratios. The two sides take turns, so that noise affects both alike. */
import { spawnSync } from "node:child_process";

export interface Result {
  readonly name: string;
  /** The measured time or size, divided by that of the reference. */
  readonly ratio: number;
  /** The maximum. Absent if the ratio is only for information. */
  readonly aim?: number;
  readonly detail: string;
}

export type Side = () => void | Promise<void>;

/** The ratio of the medians, and both of them in milliseconds. */
export async function compare(measured: Side, against: Side, rounds: number) {
  const { ours, theirs } = await medians({ ours: measured, theirs: against }, rounds);
  return ratioOf(ours, theirs);
}

/** The median time of each side in milliseconds, without the first round. */
export async function medians<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(sides) as Name[]; // Exactly these keys.
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

/** Runs a program, and throws if it fails. */
export function runProgram(file: string, words: readonly string[], env = process.env): string {
  const { status, stdout, stderr } = spawnSync(file, words, {
    env,
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`${file} ${words.join(" ")} ended with ${status}:\n${stderr}`);
  return stdout;
}
