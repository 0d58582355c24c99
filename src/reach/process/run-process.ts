/** Runs one program until it ends in any way. The caller interprets the output. */
import { CappedOutput, MAX_TIMER_MS, readTextLines } from "../../util/index.ts";
import { type ProcessExit, ProcessGroup, type Program } from "./process-group.ts";

export interface ProcessRequest extends Program {
  /** All of its standard input. The program need not read it. */
  readonly input: string;
  readonly signal: AbortSignal;
  /** No limit if absent or zero. */
  readonly timeoutMs?: number;
  /** Called for each line on standard error, while it runs. */
  readonly onLine?: (line: string) => void;
  /** Called with all output, standard or error, in order of arrival. */
  readonly onOutput?: (chunk: Buffer) => void;
  /** When the program has exited, terminate the rest of its group. */
  readonly endsGroup?: boolean;
  readonly limits: ProcessLimits;
}

export interface ProcessLimits {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** From SIGTERM to SIGKILL. */
  readonly killGraceMs: number;
  /** How long others may hold the pipes open after the program has exited. */
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

const MAX_LINE_LENGTH = 500;

/** Never throws. After an abort or a timeout it resolves when the whole process group has ended. */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const { signal, input, limits } = request;
  if (signal.aborted) return { type: "cancelled" };
  const interruption = watchForInterruption(request);
  try {
    using group = await ProcessGroup.start(request);
    const output = readOutput(group, request);
    group.endInput(input);
    const end = await Promise.race([group.finished(limits.pipeGraceMs), interruption.happened]);
    if (typeof end === "string" || request.endsGroup === true)
      await group.terminate(limits.killGraceMs);
    if (typeof end !== "string") return { type: "exited", exit: end, ...output };
    group.closePipes();
    return end === "cancelled" ? { type: "cancelled" } : { type: "timed_out", ...output };
  } catch (error) {
    return { type: "not_started", error };
  } finally {
    interruption.stopWatching();
  }
}

function readOutput(group: ProcessGroup, request: ProcessRequest): ProcessOutput {
  const { limits, onLine, onOutput } = request;
  const stdout = new CappedOutput(limits.stdoutBytes);
  const stderr = new CappedOutput(limits.stderrBytes);
  group.onStdout((chunk) => stdout.add(chunk));
  group.onStderr((chunk) => stderr.add(chunk));
  if (onOutput !== undefined) {
    group.onStdout(onOutput);
    group.onStderr(onOutput);
  }
  if (onLine !== undefined) {
    const lines = readTextLines(onLine, MAX_LINE_LENGTH);
    group.onStderr(
      (chunk) => lines.add(chunk),
      () => lines.end(),
    );
  }
  return { stdout, stderr };
}

type Interruption = "cancelled" | "timed_out";

function watchForInterruption({ signal, timeoutMs = 0 }: ProcessRequest): {
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
