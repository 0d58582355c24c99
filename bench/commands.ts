/**
 * Commands that list, search and print, compared with starting Node, or with a minimal script that does the same
 * work.
 */
import path from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { writeTerseRecord } from "./data.ts";
import {
  type Bench,
  compared,
  formatMb,
  goalInMs,
  JP,
  NODE_START,
  peakMemory,
  type Result,
  run,
  startNode,
  takeTurns,
} from "./measure.ts";
import { sized } from "./small.ts";
import { figureOf } from "./statistics.ts";
import { benchEnvironment, makeWorkspace, recordFolder, writeRecords } from "./workspace.ts";

const ROUNDS = 20;
const SEARCH_ROUNDS = 7;
const MEMORY_ROUNDS = 3;
const PRINT_ROUNDS = 3;
const MAX_MB = 150;

export const START = { version: "jp --version", help: "jp --help" };

export const start: Bench = {
  rows: Object.values(START),
  run: async () => {
    const took = await takeTurns(
      {
        node: startNode,
        version: () => run(process.execPath, [JP, "--version"]),
        help: () => run(process.execPath, [JP, "--help"]),
      },
      ROUNDS,
    );
    const common = { unit: NODE_START, goal: { most: 1.3 } };
    return [
      { name: START.version, ...common, ...compared(took.version, took.node) },
      { name: START.help, ...common, ...compared(took.help, took.node) },
    ];
  },
};

const LIST = { list: "jp conversation ls, 1,000 conversations" };

/** jp does not cache files that have just changed. */
const SETTLE_MS = 2_500;

export const list: Bench = {
  rows: Object.values(LIST),
  run: async (folder) => {
    writeRecords(folder, sized(1_000), 104);
    await setTimeout(SETTLE_MS);
    const took = await takeTurns(
      { node: startNode, list: jp(folder, "conversation", "ls") },
      ROUNDS,
    );
    const goal = { most: 2.5 };
    return [{ name: LIST.list, unit: NODE_START, goal, ...compared(took.list, took.node) }];
  },
};

const PENDING = { pending: "jp inquiry ls --pending, among 10,000 finished conversations" };

export const pending: Bench = {
  rows: Object.values(PENDING),
  run: async (folder) => {
    const [none, many] = [path.join(folder, "none"), path.join(folder, "many")];
    makeWorkspace(none);
    writeRecords(many, sized(10_000), 8);
    const words = ["inquiry", "ls", "--pending"];
    const took = await takeTurns({ none: jp(none, ...words), many: jp(many, ...words) }, ROUNDS);
    const row = { name: PENDING.pending, unit: "× in an empty workspace", goal: { most: 2 } };
    return [{ ...row, ...compared(took.many, took.none) }];
  },
};

const SEARCH = {
  grep: "jp conversation grep, 100 MB",
  grepMemory: "peak memory of jp conversation grep, 100 MB",
  inquiryMemory: "peak memory of jp inquiry ls, 100 MB",
};

export const search: Bench = {
  rows: Object.values(SEARCH),
  run: async (folder) => {
    writeRecords(folder, sized(100, 2), 1_248);
    const env = benchEnvironment(folder);
    const grep = ["conversation", "grep", "-c", "Fox 1234 jumps", "--ignore-case"];
    const minimal = path.join(import.meta.dirname, "minimal", "grep.mjs");
    const minimalWords = [minimal, recordFolder(folder, ""), "fox 1234 jumps"];
    const took = await takeTurns(
      { minimal: () => run(process.execPath, minimalWords), grep: jp(folder, ...grep) },
      SEARCH_ROUNDS,
    );
    const peak = (words: readonly string[]) => async () => ({
      megabytes: await peakMemory([JP, "-w", folder, ...words], env),
    });
    const peaks = await takeTurns(
      { grep: peak(grep), inquiry: peak(["inquiry", "ls"]) },
      MEMORY_ROUNDS,
    );
    return [
      {
        name: SEARCH.grep,
        unit: "× minimal script",
        goal: { most: 2 },
        ...compared(took.grep, took.minimal),
      },
      memory(SEARCH.grepMemory, peaks.grep),
      memory(SEARCH.inquiryMemory, peaks.inquiry),
    ];
  },
};

function memory(name: string, peaks: readonly { readonly megabytes: number }[]): Result {
  const size = figureOf(peaks.map(({ megabytes }) => megabytes));
  const detail = formatMb(size.value);
  return { name, unit: "MB", figures: { size }, goal: { most: MAX_MB }, detail };
}

const PRINT = {
  all: "jp conversation print, 1,000,000 events",
  last: "jp conversation print --last 1, 1,000,000 events",
};

export const print: Bench = {
  rows: Object.values(PRINT),
  run: async (folder) => {
    const id = "10000000021";
    makeWorkspace(folder);
    writeTerseRecord(recordFolder(folder, id), sized(1_000_000), "long");
    const options = { env: benchEnvironment(folder), isOutputIgnored: true };
    const words = [JP, "-w", folder, "conversation", "print", id];
    const took = await takeTurns(
      {
        node: startNode,
        all: () => run(process.execPath, words, options),
        last: () => run(process.execPath, [...words, "--last", "1"], options),
      },
      PRINT_ROUNDS,
    );
    return [
      {
        name: PRINT.all,
        unit: NODE_START,
        goal: goalInMs(5_000),
        ...compared(took.all, took.node),
      },
      {
        name: PRINT.last,
        unit: NODE_START,
        goal: goalInMs(500),
        ...compared(took.last, took.node),
      },
    ];
  },
};

/** Runs a command in a workspace. */
function jp(folder: string, ...words: readonly string[]) {
  const env = benchEnvironment(folder);
  return () => run(process.execPath, [JP, "-w", folder, ...words], { env });
}
