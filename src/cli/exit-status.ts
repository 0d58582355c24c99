/** How a command ends when it does not simply succeed: the exit statuses, and how an error is reported. */
import type { CommanderError } from "commander";
import { wrapProse } from "../surfaces/render/index.ts";
import { columnsOf } from "../surfaces/terminal/index.ts";
import { adviceOf, isJpError, JpError, neutralize } from "../util/index.ts";
import type { Host } from "./host.ts";

/** Finished, but something was denied because jp could not ask. */
export const DENIED = 3;
/** The turn continues once there is an answer. */
export const WAITING = 4;
export const INTERRUPTED = 130;

/** For `jp --help`. */
export const EXIT_STATUSES = `Exit status:
  0    success
  1    an error; also if nothing was found, or you said no
  2    invalid usage
  3    finished, but jp denied something because it could not ask you
  4    waiting for an answer; see jp inquiry ls --pending
  130  interrupted`;

/** Thrown by a command that has printed everything itself; a `cause` is reported first. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number, options?: { readonly cause: JpError }) {
    super(`exit ${status}`, options);
    this.status = status;
  }
}

/** An error in the command line itself: status 2. */
export function usageError(message: string, hint?: string): JpError<"usage"> {
  return new JpError("usage", message, hint === undefined ? {} : { hint });
}

/** A command that needs a database. */
export function noDatabaseError(message: string): JpError {
  return usageError(
    message,
    "Name one with --store postgres://… or JP_STORE, or set storage.url in your own config.",
  );
}

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

/** A failure and its remedy. */
export function describeError(error: JpError): string {
  const advice = adviceOf(error);
  return advice === undefined ? `jp: ${error.message}` : `jp: ${error.message}\n${advice}`;
}

/** Checks the code, so that commander need not be loaded. The bundle shortens class names. */
export function isCommanderError(error: unknown): error is CommanderError {
  if (!(error instanceof Error && "code" in error)) return false;
  return typeof error.code === "string" && error.code.startsWith("commander.");
}
