/** Turns the end of a process and its output into the result of an attempt. */
import { existsSync } from "node:fs";
import type {
  ProcessEnd,
  ProcessExit,
  ProcessOutput,
  ProcessRequest,
} from "../../process/index.ts";
import { type Outcome, parseOutcome } from "../../tool/index.ts";
import { assertNever, findJson, messageOf, ShapeError, systemErrorCode } from "../../util/index.ts";
import { describeError } from "../builtin/builtin-executor.ts";
import type { AttemptResult } from "../port.ts";

/** `name` is the one in the config, which the model uses. */
export function toAttemptResult(
  name: string,
  request: ProcessRequest,
  end: ProcessEnd,
): AttemptResult {
  switch (end.type) {
    case "cancelled":
      return { type: "cancelled" };
    case "not_started":
      return {
        type: "error",
        content: `Tool '${name}' was not started: ${describeStartFailure(request, end.error)}`,
      };
    case "timed_out": {
      const seconds = (request.timeoutMs ?? 0) / 1000;
      return failure(`Tool '${name}' was stopped: it took longer than ${seconds} s.`, end);
    }
    case "exited":
      return toExitResult(name, end.exit, end);
    default:
      return assertNever(end);
  }
}

/** An outcome counts whatever the exit status is; any other output is a success or failure by its status. */
function toExitResult(name: string, exit: ProcessExit, output: ProcessOutput): AttemptResult {
  const outcome = readOutcome(output);
  switch (outcome.type) {
    case "success":
      return outcome;
    case "error":
      return { type: "error", content: describeError(outcome) };
    case "needs_input":
      // Who asks is never read from the output.
      return { ...outcome, source: { source: "tool", name } };
    case "malformed": {
      const content = `The output of tool '${name}' is malformed: ${outcome.problem}.`;
      return { type: "error", content };
    }
    case "none":
      return "status" in exit && exit.status === 0
        ? { type: "success", content: output.stdout.toText() }
        : failure(`Tool '${name}' execution failed.`, output, exit);
    default:
      return assertNever(outcome);
  }
}

/** Tells the model everything that is known about a process that gave no outcome, as JSON. */
function failure(message: string, output: ProcessOutput, exit?: ProcessExit): AttemptResult {
  const [stderr, stdout] = [output.stderr.toText(), output.stdout.toText()];
  return { type: "error", content: JSON.stringify({ message, ...exit, stderr, stdout }) };
}

type ReadOutcome =
  | Outcome
  | { readonly type: "malformed"; readonly problem: string }
  /** Any other text. */
  | { readonly type: "none" };

function readOutcome({ stdout }: ProcessOutput): ReadOutcome {
  const text = stdout.toText();
  if (stdout.isTruncated) {
    const isOutcome = /^\s*\{\s*"type"\s*:\s*"(?:success|error|needs_input)"/.test(text);
    return isOutcome ? { type: "malformed", problem: "it is too long" } : { type: "none" };
  }
  try {
    return parseOutcome(findJson(text)) ?? { type: "none" };
  } catch (error) {
    if (error instanceof ShapeError) return { type: "malformed", problem: error.message };
    throw error;
  }
}

/** Why a program could not be started, and what to do about it. */
function describeStartFailure({ program, cwd }: ProcessRequest, error: unknown): string {
  switch (systemErrorCode(error)) {
    case "ENOENT":
      if (!existsSync(cwd)) return `the folder ${cwd} does not exist.`;
      // The system reports the same for a script whose interpreter is missing.
      return program.includes("/")
        ? `program ${program}, or the interpreter of this script, not found (from ${cwd}).`
        : `program ${program} not found in PATH. Install it, or use its full path.`;
    case "EACCES":
      return `${program} is not executable. Make it executable, for instance with \`chmod +x\`.`;
    case "E2BIG":
      return (
        "its command line is longer than the system allows. " +
        "Let it read its arguments from standard input instead."
      );
    case "ERR_INVALID_ARG_VALUE":
      return "its program is empty, or its command line contains a NUL character.";
    default:
      return `${messageOf(error)}.`;
  }
}
