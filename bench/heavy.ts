/**
 * Compares heavy work with a tenth of it: linear growth gives a ratio of about ten. Meanwhile, keys are
 * typed in the same process, which must not stall.
 */
import { utimesSync } from "node:fs";
import path from "node:path";
import { writeRecord, writeTerseRecord } from "./data.ts";
import { type HeavyReport, LONG_ID, type ScenarioName } from "./heavy-program.ts";
import { type Result, runProgram } from "./measure.ts";
import type { Stalls } from "./typing.ts";
import { openBenchWorkspace } from "./workspace.ts";

interface Heavy {
  readonly scenario: ScenarioName;
  readonly name: string;
  readonly size: number;
  /** Writes the data that the scenario needs. */
  readonly fill: (folder: string, size: number) => void;
}

/** Linear growth, with some noise. */
const MAX_GROWTH = 12;
const MAX_STALL_MS = 50;
const EVENTS_EACH = 40;
const ROUNDS = 3;

const HEAVY: readonly Heavy[] = [
  { scenario: "list", name: "ls of 1,000", size: 1_000, fill: fillMany },
  { scenario: "search", name: "grep of 1,000", size: 1_000, fill: fillMany },
  { scenario: "load", name: "1,000,000 events, last turn", size: 1_000_000, fill: fillLong },
  { scenario: "open", name: "1,000,000 events, a question", size: 1_000_000, fill: fillLong },
  { scenario: "questions", name: "500 calls, 10 questions each", size: 500, fill: fillNothing },
  { scenario: "inquiries", name: "1,000 model inquiries", size: 1_000, fill: fillNothing },
];

export async function benchHeavy(folder: string): Promise<Result[]> {
  return HEAVY.flatMap((heavy) => measureHeavy(heavy, path.join(folder, heavy.scenario)));
}

function measureHeavy({ scenario, name, size, fill }: Heavy, folder: string): Result[] {
  const measure = (count: number) => {
    const place = path.join(folder, String(count));
    openBenchWorkspace(place);
    fill(place, count);
    return Array.from({ length: ROUNDS }, () => run(scenario, count, place));
  };
  const [all, tenth] = [measure(size), measure(size / 10)];
  const time = [least(all, "cpu"), least(tenth, "cpu")] as const;
  const memory = [least(all, "bytes"), least(tenth, "bytes")] as const;
  // For time and memory the best round counts, because noise only adds. For stalls the worst one counts.
  const stalls = all.map((each) => each.stalls).toSorted((one, two) => two.most - one.most);
  const { most, mostCpu, delay, slowestKey, keys } = stalls[0] as Stalls; // There is at least one.
  return [
    {
      name: `${name} / a tenth`,
      aim: MAX_GROWTH,
      ratio: time[0] / time[1],
      detail:
        `${time[0].toFixed(0)} ms of CPU against ${time[1].toFixed(0)} ms; ` +
        `by the clock ${least(all, "milliseconds").toFixed(0)} ms`,
    },
    {
      name: `${scenario}: memory / of a tenth`,
      aim: MAX_GROWTH,
      ratio: memory[0] / Math.max(memory[1], 1e6),
      detail: `${megabytes(memory[0])} against ${megabytes(memory[1])}`,
    },
    {
      name: `${scenario}: longest stall / ${MAX_STALL_MS} ms`,
      aim: 1,
      ratio: most / MAX_STALL_MS,
      detail:
        `${most.toFixed(1)} ms by the clock, ${mostCpu.toFixed(1)} ms of CPU; event loop: 99 % below ` +
        `${delay.p99.toFixed(1)} ms, at most ${delay.most.toFixed(1)} ms; slowest of ${keys} keys ` +
        `${slowestKey.toFixed(1)} ms`,
    },
  ];
}

function run(scenario: ScenarioName, size: number, folder: string): HeavyReport {
  const program = path.join(import.meta.dirname, "heavy-program.ts");
  const output = runProgram(process.execPath, [program, scenario, String(size), folder]);
  return JSON.parse(output) as HeavyReport; // Written by the program.
}

function least(reports: readonly HeavyReport[], key: "milliseconds" | "cpu" | "bytes"): number {
  return Math.min(...reports.map((report) => report[key]));
}

function fillMany(folder: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const id = String(17_000_000_000 + index * 100);
    const record = path.join(folder, ".jp", "conversations", `${id}-bench`);
    writeRecord(record, EVENTS_EACH, `Conversation ${index}`);
  }
  // jp does not cache a folder that has just changed.
  const long = new Date(Date.now() - 60_000);
  utimesSync(path.join(folder, ".jp", "conversations"), long, long);
}

function fillLong(folder: string, count: number): void {
  writeTerseRecord(path.join(folder, ".jp", "conversations", LONG_ID), count, "long");
}

function fillNothing(): void {}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
