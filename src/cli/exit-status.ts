/** How a command ends when it does not simply succeed. */
import { CodedError } from "../util/index.ts";

/** Done, but something was denied because no one could be asked. */
export const DENIED = 3;
export const INTERRUPTED = 130;

/** What each status means, for `jp --help`. */
export const EXIT_STATUSES = `Exit status:
  0    done
  1    an error; also if nothing was found, or you said no
  2    wrong usage
  3    done, but jp denied something because it could not ask you
  4    waiting for an answer (reserved)
  130  interrupted`;

/** Thrown by a command that has said all there is to say, unless its cause is to be told first. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number, options?: { readonly cause: CodedError }) {
    super(`exit ${status}`, options);
    this.status = status;
  }
}

/** Something is wrong with the words on the command line: status 2. */
export function usageError(message: string, hint?: string): CodedError<"usage"> {
  return new CodedError("usage", message, hint === undefined ? {} : { hint });
}
