/** How a process has ended and what it has printed, as the result of an attempt. */
import { type Outcome, parseOutcome } from "../../tool/index.ts";
import { assertNever, ShapeError } from "../../util/index.ts";
import { describeError } from "../builtin/builtin-executor.ts";
import type { AttemptResult } from "../port.ts";
import type { ProcessEnd, ProcessExit, ProcessOutput, ProcessRequest } from "./run-process.ts";
import { describeStartFailure } from "./start-failure.ts";

/** `name` is the one in the config, under which the model knows the tool. */
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

/** An outcome counts whatever the exit status is; any other output is as good as the status. */
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

/** What the model is told of a process that gave no outcome: all that is known, as JSON. */
function failure(message: string, output: ProcessOutput, exit?: ProcessExit): AttemptResult {
  const [stderr, stdout] = [output.stderr.toText(), output.stdout.toText()];
  return { type: "error", content: JSON.stringify({ message, ...exit, stderr, stdout }) };
}

type ReadOutcome =
  | Outcome
  | { readonly type: "malformed"; readonly problem: string }
  /** Text that stands for itself. */
  | { readonly type: "none" };

function readOutcome({ stdout }: ProcessOutput): ReadOutcome {
  const text = stdout.toText();
  if (stdout.isCut) {
    const isOutcome = /^\s*\{\s*"type"\s*:\s*"(?:success|error|needs_input)"/.test(text);
    const problem = "there is too much of it to be read";
    return isOutcome ? { type: "malformed", problem } : { type: "none" };
  }
  const document = parseJson(text);
  try {
    return parseOutcome(document) ?? { type: "none" };
  } catch (error) {
    if (error instanceof ShapeError) return { type: "malformed", problem: error.message };
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
