/** What is on the screen while somebody is asked: pure functions of a state and the keys. */
import type { Paint } from "../render/index.ts";
import type { Key } from "./key.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What a view draws on. */
export interface Canvas extends Size {
  readonly paint: Paint;
}

export interface Position {
  readonly row: number;
  readonly column: number;
}

export interface Frame {
  /** None is wider than the canvas. */
  readonly rows: readonly string[];
  readonly cursor: Position;
  /** Something that must be read before an answer counts did not fit. */
  readonly isCut?: boolean;
}

export type Step<State, Ending> =
  | { readonly type: "wait"; readonly state: State }
  | { readonly type: "end"; readonly ending: Ending };

export interface Widget<State, Ending> {
  /** Of keys that arrive together, those behind one that changes the state are dropped. */
  readonly isDrawnBetweenKeys?: boolean;
  /**
   * Escape and Ctrl-C do not come here: they cancel whatever is shown. `size` is that of what was drawn
   * last, which the person has seen.
   */
  update(state: State, key: Key, size: Size): Step<State, Ending>;
  view(state: State, canvas: Canvas): Frame;
}

export type Closed =
  /** By the person. */
  | { readonly type: "cancelled" }
  /** By the signal, or because the terminal has gone away. */
  | { readonly type: "aborted" };

export function wait<State>(state: State): Step<State, never> {
  return { type: "wait", state };
}

export function end<Ending>(ending: Ending): Step<never, Ending> {
  return { type: "end", ending };
}
