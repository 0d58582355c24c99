/** A widget without a terminal: keys in, screens out. */
import { plain } from "../render/index.ts";
import { decodeInput, isKey } from "./key.ts";
import type { Size, Widget } from "./widget.ts";

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

  /** What a terminal sends for the keys. */
  type(input: string): this {
    for (const key of decodeInput(input).sent.filter(isKey)) {
      if (this.ending !== undefined) continue;
      const step = this.#widget.update(this.#state, key, this.#size);
      if ("state" in step) this.#state = step.state;
      else this.ending = step.ending;
    }
    return this;
  }

  /** With the cursor in it as `▮`. */
  get screen(): readonly string[] {
    const { rows, cursor } = this.#widget.view(this.#state, { ...this.#size, paint: plain });
    return rows.map((row, index) => (index === cursor.row ? withCursor(row, cursor.column) : row));
  }
}

/** Counts characters: for rows in which each is one column wide. */
function withCursor(row: string, column: number): string {
  const padded = row.padEnd(column);
  return `${padded.slice(0, column)}▮${padded.slice(column)}`;
}
