/** How a command ends when it does not simply succeed. */
import { CodedError } from "../util/index.ts";

/** Thrown by a command that has said all there is to say: no match, not confirmed. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** Something is wrong with the words on the command line: status 2. */
export function usageError(message: string, hint?: string): CodedError<"usage"> {
  return new CodedError("usage", message, hint === undefined ? {} : { hint });
}
