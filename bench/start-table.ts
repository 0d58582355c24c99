/**
 * `--start-table`: where `jp query` spends its time until the request is sent. Each profile sample counts for the
 * step of the code that was running, or that called Node. Times are medians.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { BuiltFile, builtFileOf, groupOf } from "./budget/origins.ts";
import { JP, run, WARM_UP_ROUNDS } from "./measure.ts";
import { ModelServer } from "./model-server.ts";
import { configure } from "./query.ts";
import { isSmall } from "./small.ts";
import { stampNow } from "./stamp.ts";
import { median } from "./statistics.ts";
import type { Table } from "./table.ts";
import { benchEnvironment, inFolder } from "./workspace.ts";

const ROUNDS = isSmall ? 1 : 15;
const HOOK = path.join(import.meta.dirname, "budget", "hook.cjs");

/** In the table's order. Folders and packages are mapped by `groupOf`. */
const STEPS = {
  node: "Node itself, up to jp's first line",
  builtins: "loading more modules of Node",
  loading: "reading and compiling jp's files",
  topOfConfig: "running their top level: config and its schemas",
  topOfProvider: "running their top level: provider and its packages",
  topOfRest: "running their top level: the rest",
  cli: "command line and options",
  config: "config",
  trust: "trust",
  storage: "workspace, record and lock",
  runtime: "surroundings, and putting the turn together",
  tools: "tools",
  turn: "turn and its events",
  provider: "provider, up to the request",
  rest: "other code of jp",
  internals: "other code of Node",
  native: "outside of JavaScript",
  garbage: "garbage collection",
  idle: "waiting for git, the disk and timers",
} as const;

type Step = keyof typeof STEPS;

const STEP_OF: Readonly<Record<string, Step>> = {
  "src/cli": "cli",
  commander: "cli",
  "src/surfaces/terminal": "cli",
  "src/settings/config": "config",
  valibot: "config",
  "smol-toml": "config",
  "src/settings/trust": "trust",
  "src/stores": "storage",
  "src/assemble": "runtime",
  "src/reach/attachment": "runtime",
  "src/record/tool": "tools",
  "src/reach/executor": "tools",
  "src/reach/mcp": "tools",
  "src/reach/process": "tools",
  "src/reach/json-schema": "tools",
  "src/core/agent": "turn",
  "src/core/answer-model": "turn",
  "src/record/conversation": "turn",
  "src/reach/provider": "provider",
  zod: "provider",
  "eventsource-parser": "provider",
};

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: Frame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface Frame {
  readonly functionName: string;
  readonly url: string;
  /** Both start at 0. */
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** A title, and the table. */
export async function measureStart(): Promise<{ readonly title: string; readonly table: Table }> {
  await using server = await ModelServer.start();
  return await inFolder(async (folder) => {
    const words = [JP, ...configure(server, folder, ["--new"])];
    const env = benchEnvironment(folder);
    const report = path.join(folder, "profile.json");
    const hook = JSON.stringify({ report, until: "request", isProfiled: true });
    const profiled: Readonly<Record<Step, number>>[] = [];
    const plain: number[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      const { startedAt } = await run(process.execPath, words, { env });
      const arrivedAt = server.askedAt;
      const watched = { ...env, JP_BENCH_HOOK: hook };
      await run(process.execPath, ["--require", HOOK, ...words], { env: watched });
      if (round < WARM_UP_ROUNDS) continue;
      plain.push(arrivedAt - startedAt);
      profiled.push(stepsOf(JSON.parse(readFileSync(report, "utf8")) as Report)); // Written by the hook.
    }
    return { title: titleNow(), table: tableOf(profiled, plain) };
  });
}

interface Report {
  /** Milliseconds since the process started. */
  readonly startedAt: number;
  readonly profile: Profile;
}

function titleNow(): string {
  const { date, commit } = stampNow();
  const node = `Node ${process.versions.node}`;
  return `Measured on ${date}, at \`${commit}\`, on ${node}, ${process.platform} ${process.arch}; medians of ${ROUNDS} runs.`;
}

function tableOf(
  profiled: readonly Readonly<Record<Step, number>>[],
  plain: readonly number[],
): Table {
  const rows = (Object.keys(STEPS) as Step[]).map((step) => [
    STEPS[step],
    format(median(profiled.map((steps) => steps[step]))),
  ]);
  const sums = profiled.map((steps) => Object.values(steps).reduce((sum, ms) => sum + ms, 0));
  return [
    ["step", "ms"],
    ...rows,
    ["in all, while it is profiled", format(median(sums))],
    ["in all, without a profile, until the server has the request", format(median(plain))],
  ];
}

function format(milliseconds: number): string {
  return milliseconds.toFixed(1);
}

/** In milliseconds. */
function stepsOf({ startedAt, profile }: Report): Readonly<Record<Step, number>> {
  const steps = Object.fromEntries(Object.keys(STEPS).map((step) => [step, 0])) as Record<
    Step,
    number
  >;
  steps.node = startedAt;
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  for (const [index, id] of profile.samples.entries()) {
    const stack = stackOf(id, parents, frames);
    // The first one includes the time the profiler took to start.
    if (index === 0 || stack.some(({ url }) => url.endsWith(path.basename(HOOK)))) continue;
    steps[stepOf(stack)] += (profile.timeDeltas[index] ?? 0) / 1e3;
  }
  return steps;
}

/** Innermost first. */
function stackOf(
  id: number,
  parents: ReadonlyMap<number, number>,
  frames: ReadonlyMap<number, Frame>,
): readonly Frame[] {
  const stack: Frame[] = [];
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const frame = frames.get(at);
    if (frame !== undefined) stack.push(frame);
  }
  return stack;
}

function stepOf(stack: readonly Frame[]): Step {
  const leaf = stack[0]?.functionName;
  if (leaf === "(idle)") return "idle";
  if (leaf === "(garbage collector)") return "garbage";
  if (leaf === "(program)" || leaf === "(root)") return "native";
  for (const [index, frame] of stack.entries()) {
    if (frame.functionName === "compileForInternalLoader") return "builtins";
    if (frame.url.startsWith("node:internal/modules/")) return "loading";
    const file = builtFileOf(frame.url);
    if (file === undefined) continue;
    const module = moduleOf(frame) ?? "";
    if (module === LOADER) return "loading";
    // Our loader runs a file's top level, and what that calls is part of it.
    const isTopLevel = stack.slice(index + 1).some((outer) => moduleOf(outer) === LOADER);
    const group = groupOf(module);
    const step = STEP_OF[group] ?? (group.startsWith("@ai-sdk/") ? "provider" : "rest");
    if (!isTopLevel) return step;
    if (step === "config") return "topOfConfig";
    return step === "provider" ? "topOfProvider" : "topOfRest";
  }
  return "internals";
}

const LOADER = "src/cli/code-loader.ts";

function moduleOf({ url, lineNumber, columnNumber }: Frame): string | undefined {
  const file = builtFileOf(url);
  return file === undefined ? undefined : fileOf(file).moduleOf(lineNumber, columnNumber);
}

const files = new Map<string, BuiltFile>();

function fileOf(file: string): BuiltFile {
  const built = files.get(file) ?? new BuiltFile(file);
  files.set(file, built);
  return built;
}
