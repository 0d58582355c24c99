/** How a command ends when it does not simply succeed. */
import { JpError } from "../util/index.ts";

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
