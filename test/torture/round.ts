/**
 * One round: a turn with a fault, its continuation by another process, the next turn of the conversation,
 * and the checks after them.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { isJsonObject } from "../../src/util/index.ts";
import { problemsOfRecord } from "./check-record.ts";
import { endOrphans, findFilesWith, findStrayFiles } from "./leftovers.ts";
import { makePlace, type Workplace } from "./place.ts";
import type { Fault, TurnPlan } from "./plan.ts";
import { SECRET } from "./secret.ts";
import { runTurnProcess, type TurnRun } from "./turn-process.ts";

export interface Round {
  /** What happens in the round. */
  readonly name: string;
  readonly fault: Fault;
  readonly killAfterMs?: number;
  readonly server: TurnPlan["server"];
  readonly clockJumpsAfter?: number;
  /** Whether an undisturbed turn comes first. */
  readonly isContinued?: boolean;
  /** Breaks the environment for the first turn, and returns how to restore it. */
  readonly spoil?: (place: Workplace) => () => void;
}

export interface RoundResult {
  readonly name: string;
  /** Whether the turn was killed or failed. */
  readonly isHit: boolean;
  /** The number of events acknowledged before. */
  readonly recorded: number;
  /** Problems, as sentences. */
  readonly problems: readonly string[];
}

const FILES = ["events.json", "metadata.json", "base_config.json"];

export async function runRound(round: Round, program: string): Promise<RoundResult> {
  const place = makePlace();
  try {
    const first = await runFirst(round, place, program);
    const orphans = await endOrphans(place);
    const halves = findHalfMade(place);
    const resumed = await resume(round, place, program);
    const orphansOfResumed = await endOrphans(place);
    const runs = localRuns(place);
    const next = await runTurnProcess(planOf(place, "next"), { program, round: place.round });
    const problems = [
      ...unexpectedEnd(first),
      ...orphans.map((process) => `left running: ${process}`),
      ...halves.map((folder) => `half a conversation: ${folder}`),
      ...failureOf("the continued turn", resumed),
      ...orphansOfResumed.map((process) => `left running by the continued turn: ${process}`),
      ...failureOf("the next turn", next),
      ...problemsOfRecords(place, hasLooseEnd(round.fault, first), [first, resumed, next]),
      ...(await problemsAfter(place)),
      ...ranTwice(runs, round.isContinued === true ? 2 : 1),
      ...ranOther(localRuns(place).slice(runs.length)),
    ];
    const isHit = first.wasKilled || first.failure !== undefined;
    return { name: round.name, isHit, recorded: first.recorded.length, problems };
  } finally {
    place.remove();
  }
}

async function runFirst(round: Round, place: Workplace, program: string): Promise<TurnRun> {
  const { fault, server, clockJumpsAfter, killAfterMs, isContinued = false, spoil } = round;
  const before = isContinued
    ? await runTurnProcess(planOf(place, "first"), { program, round: place.round })
    : undefined;
  const restore = spoil?.(place);
  try {
    const run = await runTurnProcess(
      {
        ...planOf(place, "first"),
        fault,
        server,
        ...(clockJumpsAfter !== undefined && { clockJumpsAfter }),
      },
      { program, round: place.round, ...(killAfterMs !== undefined && { killAfterMs }) },
    );
    return { ...run, recorded: [...(before?.recorded ?? []), ...run.recorded] };
  } finally {
    restore?.();
  }
}

/** Nothing can be continued if there is no conversation yet. */
async function resume(
  { server }: Round,
  place: Workplace,
  program: string,
): Promise<TurnRun | undefined> {
  const plan = planOf(place, "first");
  if (plan.conversation === undefined) return undefined;
  const options = { program, round: place.round };
  return runTurnProcess({ ...plan, server, isResumed: true }, options);
}

function failureOf(turn: string, run: TurnRun | undefined): string[] {
  if (run === undefined || (run.end !== undefined && run.failure === undefined)) return [];
  return [`${turn} has failed: ${run.failure?.message ?? run.errors}`];
}

/** Without faults, in the existing conversation if there is one. */
function planOf(place: Workplace, turn: TurnPlan["turn"]): TurnPlan {
  const { root, data, notes } = place;
  const [folder] = conversationFolders(place);
  return {
    root,
    data,
    notes,
    turn,
    fault: { type: "none" },
    server: "none",
    ...(folder !== undefined && { conversation: conversationOf(folder) }),
  };
}

/** A turn in a bad environment either completes or fails with a specific error. */
function unexpectedEnd({ failure, wasKilled, isHanging, end, errors }: TurnRun): string[] {
  if (isHanging) return ["it hangs"];
  if (wasKilled) return [];
  if (end === undefined) return [`it has crashed: ${errors}`];
  if (failure === undefined || failure.code === "write_failed") return [];
  return [`it has ended with ${failure.code}: ${failure.message}`];
}

async function problemsAfter(place: Workplace): Promise<string[]> {
  const { root, data, folder } = place;
  const left = await endOrphans(place);
  return [
    ...left.map((process) => `left running by the next turn: ${process}`),
    ...findStrayFiles(root, data).map((file) => `left behind: ${path.relative(folder, file)}`),
    ...findFilesWith(folder, SECRET).map((file) => `a secret is in ${file}`),
  ];
}

/** Events that were being written, or that could not be rolled back. */
function hasLooseEnd(fault: Fault, { wasKilled }: TurnRun): boolean {
  return wasKilled || (fault.type === "error" && fault.isLasting);
}

/** All of them are in the same, only conversation. */
function problemsOfRecords(
  place: Workplace,
  mayHaveMore: boolean,
  [first, resumed, next]: readonly [TurnRun, TurnRun | undefined, TurnRun],
): readonly string[] {
  const folders = conversationFolders(place);
  const [folder, ...others] = folders;
  if (folder === undefined || others.length > 0) return [`there are ${folders.length} records`];
  return problemsOfRecord({
    conversation: conversationOf(folder),
    text: readFileSync(path.join(folder, "events.json"), "utf8"),
    first: first.recorded,
    next: [...(resumed?.recorded ?? []), ...next.recorded],
    mayHaveMore,
  });
}

/** Folders that look like a conversation but are not. */
function findHalfMade(place: Workplace): string[] {
  return conversationFolders(place).filter((folder) => {
    const files = readdirSync(folder);
    return !FILES.every((file) => files.includes(file));
  });
}

export function conversationFolders({ root }: Workplace): string[] {
  const parent = path.join(root, ".jp", "conversations");
  const names = existsSync(parent) ? readdirSync(parent) : [];
  return names.filter((name) => /^\d/.test(name)).map((name) => path.join(parent, name));
}

export function conversationOf(folder: string): string {
  return `jp-c${/^\d+/.exec(path.basename(folder))?.[0] ?? ""}`;
}

/** A start of the local tool: by which call, and whether it had its answer. */
interface LocalRun {
  readonly call: unknown;
  readonly isAnswered: boolean;
}

/** In order. */
function localRuns({ notes }: Workplace): LocalRun[] {
  const file = path.join(notes, "local");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  // A tool that never got its input has logged an empty line.
  return lines.filter(Boolean).map((line) => {
    const document = JSON.parse(line) as unknown;
    const tool = isJsonObject(document) ? document["tool"] : undefined;
    const given = isJsonObject(tool) ? tool["arguments"] : undefined;
    const answers = isJsonObject(tool) ? tool["answers"] : undefined;
    const isAnswered = isJsonObject(answers) && Object.keys(answers).length > 0;
    return { call: isJsonObject(given) ? given["call"] : undefined, isAnswered };
  });
}

/** A call that may have run is not run again: the person always says no to that. */
function ranTwice(runs: readonly LocalRun[], turns: number): string[] {
  const texts = runs.map((run) => JSON.stringify(run));
  const twice = texts.filter((text) => texts.filter((each) => each === text).length > turns);
  return [...new Set(twice)].map((text) => `run more than once: ${text}`);
}

/** The next turn has one call, which asks once. */
function ranOther(runs: readonly LocalRun[]): string[] {
  const calls = runs.map(({ call }) => String(call)).join(", ");
  return calls === "build_3, build_3" ? [] : [`the next turn has run ${calls}`];
}
