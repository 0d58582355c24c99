/** Runs programs, and measures their time from outside. The two sides of a comparison alternate. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { performance } from "node:perf_hooks";
import process from "node:process";
import path from "node:path";
import { isSmall } from "./small.ts";
import type { Stamp } from "./stamp.ts";
import { type Figure, type Kind, median, ratioOf } from "./statistics.ts";

export interface Bench {
  /** The names of its results. */
  readonly rows: readonly string[];
  /** Receives an empty folder. */
  readonly run: (folder: string) => Promise<readonly Result[]>;
}

export interface Result {
  readonly name: string;
  /** The unit of the figures and the goal, such as `× node -e 0` or `MB`. */
  readonly unit: string;
  readonly figures: Figures;
  readonly goal?: Goal;
  /** The absolute numbers behind the figures, on this machine. */
  readonly detail: string;
}

/** A result of an earlier run. */
export interface StoredResult extends Result, Stamp {}

export type Figures = Readonly<Partial<Record<Kind, Figure>>>;

export interface Goal {
  readonly most: number;
  /** The goal as it was set, if in another unit. */
  readonly text?: string;
}

/** The built command. */
export const JP = path.join(path.dirname(import.meta.dirname), "dist", "bin", "jp.cjs");
export const NODE_START = "× node -e 0";
/** The time and memory of `node -e 0` on the machine where goals in seconds and megabytes were set. */
const NODE_MS = 32;
const NODE_MB = 47;

/** A goal in milliseconds, converted to a ratio that also holds on other machines. */
export function goalInMs(milliseconds: number): Goal {
  const asSet = milliseconds < 500 ? `${milliseconds} ms` : `${milliseconds / 1e3} s`;
  return { most: milliseconds / NODE_MS, text: asSet };
}

export function goalInMb(megabytes: number): Goal {
  return { most: megabytes / NODE_MB, text: `${megabytes} MB` };
}

/** Each call measures once. */
type Sides = Readonly<Record<string, () => Promise<unknown>>>;
/** Each side's measurements, by round. */
type Samples<All extends Sides> = {
  readonly [Name in keyof All]: readonly Awaited<ReturnType<All[Name]>>[];
};

/** Rounds that do not count, in which jp fills its cache of compiled code. */
export const WARM_UP_ROUNDS = 3;

/** Alternates between all sides, so that noise affects them alike. The first rounds warm up. */
export async function takeTurns<All extends Sides>(
  sides: All,
  rounds: number,
): Promise<Samples<All>> {
  const samples: Record<string, unknown[]> = {};
  const [uncounted, counted] = isSmall ? [0, 1] : [WARM_UP_ROUNDS, rounds];
  for (let round = 0; round < uncounted + counted; round += 1) {
    for (const [name, side] of Object.entries(sides)) {
      const sample = await side();
      if (round >= uncounted) (samples[name] ??= []).push(sample);
    }
  }
  return samples as Samples<All>; // One list for each side.
}

/** Measures work in this process, in milliseconds. */
export async function timeOf(work: () => unknown): Promise<Times> {
  const used = process.cpuUsage();
  const start = performance.now();
  await work();
  const time = performance.now() - start;
  const { user, system } = process.cpuUsage(used);
  return { time, cpu: (user + system) / 1e3 };
}

/** The CPU time includes that of child processes it waited for. */
interface Finished extends Times {
  readonly output: string;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly firstByteAt: number;
}

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** For long output: reading it would take a core away from the program. */
  readonly isOutputIgnored?: boolean;
}

/**
 * Node cannot report a child process's CPU time, but the shell can. It writes its report to the third pipe, so that
 * the program's output stays unchanged.
 */
const TIMED = 'exec 4>&2 2>&3; TIMEFORMAT="%3R %3U %3S"; time "$@" 2>&4 3>&- 4>&-';

type Pipes = [stdin: null, stdout: Readable | null, stderr: Readable, timing: Readable, unknown];

/** Runs a program, and throws if it fails. Asynchronous, because servers that it talks to run in this process. */
export async function run(
  file: string,
  words: readonly string[],
  { env = process.env, cwd, isOutputIgnored = false }: RunOptions = {},
): Promise<Finished> {
  const child = spawn("bash", ["-c", TIMED, "bash", file, ...words], {
    env,
    cwd,
    stdio: ["ignore", isOutputIgnored ? "ignore" : "pipe", "pipe", "pipe"],
  });
  const [, stdout, stderr, timing] = child.stdio as Pipes;
  let [firstByteAt, reportedAt] = [0, 0];
  stdout?.once("data", () => (firstByteAt = performance.now()));
  timing.once("data", () => (reportedAt = performance.now()));
  const [output, errors, report, [status]] = await Promise.all([
    stdout === null ? "" : text(stdout),
    text(stderr),
    text(timing),
    once(child, "close") as Promise<[number | null]>,
  ]);
  if (status !== 0) {
    throw new Error(`${file} ${words.join(" ")} ended with ${status}:\n${output}${errors}`);
  }
  const [real = 0, user = 0, system = 0] =
    report
      .split("\n")
      .findLast((line) => line !== "")
      ?.split(" ")
      .map((seconds) => Number(seconds.replace(",", ".")) * 1e3) ?? []; // The separator depends on the locale.
  // Excludes the shell's own start.
  const startedAt = reportedAt - real;
  return { output, time: real, cpu: user + system, startedAt, firstByteAt };
}

/** The reference of most rows. */
export async function startNode(): Promise<Times> {
  return run(process.execPath, ["-e", "0"]);
}

/** In milliseconds. */
export interface Times {
  /** Wall-clock time. */
  readonly time: number;
  readonly cpu: number;
}

/** One side's figures relative to another's. */
export function compared(
  ours: readonly Times[],
  theirs: readonly Times[],
): Pick<Result, "figures" | "detail"> {
  const times = [ours.map(({ time }) => time), theirs.map(({ time }) => time)] as const;
  const cpu = [ours.map((each) => each.cpu), theirs.map((each) => each.cpu)] as const;
  return { figures: { time: ratioOf(...times), cpu: ratioOf(...cpu) }, detail: against(...times) };
}

/** Both medians. */
export function against(ours: readonly number[], theirs: readonly number[]): string {
  return `${formatMs(median(ours))} against ${formatMs(median(theirs))}`;
}

/** A Node program's peak memory in megabytes. */
export async function peakMemory(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const hook = path.join(import.meta.dirname, "minimal", "peak-memory.mjs");
  const options = { env: { ...env, NODE_OPTIONS: `--import=${hook}` } };
  const { output } = await run(process.execPath, words, options);
  return Number(output.trimEnd().split("\n").at(-1)) / 1e6;
}

export function formatMs(milliseconds: number): string {
  if (milliseconds >= 1_000) return `${(milliseconds / 1e3).toFixed(2)} s`;
  return `${milliseconds.toFixed(milliseconds < 10 ? 2 : 0)} ms`;
}

export function formatMb(megabytes: number): string {
  return `${megabytes.toFixed(0)} MB`;
}
