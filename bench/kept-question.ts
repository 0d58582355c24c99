/**
 * A question that ends a turn in a long conversation, its answer, and the continued turn: in jp and in other
 * libraries.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { type Bench, formatMs, type Result, run } from "./measure.ts";
import { isSmall, sized } from "./small.ts";
import { figureOf, median } from "./statistics.ts";

const MESSAGES = sized(10_000, 10);
const ROUNDS = isSmall ? 1 : 7;
/** The programs for each library. */
export const PROGRAMS = path.join(import.meta.dirname, "minimal", "peers");
export const KEPT_QUESTION = {
  time: "a question left, answered and continued, at 10,000 messages",
  bytes: "kB written for a question left, answered and continued, at 10,000 messages",
};

export const keptQuestion: Bench = {
  rows: Object.values(KEPT_QUESTION),
  run: async (folder) =>
    process.platform === "linux"
      ? await runKeptQuestion([path.join(PROGRAMS, "jp.mjs")], folder)
      : [],
};

/** Runs a program, with its own flag, in an empty folder. Bytes are counted according to /proc, so only on Linux. */
export async function runKeptQuestion(
  [program, flag = ""]: readonly [string, string?],
  folder: string,
): Promise<readonly [Result, Result]> {
  mkdirSync(folder, { recursive: true });
  const words = [program, folder, String(MESSAGES), String(ROUNDS), flag];
  const { output } = await run(process.execPath, words);
  const { time, cpu, bytes } = JSON.parse(output) as Measured; // Written by the program.
  return [
    {
      name: KEPT_QUESTION.time,
      unit: "ms",
      figures: { time: figureOf(time), cpu: figureOf(cpu) },
      detail: `${formatMs(median(cpu))} of CPU`,
    },
    {
      name: KEPT_QUESTION.bytes,
      unit: "kB",
      figures: { size: { value: bytes / 1e3, noise: 0 } },
      detail: "passed to the system, by whatever library",
    },
  ];
}

interface Measured {
  /** Milliseconds by round. */
  readonly time: readonly number[];
  readonly cpu: readonly number[];
  readonly bytes: number;
}
