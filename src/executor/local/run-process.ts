/**
 * Runs one program to its end, whatever kind of end that is. It owns the process and its pipes; what
 * the output means is decided elsewhere.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { guardGroup, MAX_TIMER_MS } from "../../util/index.ts";
import { CappedOutput } from "./capped-output.ts";
import { LineReader } from "./line-reader.ts";
import { endGroup } from "./process-group.ts";
import type { RenderedCommand } from "./render-command.ts";

export interface ProcessRequest {
  readonly command: RenderedCommand;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** All of its standard input. Whether it is read is the program's affair. */
  readonly input: string;
  readonly signal: AbortSignal;
  /** None if absent or zero. */
  readonly timeoutMs?: number;
  /** For each line on standard error, while it runs. */
  readonly onLine?: (line: string) => void;
  readonly limits: ProcessLimits;
}

export interface ProcessLimits {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** From the request to end until it is enforced. */
  readonly killGraceMs: number;
  /** How long others may hold the pipes open when the program itself has ended. */
  readonly pipeGraceMs: number;
}

export interface ProcessOutput {
  readonly stdout: CappedOutput;
  readonly stderr: CappedOutput;
}

export type ProcessEnd =
  | { readonly type: "not_started"; readonly error: unknown }
  | ({ readonly type: "exited"; readonly exit: ProcessExit } & ProcessOutput)
  | ({ readonly type: "timed_out" } & ProcessOutput)
  | { readonly type: "cancelled" };

export type ProcessExit = { readonly status: number } | { readonly signal: string };

/** Never throws. After an abort or a timeout it resolves when the whole process group was ended. */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  if (request.signal.aborted) return { type: "cancelled" };
  using guard = guardGroup();
  const child = start(request, guard.variables);
  if ("error" in child) return { type: "not_started", error: child.error };
  guard.hold(child.pid);
  const exited = exitOf(child);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const output = readOutput(child, request);
  child.stdin.on("error", () => undefined); // It has ended without reading all of it.
  child.stdin.end(request.input);
  const interruption = watchFor(request);
  const first = await Promise.race([
    exited.then((end) => afterPipes(end, closed, request.limits)),
    interruption.happened,
  ]);
  interruption.stopWatching();
  if (typeof first === "string" && child.pid !== undefined) {
    await endGroup({ pid: child.pid, exited }, request.limits.killGraceMs);
  }
  for (const pipe of child.stdio) pipe?.destroy();
  if (first === "cancelled") return { type: "cancelled" };
  if (first === "timed_out") return { type: "timed_out", ...output };
  return "error" in first
    ? { type: "not_started", ...first }
    : { type: "exited", exit: first, ...output };
}

interface StartError {
  readonly error: unknown;
}

function start(
  { command, cwd, variables }: ProcessRequest,
  added: ProcessRequest["variables"],
): ChildProcessWithoutNullStreams | StartError {
  try {
    const env = { ...variables, ...added };
    // A group of its own: it is ended as a whole, and a Ctrl-C in the terminal is ours to pass on.
    return spawn(command.program, command.args, { cwd, env, detached: true });
  } catch (error) {
    return { error };
  }
}

function exitOf(child: ChildProcessWithoutNullStreams): Promise<ProcessExit | StartError> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ error }));
    child.once("exit", (status, signal) =>
      resolve(signal === null ? { status: status ?? 0 } : { signal }),
    );
  });
}

function readOutput(child: ChildProcessWithoutNullStreams, request: ProcessRequest): ProcessOutput {
  const { limits, onLine } = request;
  const stdout = new CappedOutput(limits.stdoutBytes);
  const stderr = new CappedOutput(limits.stderrBytes);
  child.stdout.on("data", (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.add(chunk));
  if (onLine !== undefined) {
    const lines = new LineReader(onLine);
    child.stderr.on("data", (chunk: Buffer) => lines.add(chunk));
    child.stderr.on("end", () => lines.end());
  }
  return { stdout, stderr };
}

/** Waits for the rest of the output, but not for a process in the background that keeps it open. */
async function afterPipes<End extends ProcessExit | StartError>(
  end: End,
  closed: Promise<unknown>,
  { pipeGraceMs }: ProcessLimits,
): Promise<End> {
  if ("error" in end) return end;
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  // Behind the timer, what has arrived meanwhile is still read.
  const timer = setTimeout(() => setImmediate(resolve), pipeGraceMs);
  await Promise.race([closed, isOver]);
  clearTimeout(timer);
  return end;
}

type Interruption = "cancelled" | "timed_out";

function watchFor({ signal, timeoutMs = 0 }: ProcessRequest): {
  readonly happened: Promise<Interruption>;
  readonly stopWatching: () => void;
} {
  const { promise: happened, resolve } = Promise.withResolvers<Interruption>();
  const onAbort = () => resolve("cancelled");
  signal.addEventListener("abort", onAbort, { once: true });
  const timer =
    timeoutMs > 0 ? setTimeout(resolve, Math.min(timeoutMs, MAX_TIMER_MS), "timed_out") : undefined;
  const stopWatching = () => {
    signal.removeEventListener("abort", onAbort);
    clearTimeout(timer);
  };
  return { happened, stopWatching };
}
