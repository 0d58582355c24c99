/** The type of all interactive prompts: pure functions of a state, the pressed keys and the screen size. */
import type { Paint } from "../render/index.ts";
import type { Key } from "./key.ts";

export interface Widget<State, Ending> {
  /** Among keys that arrive together, ignore those after the first that changes the state. */
  readonly isDrawnBetweenKeys?: boolean;
  /** The widget handles Escape and Ctrl-C itself. They cancel every other widget. */
  readonly takesCancelKeys?: boolean;
  /**
   * Among keys that arrive together, an Enter followed by text is a line break: some terminals do not mark pasted text.
   */
  readonly isMultiline?: boolean;
  /** Transforms keys that arrive together: they may be a paste that the terminal did not mark. */
  joinKeys?(keys: readonly Key[]): readonly Key[];
  /** Whether the state decides if no other key comes for `HOLD_MS`: see `settle`. */
  isSettling?(state: State): boolean;
  /** Called when no other key has come. */
  settle?(state: State, size: Size): Step<State, Ending>;
  /** Whether this ending is allowed before the user has read the text above. If absent, none is. */
  canEndUnread?(ending: Ending): boolean;
  /** Whether Escape would lose the user's input or selection. It must then be pressed twice. */
  holdsWork?(state: State): boolean;
  /** The state that Escape leads to. Undefined if Escape leaves the widget. */
  stepBack?(state: State): State | undefined;
  /** `size` belongs to the last drawn frame, which the user has seen. */
  update(state: State, key: Key, size: Size): Step<State, Ending>;
  view(state: State, canvas: Canvas): Frame;
}

/** The effect of a key: a new state, or the end. */
export type Step<State, Ending> = { readonly state: State } | { readonly ending: Ending };

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The area that a view draws on. */
export interface Canvas extends Size {
  readonly paint: Paint;
}

export interface Position {
  readonly row: number;
  readonly column: number;
}

export interface Frame {
  /** No row is wider than the canvas. */
  readonly rows: readonly string[];
  readonly cursor: Position;
  /** Something the user must see before answering did not fit. */
  readonly isCut?: boolean;
}
