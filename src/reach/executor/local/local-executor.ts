/**
 * Runs a tool that is a command of the user's. It owns the protocol with the process: its input, and how its output is
 * read. Questions and permission are decided elsewhere.
 */
import { existsSync } from "node:fs";
import type { ToolSettings } from "../../../settings/config/index.ts";
import {
  type ProcessEnd,
  type ProcessExit,
  type ProcessLimits,
  type ProcessOutput,
  type ProcessRequest,
  runProcess,
} from "../../process/index.ts";
import { type Outcome, parseCallCheck, parseOutcome } from "../../../record/tool/index.ts";
import {
  assertNever,
  findJson,
  isNotLoaded,
  type JsonObject,
  messageOf,
  ShapeError,
  systemErrorCode,
} from "../../../util/index.ts";
import { toCheckResult, toErrorResult } from "../builtin/builtin-executor.ts";
import type {
  AttemptRequest,
  AttemptResult,
  CheckRequest,
  CheckResult,
  Executor,
} from "../port.ts";
import { renderCommand } from "./render-command.ts";
import type { TemplateContext } from "./template.ts";

/** The part of a tool's settings that matters at run time. */
export type LocalToolSettings = Pick<
  ToolSettings,
  "name" | "source" | "command" | "options" | "timeoutMs" | "hasCheck"
>;

/** Where local tools run, and their limits. */
export interface LocalEnvironment extends ToolPlace {
  /** The process inherits them unchanged, plus a marker for its process group. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The user's data folder, which keeps the digests of long files. Without it, they are kept for the process. */
  readonly dataFolder?: string | undefined;
  /** Overrides the defaults. */
  readonly limits?: Partial<ProcessLimits>;
}

interface ToolPlace {
  readonly workspaceRoot: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

const DEFAULT_LIMITS: ProcessLimits = {
  stdoutBytes: 1024 * 1024,
  stderrBytes: 64 * 1024,
  killGraceMs: 2000,
  pipeGraceMs: 250,
};

/** Runs a command and reads its output as an outcome. */
export function createLocalExecutor(
  settings: LocalToolSettings,
  environment: LocalEnvironment,
): Executor {
  return {
    attempt: async (request) => {
      try {
        return await runTool(settings, environment, request);
      } catch (error) {
        if (isNotLoaded(error)) throw error;
        return notRun(settings.name, messageOf(error));
      }
    },
    ...(settings.hasCheck === true && {
      check: async (request) => checkCall(settings, environment, request),
    }),
  };
}

/** Throws `TemplateError`. */
async function runTool(
  settings: LocalToolSettings,
  environment: LocalEnvironment,
  request: AttemptRequest,
): Promise<AttemptResult> {
  const { name, command } = settings;
  if (command === undefined) {
    return notRun(name, `it has no command. Set \`conversation.tools.${name}.command\`.`);
  }
  const processRequest = await toProcess({ ...settings, command }, environment, request);
  return toAttemptResult(name, processRequest, await runProcess(processRequest));
}

/** The common part of an attempt and a check. */
interface DocumentRequest extends Pick<
  AttemptRequest,
  "arguments" | "answers" | "secretAnswers" | "notes" | "bindings" | "idempotencyKey" | "signal"
> {
  readonly action?: "run" | "check";
  readonly onProgress?: (message: string) => void;
}

/** Throws `TemplateError`. */
async function toProcess(
  settings: LocalToolSettings & Required<Pick<LocalToolSettings, "command">>,
  environment: LocalEnvironment,
  request: DocumentRequest,
): Promise<ProcessRequest> {
  const { command, timeoutMs } = settings;
  return {
    ...(await renderCommand(command, () => templateContext(settings, request, environment))),
    cwd: environment.workspaceRoot,
    variables: environment.variables,
    input: `${JSON.stringify(toolDocument(settings, request, environment))}\n`,
    signal: request.signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(request.onProgress !== undefined && { onLine: request.onProgress }),
    limits: { ...DEFAULT_LIMITS, ...environment.limits },
  };
}

/** Runs the same command with the action `check`, so that it looks without acting. Any problem counts as a failed check. */
async function checkCall(
  settings: LocalToolSettings,
  environment: LocalEnvironment,
  request: CheckRequest,
): Promise<CheckResult> {
  const { command } = settings;
  if (command === undefined) return { type: "failed" };
  const given = { answers: {}, secretAnswers: [], notes: {}, action: "check" } as const;
  try {
    const call = await toProcess({ ...settings, command }, environment, { ...request, ...given });
    const end = await runProcess(call);
    if (end.type === "timed_out") return { type: "timed_out" };
    const isEnded = end.type === "exited" && "status" in end.exit && end.exit.status === 0;
    if (!isEnded || end.stdout.isTruncated) return { type: "failed" };
    return toCheckResult(parseCallCheck(findJson(end.stdout.toText())));
  } catch (error) {
    if (isNotLoaded(error)) throw error;
    return { type: "failed" };
  }
}

function notRun(name: string, problem: string): AttemptResult {
  return { type: "error", content: `Tool '${name}' was not run: ${problem}` };
}

/** The values for templates. Everyone on the machine can read a command line, so secrets are left out. */
function templateContext(
  settings: LocalToolSettings,
  request: DocumentRequest,
  place: ToolPlace,
): TemplateContext {
  const { secretAnswers } = request;
  const open = Object.entries(request.answers).filter(([id]) => !secretAnswers.includes(id));
  const document = toolDocument(settings, { ...request, answers: Object.fromEntries(open) }, place);
  return { document, secretAnswers };
}

/** The JSON document that the tool reads from standard input. */
function toolDocument(
  { name, source, options }: LocalToolSettings,
  { action = "run", arguments: args, answers, notes, bindings = {}, ...request }: DocumentRequest,
  place: ToolPlace,
): JsonObject {
  const { idempotencyKey } = request;
  // With the source `local.<name>`, the process sees that name.
  const seenAs = source.type === "local" ? (source.tool ?? name) : name;
  return {
    tool: {
      name: seenAs,
      arguments: args,
      answers,
      ...(Object.keys(notes).length > 0 && { notes }),
      ...(Object.keys(bindings).length > 0 && { bindings }),
      options,
    },
    context: {
      action,
      root: place.workspaceRoot,
      workspace_id: place.workspaceId,
      conversation_id: place.conversationId,
      ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    },
  };
}

/** `name` is the tool's name in the config, which the model uses. */
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

/** An outcome counts regardless of the exit status, which decides for any other output. */
function toExitResult(name: string, exit: ProcessExit, output: ProcessOutput): AttemptResult {
  const outcome = readOutcome(output);
  switch (outcome.type) {
    case "success":
      return outcome;
    case "error":
      return toErrorResult(outcome);
    case "needs_input":
      // The source of a question is never read from the output.
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

/** Tells the model everything known about a process that returned no outcome, as JSON. */
function failure(message: string, output: ProcessOutput, exit?: ProcessExit): AttemptResult {
  const [stderr, stdout] = [output.stderr.toText(), output.stdout.toText()];
  return { type: "error", content: JSON.stringify({ message, ...exit, stderr, stdout }) };
}

type ReadOutcome =
  | Outcome
  | { readonly type: "malformed"; readonly problem: string }
  /** Any other text. */
  | { readonly type: "none" };

const OUTCOME_START =
  /^\s*\{\s*"(?:type"\s*:\s*"(?:success|error|needs_input)"|content"\s*:\s*\[\s*\{\s*"type")/;

function readOutcome({ stdout }: ProcessOutput): ReadOutcome {
  const text = stdout.toText();
  if (stdout.isTruncated) {
    const isOutcome = OUTCOME_START.test(text);
    return isOutcome ? { type: "malformed", problem: "it is too long" } : { type: "none" };
  }
  try {
    return parseOutcome(findJson(text)) ?? { type: "none" };
  } catch (error) {
    if (error instanceof ShapeError) return { type: "malformed", problem: error.message };
    throw error;
  }
}

/** Explains why a program could not start, and how to fix it. */
function describeStartFailure({ program, cwd }: ProcessRequest, error: unknown): string {
  switch (systemErrorCode(error)) {
    case "ENOENT":
      if (!existsSync(cwd)) return `the folder ${cwd} does not exist.`;
      // The system reports the same error for a script whose interpreter is missing.
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
