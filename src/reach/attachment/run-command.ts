/** Runs a command for its output. No shell is involved. */
import path from "node:path";
import type { AttachmentSource } from "../../settings/config/index.ts";
import { isInWorkspace, quoteCommand, resolveProgram, runProcess } from "../process/index.ts";
import { messageOf, systemErrorCode } from "../../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";

const TIMEOUT_MS = 60_000;
const LIMITS = {
  stdoutBytes: 1_000_000,
  stderrBytes: 64 * 1024,
  killGraceMs: 1000,
  pipeGraceMs: 200,
};

export interface CommandRequest {
  readonly command: Extract<AttachmentSource, { readonly type: "command" }>;
  readonly root: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The command line as a person would type it. */
export function commandLine({ program, args }: CommandRequest["command"]): string {
  return quoteCommand([program, ...args]);
}

/** A failing command's output includes its status and standard error. Throws `AttachmentError` if it does not finish. */
export async function runCommand(request: CommandRequest): Promise<string> {
  const { command, root: cwd, variables, signal } = request;
  assertOutside(request);
  const { program, args } = command;
  const end = await runProcess({
    program,
    args,
    cwd,
    variables,
    input: "",
    signal,
    timeoutMs: TIMEOUT_MS,
    limits: LIMITS,
  });
  signal.throwIfAborted();
  switch (end.type) {
    case "exited": {
      const { exit, stdout, stderr } = end;
      const status = "status" in exit ? exit.status : exit.signal;
      return describeOutput(status, stdout.toText(), stderr.toText());
    }
    case "timed_out":
      throw failed(command, `it did not finish within ${TIMEOUT_MS / 1000} s`);
    case "not_started":
      throw failed(command, isMissing(end.error) ? "no such program" : messageOf(end.error));
    case "cancelled":
      throw failed(command, "it was stopped");
  }
}

/**
 * The user's PATH may lead to a folder of the workspace, in which a command that a model wrote could place a program. Where
 * the workspace contains the home, there is no sandbox that such a program could help to leave. Throws `AttachmentError`.
 */
function assertOutside({ command, root, variables }: CommandRequest): void {
  const { program } = command;
  const { HOME: home, PATH: searchPath } = variables;
  if (program.includes(path.sep) || (home !== undefined && isInWorkspace(home, root))) return;
  const found = resolveProgram(program, { cwd: root, searchPath });
  if (found === undefined || !isInWorkspace(found, root)) return;
  const name = path.relative(root, found);
  const reason = `your PATH leads to ${name}, a file of the workspace. To run it, name it by its path`;
  throw failed(command, reason);
}

function isMissing(error: unknown): boolean {
  return systemErrorCode(error) === "ENOENT";
}

function failed(command: CommandRequest["command"], reason: string): AttachmentError {
  const message = `Cannot attach the output of ${commandLine(command)}: ${reason}.`;
  return new AttachmentError("attachment_not_read", message);
}

function describeOutput(status: number | string, stdout: string, stderr: string): string {
  if (status === 0 && stderr === "") return stdout;
  const sections = [
    `Exit status: ${status}`,
    ...(stdout === "" ? [] : [`Standard output:\n${stdout}`]),
    ...(stderr === "" ? [] : [`Standard error:\n${stderr}`]),
  ];
  return sections.join("\n\n");
}
