/** The limits on what each path loads, runs and opens, in `budget.json`, and what exceeds them. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** Counts or sizes, by name. */
export type Counts = Readonly<Record<string, number>>;

/**
 * The range over one or more runs. Some things happen concurrently with the request: before it in one run, after it
 * in another. Those are not in `least`.
 */
export interface Range {
  readonly least: Counts;
  readonly most: Counts;
}

export type Kind = (typeof KINDS)[number];

export type Use = Readonly<Record<Kind, Range>>;

export interface Budget {
  /** Such as `24.21`: other versions load different internal modules. */
  readonly node: string;
  readonly paths: Readonly<Record<string, Allowed>>;
}

/** The budget of one path. */
export interface Allowed {
  readonly bytes: number;
  readonly functions: number;
  readonly syncs: Counts;
  /** How often something is looked at without being opened. */
  readonly stats: number;
  /** Bytes of files of the user and the workspace. */
  readonly read: number;
  readonly processes: readonly string[];
  readonly builtins: readonly string[];
  readonly packages: readonly string[];
  readonly files: Counts;
  readonly modules: readonly string[];
  /** Recorded with the budget, to show which folder grew. Not a limit. */
  readonly functions_by_folder: Counts;
}

const KINDS = [
  "modules",
  "bytes",
  "functions",
  "builtins",
  "processes",
  "files",
  "syncs",
  "stats",
  "read",
] as const;
const FILE = path.join(import.meta.dirname, "budget.json");
/** The share of a budget that has to be used: less is a win, which is kept by lowering the budget. */
const LEAST_USED = 0.9;
/** Bytes and functions have some slack, so that not every change needs a new budget. */
const ROOM = 1.01;
const STEPS = { bytes: 5_000, functions: 5, stats: 2, read: 500 };
/** How much may happen concurrently with the request: before it in one run, after it on another machine. */
const BESIDE = { stats: 25, files: 3, syncs: 3 };

export function readBudget(): Budget {
  return JSON.parse(readFileSync(FILE, "utf8")) as Budget; // Written below.
}

/** Returns the path of the file. */
export function writeBudget(uses: Readonly<Record<string, Use>>): string {
  const paths = Object.entries(uses).map(([name, use]) => [name, allowedFor(use)]);
  const budget = { node: nodeVersion(), paths: Object.fromEntries(paths) };
  writeFileSync(FILE, `${JSON.stringify(budget, null, 2)}\n`);
  return FILE;
}

export function nodeVersion(): string {
  return process.versions.node.split(".").slice(0, 2).join(".");
}

/** The range over several runs. */
export function useOf(runs: readonly Readonly<Record<Kind, Counts>>[]): Use {
  const entries = KINDS.map((kind) => [kind, rangeOf(runs.map((run) => run[kind]))]);
  return Object.fromEntries(entries) as Use; // The same kinds.
}

/** The range over all of them together. */
export function joined(uses: readonly Use[]): Use {
  return useOf(uses.flatMap((use) => [pick(use, "least"), pick(use, "most")]));
}

function pick(use: Use, end: keyof Range): Readonly<Record<Kind, Counts>> {
  const entries = KINDS.map((kind) => [kind, use[kind][end]]);
  return Object.fromEntries(entries) as Record<Kind, Counts>; // The same kinds.
}

function rangeOf(runs: readonly Counts[]): Range {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run)))].toSorted();
  const of = (choose: (...counts: readonly number[]) => number) =>
    Object.fromEntries(
      names
        .map((name) => [name, choose(...runs.map((run) => run[name] ?? 0))] as const)
        .filter(([, count]) => count > 0),
    );
  return { least: of(Math.min), most: of(Math.max) };
}

function allowedFor({
  modules,
  bytes,
  functions,
  builtins,
  processes,
  files,
  syncs,
  stats,
  read,
}: Use): Allowed {
  const names = Object.keys(modules.most);
  return {
    bytes: roundedUp(totalOf(bytes.most), STEPS.bytes),
    functions: roundedUp(totalOf(functions.most), STEPS.functions),
    syncs: syncs.most,
    stats: roundedUp(totalOf(stats.most), STEPS.stats),
    read: roundedUp(totalOf(read.most), STEPS.read),
    processes: Object.keys(processes.most),
    builtins: Object.keys(builtins.most),
    packages: names.filter((name) => !isOurs(name)),
    files: files.most,
    modules: names.filter(isOurs),
    functions_by_folder: functions.most,
  };
}

/** The problems as sentences. Empty if the path stays within its budget, and uses it up. */
export function findProblems(name: string, use: Use, budget: Budget): readonly string[] {
  const allowed = budget.paths[name];
  if (allowed === undefined) return [`There is no budget for ${name}.`];
  return [...findAdded(name, use, budget, allowed), ...findUnused(name, use, budget, allowed)];
}

function findAdded(name: string, use: Use, budget: Budget, allowed: Allowed): readonly string[] {
  const way = `on the way of ${name}`;
  const added = [
    ...newIn([...allowed.modules, ...allowed.packages], use.modules).map((each) =>
      isOurs(each) ? each : `the package ${each}`,
    ),
    ...(budget.node === nodeVersion() ? newIn(allowed.builtins, use.builtins) : []).map(
      (each) => `node:${each}`,
    ),
    ...newIn(allowed.processes, use.processes).map((each) => `the process "${each}"`),
    ...newIn(Object.keys(allowed.files), use.files).map((each) => `the file ${each}`),
    ...newIn(Object.keys(allowed.syncs), use.syncs).map((each) => `the sync of ${each}`),
  ].map((each) => `${each} is new ${way}.`);
  const more = [
    ...moreIn(use.files.least, allowed.files).map(
      ([file, counts]) => `${file} is opened ${counts}`,
    ),
    ...moreIn(use.syncs.least, allowed.syncs).map(
      ([file, counts]) => `${file} is synced ${counts}`,
    ),
  ].map((each) => `${each} ${way}.`);
  const [bytes, functions] = [totalOf(use.bytes.least), totalOf(use.functions.least)];
  const [stats, read] = [totalOf(use.stats.least), totalOf(use.read.least)];
  return [
    ...added,
    ...more,
    ...(bytes > allowed.bytes ? [over(name, "bytes of JavaScript", bytes, allowed.bytes)] : []),
    ...(stats > allowed.stats ? [over(name, "looks at files", stats, allowed.stats)] : []),
    ...(read > allowed.read ? [over(name, "bytes of files", read, allowed.read)] : []),
    ...(functions > allowed.functions
      ? [
          `${over(name, "functions", functions, allowed.functions)} ` +
            `More than before: ${grownIn(use.functions.least, allowed.functions_by_folder)}.`,
        ]
      : []),
  ];
}

/** A budget with room for what is no longer used would let it return. */
function findUnused(name: string, use: Use, budget: Budget, allowed: Allowed): readonly string[] {
  const gone = [
    ...goneFrom([...allowed.modules, ...allowed.packages], use.modules),
    ...(budget.node === nodeVersion() ? goneFrom(allowed.builtins, use.builtins) : []),
    ...goneFrom(allowed.processes, use.processes),
  ].map((each) => `${each} is no longer needed on the way of ${name}.`);
  const numbers = [
    ["bytes", totalOf(use.bytes.most), allowed.bytes, STEPS.bytes],
    ["functions", totalOf(use.functions.most), allowed.functions, STEPS.functions],
    ["looks at files", totalOf(use.stats.most), allowed.stats, BESIDE.stats],
    ["bytes of files", totalOf(use.read.most), allowed.read, STEPS.read],
    ["opened files", totalOf(use.files.most), totalOf(allowed.files), BESIDE.files],
    ["syncs", totalOf(use.syncs.most), totalOf(allowed.syncs), BESIDE.syncs],
  ] as const;
  const less = numbers
    .filter(([, used, most, beside]) => used + beside < most * LEAST_USED)
    .map(
      ([what, used, most]) => `${name} needs only ${number(used)} ${what}, not ${number(most)}.`,
    );
  return [...gone, ...less];
}

function newIn(allowed: readonly string[], { least }: Range): readonly string[] {
  return Object.keys(least).filter((each) => !allowed.includes(each));
}

/** Such as `2 times instead of 1`. */
function moreIn(now: Counts, allowed: Counts): readonly (readonly [string, string])[] {
  return Object.entries(now).flatMap(([name, count]) => {
    const before = allowed[name] ?? count;
    return count > before ? [[name, `${count} times instead of ${before}`] as const] : [];
  });
}

function goneFrom(allowed: readonly string[], { most }: Range): readonly string[] {
  return allowed.filter((each) => most[each] === undefined);
}

function over(name: string, what: string, used: number, most: number): string {
  return `${name} needs ${number(used)} ${what}. Its budget is ${number(most)}.`;
}

/** The three folders or packages that grew most. */
function grownIn(now: Counts, before: Counts): string {
  const growth = Object.entries(now)
    .map(([group, count]) => [group, count - (before[group] ?? 0)] as const)
    .filter(([, more]) => more > 0)
    .toSorted(([, one], [, two]) => two - one);
  return growth
    .slice(0, 3)
    .map(([group, more]) => `${more} in ${group}`)
    .join(", ");
}

function roundedUp(value: number, step: number): number {
  return Math.ceil((value * ROOM) / step) * step;
}

function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function isOurs(module: string): boolean {
  return /^(?:src|scripts)\//.test(module);
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
