/**
 * Runs a tool that is a command of the user's. It owns the protocol with the process: what goes in,
 * and what its end comes to. Who answers its questions, and whether it may run, is decided elsewhere.
 */
import type { ToolSettings } from "../../config/index.ts";
import type { AttemptRequest, AttemptResult, Executor } from "../port.ts";
import { messageOf } from "../../util/index.ts";
import { toAttemptResult } from "./process-result.ts";
import { renderCommand } from "./render-command.ts";
import { type ProcessLimits, type ProcessRequest, runProcess } from "./run-process.ts";
import { templateContext, toolDocument, type ToolPlace } from "./tool-document.ts";

/** The part of a tool's settings that matters when it is run. */
export type LocalToolSettings = Pick<
  ToolSettings,
  "name" | "source" | "command" | "options" | "timeoutMs"
>;

/** Where local tools run, and within which limits. */
export interface LocalEnvironment extends ToolPlace {
  /** The process inherits them as they are; only a mark of its process group is added. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Other than the usual ones. */
  readonly limits?: Partial<ProcessLimits>;
}

const LIMITS: ProcessLimits = {
  stdoutBytes: 1024 * 1024,
  stderrBytes: 64 * 1024,
  killGraceMs: 2000,
  pipeGraceMs: 250,
};

/** Runs a command, and reads what it writes as an outcome. */
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
  const processRequest: ProcessRequest = {
    command: await renderCommand(command, templateContext(settings, request, environment)),
    cwd: environment.workspaceRoot,
    variables: environment.variables,
    input: `${JSON.stringify(toolDocument(settings, request, environment))}\n`,
    signal: request.signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(request.onProgress !== undefined && { onLine: request.onProgress }),
    limits: { ...LIMITS, ...environment.limits },
  };
  return toAttemptResult(name, processRequest, await runProcess(processRequest));
}

function notRun(name: string, problem: string): AttemptResult {
  return { type: "error", content: `Tool '${name}' was not run: ${problem}` };
}
