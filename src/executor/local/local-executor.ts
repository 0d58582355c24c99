/**
 * Runs a tool that is a command of the user's. It owns the protocol with the process: what the process
 * is given, and how its output is read. Questions and permission are decided elsewhere.
 */
import type { ToolSettings } from "../../config/index.ts";
import { type ProcessLimits, runProcess } from "../../process/index.ts";
import { type JsonObject, messageOf } from "../../util/index.ts";
import type { AttemptRequest, AttemptResult, Executor } from "../port.ts";
import { toAttemptResult } from "./process-result.ts";
import { renderCommand } from "./render-command.ts";
import type { TemplateContext } from "./template.ts";

/** The part of a tool's settings that matters when it is run. */
export type LocalToolSettings = Pick<
  ToolSettings,
  "name" | "source" | "command" | "options" | "timeoutMs"
>;

/** Where local tools run, and within which limits. */
export interface LocalEnvironment extends ToolPlace {
  /** The process inherits them unchanged; only a mark of its process group is added. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Override the defaults. */
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

/** Runs a command, and reads its output as an outcome. */
export function createLocalExecutor(
  settings: LocalToolSettings,
  environment: LocalEnvironment,
): Executor {
  return {
    attempt: async (request) => {
      try {
        return await runTool(settings, environment, request);
      } catch (error) {
        return notRun(settings.name, messageOf(error));
      }
    },
  };
}

/** Throws `TemplateError`. */
async function runTool(
  settings: LocalToolSettings,
  environment: LocalEnvironment,
  request: AttemptRequest,
): Promise<AttemptResult> {
  const { name, command, timeoutMs } = settings;
  if (command === undefined) {
    return notRun(name, `it has no command. Set \`conversation.tools.${name}.command\`.`);
  }
  const context = templateContext(settings, request, environment);
  const processRequest = {
    ...(await renderCommand(command, context)),
    cwd: environment.workspaceRoot,
    variables: environment.variables,
    input: `${JSON.stringify(toolDocument(settings, request, environment))}\n`,
    signal: request.signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(request.onProgress !== undefined && { onLine: request.onProgress }),
    limits: { ...DEFAULT_LIMITS, ...environment.limits },
  };
  return toAttemptResult(name, processRequest, await runProcess(processRequest));
}

function notRun(name: string, problem: string): AttemptResult {
  return { type: "error", content: `Tool '${name}' was not run: ${problem}` };
}

/** What templates may use. Everyone on the machine can read a command line, so it has no secrets. */
function templateContext(
  settings: LocalToolSettings,
  request: AttemptRequest,
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
  { arguments: args, answers, notes }: AttemptRequest,
  place: ToolPlace,
): JsonObject {
  // With the source `local.<name>`, the process sees that name.
  const seenAs = source.type === "local" ? (source.tool ?? name) : name;
  return {
    tool: {
      name: seenAs,
      arguments: args,
      answers,
      ...(Object.keys(notes).length > 0 && { notes }),
      options,
    },
    context: {
      action: "run",
      root: place.workspaceRoot,
      workspace_id: place.workspaceId,
      conversation_id: place.conversationId,
    },
  };
}
