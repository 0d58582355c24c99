/** The signed state of a turn in a database: what the log of heads, the states that a machine has seen, and evidence keep. */
import { integerField, type JsonObject, type Shape, stringField } from "../util/index.ts";

/** The signed state of a conversation's last turn. */
export interface SignedState {
  /** Grows with each signed append to the conversation. 0 if an earlier version of jp has signed it. */
  readonly counter: number;
  /** The digest of the turn, from its start to the last entry. */
  readonly digest: string;
  /** The number of entries of the record. */
  readonly length: number;
}

/** Whether the state is older than one that was seen, or is another one with the same counter. */
export function isSteppedBack(state: SignedState, seen: SignedState | undefined): boolean {
  if (seen === undefined || state.counter > seen.counter) return false;
  return state.counter < seen.counter || state.digest !== seen.digest;
}

/** Its form in logs and in evidence. */
export function signedToJson({ counter, length, digest }: SignedState): JsonObject {
  return { counter, length, digest };
}

/** Throws `ShapeError`. */
export function parseSigned(shape: Shape): SignedState {
  return {
    counter: integerField(shape, "counter"),
    length: integerField(shape, "length"),
    digest: stringField(shape, "digest"),
  };
}
