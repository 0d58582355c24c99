/** Runs a command for its output. No shell is involved. */
import type { AttachmentSource } from "../../settings/config/index.ts";
import { quoteCommand, runProcess } from "../process/index.ts";
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
