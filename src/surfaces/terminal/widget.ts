/** The type of every interactive prompt: pure functions of a state, the keys pressed and the screen size. */
import type { Paint } from "../render/index.ts";
import type { Key } from "./key.ts";

export interface Widget<State, Ending> {
  /** Of keys that arrive together, ignore those after the first one that changes the state. */
  readonly isDrawnBetweenKeys?: boolean;
  /** Escape and Ctrl-C are keys like any other here. They cancel every other widget. */
  readonly takesCancelKeys?: boolean;
  /**
   * Enter with more text behind it, in keys that arrive together, is a line break: some terminals do not mark
   * pasted text.
   */
  readonly isMultiline?: boolean;
  /**
   * Keys that arrive together, as the widget takes them: they may be pasted text that the terminal does not mark as such.
   */
  joinKeys?(keys: readonly Key[]): readonly Key[];
  /** Whether something is decided if no other key comes for `HOLD_MS`: see `settle`. */
  isSettling?(state: State): boolean;
  /** No other key has come. */
  settle?(state: State, size: Size): Step<State, Ending>;
  /** Whether it may end like this before the user has read what is above it. Without it, it never may. */
  canEndUnread?(ending: Ending): boolean;
  /** Whether Escape would lose what the user typed or selected. It must then be pressed twice. */
  holdsWork?(state: State): boolean;
  /** Where Escape leads inside the widget. Undefined if it leaves the widget. */
  stepBack?(state: State): State | undefined;
  /** `size` is that of the last frame drawn: the one the user has seen. */
  update(state: State, key: Key, size: Size): Step<State, Ending>;
  view(state: State, canvas: Canvas): Frame;
}

/** What a key does: the widget goes on with another state, or ends. */
export type Step<State, Ending> = { readonly state: State } | { readonly ending: Ending };

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
  /** Something the user must see before answering did not fit. */
  readonly isCut?: boolean;
}
