/** A widget without a terminal: keys in, screens out. */
import { plain } from "../render/index.ts";
import { decodeInput, decodeLoneEscape, isEscape, isKey, type Key } from "./key.ts";
import type { Size, Step, Widget } from "./widget.ts";

export class TypedWidget<State, Ending> {
  readonly #widget: Widget<State, Ending>;
  readonly #size: Size;
  #state: State;
  ending: Ending | undefined;

  constructor(widget: Widget<State, Ending>, state: State, size: Partial<Size> = {}) {
    this.#widget = widget;
    this.#state = state;
    this.#size = { columns: 60, rows: 20, ...size };
  }

  get state(): State {
    return this.#state;
  }

  /** Types keys one by one, given as terminal input. */
  type(input: string): this {
    return this.#take(decode(input));
  }

  /** Sends the keys all at once. */
  send(input: string): this {
    const keys = decode(input);
    return this.#take(this.#widget.joinKeys?.(keys) ?? keys);
  }

  /** Waits until a held key settles. */
  wait(): this {
    if (this.ending === undefined && this.#widget.isSettling?.(this.#state) === true) {
      const step = this.#widget.settle?.(this.#state, this.#size);
      if (step !== undefined) this.#apply(step);
    }
    return this;
  }

  #take(keys: readonly Key[]): this {
    for (const key of keys) {
      if (this.ending !== undefined) continue;
      const back = isEscape(key) ? this.#widget.stepBack?.(this.#state) : undefined;
      if (back === undefined) this.#apply(this.#widget.update(this.#state, key, this.#size));
      else this.#state = back;
    }
    return this;
  }

  #apply(step: Step<State, Ending>): void {
    if ("state" in step) this.#state = step.state;
    else this.ending = step.ending;
  }

  /** Shows the cursor as `▮`. */
  get screen(): readonly string[] {
    const { rows, cursor } = this.#widget.view(this.#state, { ...this.#size, paint: plain });
    return rows.map((row, index) => (index === cursor.row ? withCursor(row, cursor.column) : row));
  }
}

function decode(input: string): readonly Key[] {
  const { sent, rest } = decodeInput(input);
  return [...sent.filter(isKey), ...decodeLoneEscape(rest)];
}

/** Counts characters, for rows where each is one column wide. */
function withCursor(row: string, column: number): string {
  const padded = row.padEnd(column);
  return `${padded.slice(0, column)}▮${padded.slice(column)}`;
}
