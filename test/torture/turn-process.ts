/** A process that runs a turn, and its reports until it exits or is killed. */
import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { JsonObject } from "../../src/util/index.ts";
import type { DecisionPlan, Report, TurnPlan } from "./plan.ts";

export interface TurnRun {
  readonly wasKilled: boolean;
  /** It was killed because it hung. */
  readonly isHanging: boolean;
  /** In the order of their acknowledgement. */
  readonly recorded: readonly JsonObject[];
  /** How the turn ended, if it did. */
  readonly ended?: string;
  /** The requests that the process has answered. */
  readonly answered: readonly string[];
  readonly failure?: { readonly code: string; readonly message: string };
  /** Absent if the turn did not complete. */
  readonly end?: { readonly points: readonly string[]; readonly milliseconds: number };
  readonly errors: string;
}

export interface RunOptions {
  readonly program: string;
  /** Variables for the process, which most of its children inherit. */
  readonly round: string;
  /** When to kill it, after its turn has started. */
  readonly killAfterMs?: number;
  /** Told of each acknowledged event. */
  readonly onRecorded?: (element: JsonObject) => void;
}

/** A turn that takes longer hangs. */
const HANGING_MS = 60_000;
const NODE_COMPILE_CACHE = path.join(import.meta.dirname, "../../node_modules/.cache/node-compile");

export async function runTurnProcess(
  plan: TurnPlan | DecisionPlan,
  options: RunOptions,
): Promise<TurnRun> {
  const child = spawn(process.execPath, [options.program, JSON.stringify(plan)], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE, TORTURE_ROUND: options.round },
    cwd: "/",
  });
  let errors = "";
  child.stderr?.on("data", (piece) => (errors += piece));
  const kill = () => void child.kill("SIGKILL");
  let isHanging = false;
  const giveUp = () => {
    isHanging = true;
    kill();
  };
  const timers = [setTimeout(giveUp, HANGING_MS)];
  const reports: Report[] = [];
  // Only reports use this stream. Those sent before a kill can still be read.
  const lines = createInterface({ input: child.stdio[3] as Readable });
  lines.on("line", (line) => {
    const report = JSON.parse(line) as Report; // Our own program has written it.
    reports.push(report);
    if (report.type === "recorded") options.onRecorded?.(report.element);
    if (report.type !== "ready" || options.killAfterMs === undefined) return;
    timers.push(setTimeout(kill, options.killAfterMs));
  });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("close", (_status, signal) => resolve(signal === "SIGKILL"));
  const wasKilled = await promise;
  for (const timer of timers) clearTimeout(timer);
  return { ...gather(reports), wasKilled, isHanging, errors };
}

function gather(
  reports: readonly Report[],
): Pick<TurnRun, "recorded" | "answered" | "ended" | "failure" | "end"> {
  const failure = reports.find((report) => report.type === "failed");
  const end = reports.find((report) => report.type === "done");
  const ended = reports.find((report) => report.type === "ended");
  return {
    recorded: reports.flatMap((report) => (report.type === "recorded" ? [report.element] : [])),
    answered: reports.flatMap((report) =>
      report.type === "answered" && report.as === "recorded" ? [report.id] : [],
    ),
    ...(ended !== undefined && { ended: ended.as }),
    ...(failure !== undefined && { failure }),
    ...(end !== undefined && { end }),
  };
}
