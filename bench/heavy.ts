/**
 * Compares heavy work with a tenth of it: linear growth gives a ratio of about ten. Meanwhile, keys are typed in the
 * same process, which must not stall.
 */
import path from "node:path";
import process from "node:process";
import { writeTerseRecord } from "./data.ts";
import { type HeavyReport, LONG_ID, type ScenarioName } from "./heavy-program.ts";
import { type Bench, formatMb, formatMs, type Result, run } from "./measure.ts";
import { isSmall, sized } from "./small.ts";
import { figureOf, ratioOf } from "./statistics.ts";
import type { Stalls } from "./typing.ts";
import { makeWorkspace, recordFolder, writeRecords } from "./workspace.ts";

interface Heavy {
  readonly scenario: ScenarioName;
  readonly name: string;
  readonly size: number;
  /** Writes the scenario's data. */
  readonly fill: (folder: string, size: number) => void;
}

/** Linear growth, with some noise. */
const MAX_GROWTH = 12;
const MAX_STALL_MS = 50;
const EVENTS_EACH = 40;
const ROUNDS = isSmall ? 1 : 3;

const HEAVY: readonly Heavy[] = [
  { scenario: "list", name: "ls of 1,000", size: sized(1_000), fill: fillMany },
  { scenario: "search", name: "grep of 1,000", size: sized(1_000), fill: fillMany },
  { scenario: "load", name: "1,000,000 events, last turn", size: sized(1_000_000), fill: fillLong },
  {
    scenario: "open",
    name: "1,000,000 events, a question",
    size: sized(1_000_000),
    fill: fillLong,
  },
  {
    scenario: "questions",
    name: "500 calls, 10 questions each",
    size: sized(500),
    fill: fillNothing,
  },
  { scenario: "inquiries", name: "1,000 model inquiries", size: sized(1_000), fill: fillNothing },
];

/** One bench each, so that each can run alone. */
export const heavy: readonly Bench[] = HEAVY.map((each) => ({
  rows: Object.values(rowsOf(each)),
  run: (folder) => measure(each, folder),
}));

function rowsOf({ name }: Heavy) {
  return { time: `${name}: CPU time`, memory: `${name}: memory`, stall: `${name}: longest stall` };
}

async function measure(each: Heavy, folder: string): Promise<readonly Result[]> {
  const { scenario, size, fill } = each;
  const measureAt = async (count: number) => {
    const place = path.join(folder, String(count));
    makeWorkspace(place);
    fill(place, count);
    const reports: HeavyReport[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      reports.push(await runOnce(scenario, count, place));
    return reports;
  };
  const all = await measureAt(size);
  const tenth = await measureAt(size / 10);
  const rows = rowsOf(each);
  const times = [least(all, "cpu"), least(tenth, "cpu")] as const;
  const bytes = [least(all, "bytes"), Math.max(least(tenth, "bytes"), 1e6)] as const;
  // For time and memory the best round counts, because noise only adds. For stalls, the worst one does.
  const { noise } = ratioOf(column(all, "cpu"), column(tenth, "cpu"));
  const stalls = all.map((report) => report.stalls).toSorted((one, two) => two.most - one.most);
  const { most, mostCpu, delay, slowestKey, keys } = stalls[0] as Stalls; // There is at least one.
  const common = { unit: "× a tenth of it", goal: { most: MAX_GROWTH } };
  return [
    {
      name: rows.time,
      ...common,
      figures: { cpu: { value: times[0] / times[1], noise } },
      detail:
        `${formatMs(times[0])} of CPU against ${formatMs(times[1])}; ` +
        `by the clock ${formatMs(least(all, "milliseconds"))}`,
    },
    {
      name: rows.memory,
      ...common,
      figures: {
        size: {
          value: bytes[0] / bytes[1],
          noise: ratioOf(column(all, "bytes"), column(tenth, "bytes")).noise,
        },
      },
      detail: `${formatMb(bytes[0] / 1e6)} against ${formatMb(bytes[1] / 1e6)}`,
    },
    {
      name: rows.stall,
      unit: "ms",
      goal: { most: MAX_STALL_MS },
      figures: { time: { value: most, noise: figureOf(stalls.map((stall) => stall.most)).noise } },
      detail:
        `${mostCpu.toFixed(1)} ms of CPU; event loop: 99 % below ${delay.p99.toFixed(1)} ms, ` +
        `at most ${delay.most.toFixed(1)} ms; slowest of ${keys} keys ${slowestKey.toFixed(1)} ms`,
    },
  ];
}

async function runOnce(scenario: ScenarioName, size: number, folder: string): Promise<HeavyReport> {
  const program = path.join(import.meta.dirname, "heavy-program.ts");
  const { output } = await run(process.execPath, [program, scenario, String(size), folder]);
  return JSON.parse(output) as HeavyReport; // Written by the program.
}

type Column = "milliseconds" | "cpu" | "bytes";

function column(reports: readonly HeavyReport[], key: Column): readonly number[] {
  return reports.map((report) => report[key]);
}

function least(reports: readonly HeavyReport[], key: Column): number {
  return Math.min(...column(reports, key));
}

function fillMany(folder: string, count: number): void {
  writeRecords(folder, count, EVENTS_EACH);
}

function fillLong(folder: string, count: number): void {
  writeTerseRecord(recordFolder(folder, LONG_ID), count, "long");
}

function fillNothing(): void {}
