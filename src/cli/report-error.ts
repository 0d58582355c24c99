/** Reports an error to the user, and picks the exit status. */
import type { CommanderError } from "commander";
import { wrapProse } from "../surfaces/render/index.ts";
import { columnsOf } from "../surfaces/terminal/index.ts";
import { adviceOf, isJpError, type JpError, neutralize } from "../util/index.ts";
import { ExitStatus } from "./exit-status.ts";
import type { Host } from "./host.ts";

/** Prints the error, unless the command or commander already did, and returns the exit status. */
export function reportError(error: unknown, host: Host): number {
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ExitStatus) {
    if (error.cause !== undefined) reportError(error.cause, host);
    return error.status;
  }
  const print = (text: string) => {
    const { stderr } = host;
    stderr.write(`${wrapProse(neutralize(text), columnsOf(stderr)).join("\n")}\n`);
  };
  const wantsStack = host.environment.variables["JP_DEBUG"] === "1";
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  if (!isJpError(error)) {
    print(`Unexpected error: ${String(error)}`);
    print(wantsStack ? stack : "Set JP_DEBUG=1 for a stack trace.");
    return 1;
  }
  print(describeError(error));
  if (wantsStack) print(stack);
  return error.code === "usage" ? 2 : 1;
}

/** What failed, and what to do about it. */
export function describeError(error: JpError): string {
  const advice = adviceOf(error);
  return advice === undefined ? `jp: ${error.message}` : `jp: ${error.message}\n${advice}`;
}

/** Checks the code, so that commander need not be loaded. The bundle shortens class names. */
export function isCommanderError(error: unknown): error is CommanderError {
  if (!(error instanceof Error && "code" in error)) return false;
  return typeof error.code === "string" && error.code.startsWith("commander.");
}
