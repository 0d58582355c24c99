/** Why a command could not be started, and what can be done about it. */
import { existsSync } from "node:fs";
import type { ProcessRequest } from "./run-process.ts";

export function describeStartFailure({ command, cwd }: ProcessRequest, error: unknown): string {
  const { program } = command;
  switch (systemCode(error)) {
    case "ENOENT":
      return existsSync(cwd) ? describeMissing(program, cwd) : `there is no folder ${cwd}.`;
    case "EACCES":
      return `${program} may not be executed. Make it executable, for instance with \`chmod +x\`.`;
    case "E2BIG":
      return (
        "its command line is longer than the system allows. " +
        "Let it read its standard input, where everything is as well."
      );
    case "ERR_INVALID_ARG_VALUE":
      return "its program is empty, or there is a NUL character in its command line.";
    default:
      return error instanceof Error ? `${error.message}.` : `${String(error)}.`;
  }
}

/** The system says the same of a script whose interpreter is missing. */
function describeMissing(program: string, cwd: string): string {
  return program.includes("/")
    ? `there is no program ${program}, seen from ${cwd}, or no interpreter for it.`
    : `there is no program ${program} in PATH. Install it, or give its whole path.`;
}

function systemCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
