/**
 * The base class of every error a caller can get. The command line decides what to print and which exit status to
 * use.
 */

const marker = Symbol.for("jp-ts.error");

/** Optional details of a `JpError`. */
export interface JpErrorOptions {
  readonly cause?: unknown;
  /** How to fix it, in one sentence, for any program. */
  readonly hint?: string;
  /** How to fix it at the command line, where commands, flags and terminals can be named. */
  readonly commandHint?: string;
}

/** An error with a stable `code`. The first line of its message makes sense on its own. */
export class JpError<Code extends string = string> extends Error {
  readonly code: Code;
  /** Not an own property if there is none, so that an uncaught error does not print it. */
  declare readonly hint: string | undefined;
  /** Shown only by the command line. Programs print `hint`, or their own text for the `code`. */
  declare readonly commandHint: string | undefined;

  constructor(code: Code, message: string, options: JpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "JpError";
    this.code = code;
    if (options.hint !== undefined) this.hint = options.hint;
    // Not enumerable, so that Node does not print it for an uncaught error.
    Object.defineProperty(this, "commandHint", { value: options.commandHint });
  }

  get [marker](): true {
    return true;
  }
}

/** The hint for someone at the command line. */
export function adviceOf({ hint, commandHint = hint }: JpError): string | undefined {
  return commandHint;
}

/** True for a `JpError`, even one from another copy of the library. */
export function isJpError(value: unknown): value is JpError {
  return typeof value === "object" && value !== null && marker in value;
}

/** The message of a thrown value, which need not be an `Error`. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  // Some packages report a copy of an error's properties.
  if ("message" in thrown && typeof thrown.message === "string") return thrown.message;
  return findText(thrown) ?? "unknown error";
}

/** Undefined for what JSON cannot express. */
function findText(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A thrown value as an `Error`. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });
}

/** The code of a system error, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** Ends a switch over a union, so that a new member is a compile error. */
export function assertNever(value: never): never {
  throw new Error(`Unhandled case: ${JSON.stringify(value)}`);
}
