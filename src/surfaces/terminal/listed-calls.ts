/**
 * The model of several calls that need permission: what they are, and what a yes or a no to them means. `call-list.ts`
 * draws them, `plain-calls.ts` prints them. Pure.
 */
import type { SaidNo } from "./key-menu.ts";

/** Two or more calls to decide on. */
export interface CallList {
  readonly calls: readonly ListedCall[];
  /** Describes what Escape does. */
  readonly escape: string;
  /** See `KeyMenu`. */
  readonly sendsWords?: boolean;
}

export interface ListedCall {
  /** Unlike a list index, it does not change when another call drops out. */
  readonly id: string;
  /** The whole call on one line, verbatim. */
  readonly line: string;
  /** The call in several lines, verbatim. */
  readonly text: readonly string[];
  /** Not covered by a yes to several calls: it has to be opened. */
  readonly isDecidedAlone: boolean;
  /** A single line does not show clearly what it does. */
  readonly isUnclear: boolean;
}

export interface CallListState {
  /** The ids of the active call, the chosen calls, and the calls that were on the screen. */
  readonly active: string;
  readonly chosen: readonly string[];
  readonly seen: readonly string[];
}

/** The decided calls, by id. */
export type CallListEnding =
  | { readonly type: "approved"; readonly ids: readonly string[] }
  | { readonly type: "denied"; readonly ids: readonly string[]; readonly said?: SaidNo }
  /** The user wants to see this call in full and decide on it alone. */
  | { readonly type: "opened"; readonly id: string };

export function describeCalls({ length }: { readonly length: number }): string {
  return `Run these ${length} calls?`;
}

/** A yes to the calls that it covers; others stay open. If it covers none, the first is shown. */
export function approve(
  calls: readonly ListedCall[],
  isCovered: (call: ListedCall) => boolean,
): CallListEnding {
  const covered = calls.filter((call) => !call.isDecidedAlone && isCovered(call));
  const [first] = calls;
  return covered.length === 0 && first !== undefined
    ? { type: "opened", id: first.id }
    : { type: "approved", ids: idsOf(covered) };
}

export function deny(calls: readonly ListedCall[], said?: SaidNo): CallListEnding {
  return { type: "denied", ids: idsOf(calls), ...(said !== undefined && { said }) };
}

export function idsOf(calls: readonly ListedCall[]): readonly string[] {
  return calls.map(({ id }) => id);
}
