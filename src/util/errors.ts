/**
 * The one base of errors that a caller may meet. It owns the marker and the code; what to print and
 * the exit status are the command line's business.
 */
const marker = Symbol.for("jp-ts.error");

/** What else is known of an error. */
export interface CodedErrorOptions {
  readonly cause?: unknown;
  /** What the reader can do about it, as one sentence. */
  readonly hint?: string;
}

/** The first line of `message` says what happened, and where, on its own. */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly hint: string | undefined;
  readonly [marker] = true;

  constructor(code: Code, message: string, options: CodedErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "JpError";
    this.code = code;
    this.hint = options.hint;
  }
}

/** True for our errors, also when two copies of the library are loaded. */
export function isCodedError(value: unknown): value is CodedError {
  return typeof value === "object" && value !== null && marker in value;
}

/** What a thrown thing says: anything can be thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Ends a switch over a closed union: a new member fails to compile here. */
export function assertNever(value: never): never {
  throw new Error(`Unhandled case: ${JSON.stringify(value)}`);
}
