/** Ratios in one run: the two sides take turns, so that a noisy machine disturbs both alike. */
import { spawnSync } from "node:child_process";

export interface Result {
  readonly name: string;
  /** What is measured, divided by what it is measured against. */
  readonly ratio: number;
  readonly aim: number;
  readonly detail: string;
}

export type Side = () => void | Promise<void>;

/** The ratio of the medians, and both of them in milliseconds. */
export async function compare(measured: Side, against: Side, rounds: number) {
  const times: [number[], number[]] = [[], []];
  await measured();
  await against();
  for (let round = 0; round < rounds; round += 1) {
    times[0].push(await time(measured));
    times[1].push(await time(against));
  }
  const [ours, theirs] = times.map(median) as [number, number];
  return { ratio: ours / theirs, detail: `${ours.toFixed(2)} ms against ${theirs.toFixed(2)} ms` };
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

async function time(side: Side): Promise<number> {
  const start = performance.now();
  await side();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
