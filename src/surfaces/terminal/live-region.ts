/** The surfaces for widgets: rows below the printed text that are redrawn in place, or the full screen. */
import { stripVTControlCharacters } from "node:util";
import type { Terminal } from "./terminal.ts";
import { bufferOf, layOutText } from "./text-buffer.ts";
import type { Canvas, Frame, Size } from "./widget.ts";

export const REQUEST_CURSOR_POSITION = "\u001b[6n";
/** Some terminals never report their cursor. */
export const CURSOR_REPORT_TIMEOUT_MS = 250;

/**
 * Erases the rest of the line, then everything after its first column. Erasing the whole screen at once would make tmux
 * add it to the scrollback each time a prompt in the first row is drawn.
 */
const ERASE_BELOW = "\u001b[K\u001b[C\u001b[J\r";

interface Drawn {
  readonly frame: Frame;
  /** The terminal's width at the time. */
  readonly columns: number;
}

/**
 * A terminal that gets narrower rewraps its rows. If the cursor's row is among them, only the terminal
 * knows where the cursor is, so the region asks for its position and redraws when the report arrives.
 *
 * xterm.js (`losesCursor`) rewraps from the bottom and moves the cursor down by every row that it adds,
 * even below the cursor. It leaves the cursor's own row alone only if no row below it is rewrapped.
 */
export class LiveRegion implements Surface {
  readonly #terminal: Terminal;
  losesCursor: boolean;
  #drawn: Drawn | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal, losesCursor: boolean) {
    this.#terminal = terminal;
    this.losesCursor = losesCursor;
  }

  draw(view: View, cursorColumn?: number): void {
    clearTimeout(this.#timer);
    const { columns } = this.#terminal.size;
    const isLost = this.#drawn !== undefined && this.#drawn.frame.cursor.column >= columns;
    if (isLost && cursorColumn === undefined) {
      this.#terminal.write(REQUEST_CURSOR_POSITION);
      this.#timer = setTimeout(() => this.#drawAt(view, 0), CURSOR_REPORT_TIMEOUT_MS);
    } else this.#drawAt(view, cursorColumn);
  }

  wipe(): void {
    clearTimeout(this.#timer);
    this.#terminal.write(this.#erasing());
    this.#drawn = undefined;
  }

  #drawAt(view: View, cursorColumn: number | undefined): void {
    const frame = clip(view(canvasOf(this.#terminal)), this.#terminal.size);
    const { rows, cursor } = frame;
    this.#terminal.write(
      this.#erasing(cursorColumn) +
        rows.join("\r\n") +
        up(rows.length - 1 - cursor.row) +
        `\u001b[${cursor.column + 1}G`,
    );
    this.#drawn = { frame, columns: this.#terminal.size.columns };
  }

  #erasing(cursorColumn?: number): string {
    if (this.#drawn === undefined) return "";
    const { columns } = this.#terminal.size;
    const added = this.losesCursor ? rowsAddedByXtermJs(this.#drawn, columns) : 0;
    const rows =
      added === 0
        ? rowsAbove(this.#drawn, columns, cursorColumn)
        : this.#drawn.frame.cursor.row + added;
    return `\r${up(rows)}${ERASE_BELOW}`;
  }
}

/** The number of screen rows between the top of the region and the cursor. */
function rowsAbove({ frame, columns: old }: Drawn, columns: number, cursorColumn = 0): number {
  const { rows, cursor } = frame;
  if (columns >= old) return cursor.row;
  const above = rows.slice(0, cursor.row).reduce((sum, row) => sum + heightOf(row, columns), 0);
  // Some terminals cut off the cursor's row, others rewrap it like any row. In tmux, the cursor can be past the last
  // column.
  const isCutOff = cursorColumn >= columns && cursor.column % columns !== columns - 1;
  return above + (isCutOff ? 0 : Math.floor(cursor.column / columns));
}

/** Zero if xterm.js adds no row below the cursor. */
function rowsAddedByXtermJs({ frame, columns: old }: Drawn, columns: number): number {
  if (columns >= old) return 0;
  const addedBy = (rows: readonly string[]) =>
    rows.reduce((sum, row) => sum + heightOf(row, columns) - 1, 0);
  const below = addedBy(frame.rows.slice(frame.cursor.row + 1));
  return below === 0 ? 0 : addedBy(frame.rows);
}

/** A terminal wraps a row anywhere except within a wide character. */
function heightOf(row: string, columns: number): number {
  const place = { columns, start: 0, indent: 0, breaksWords: true };
  return layOutText(bufferOf(stripVTControlCharacters(row)), place).rows.length;
}

function up(rows: number): string {
  return rows === 0 ? "" : `\u001b[${rows}A`;
}

const ENTER_ALTERNATE_SCREEN = "\u001b[?1049h";
const LEAVE_ALTERNATE_SCREEN = "\u001b[?1049l";
const CLEAR = "\u001b[H\u001b[2J";

export class FullScreen implements Surface {
  readonly #terminal: Terminal;

  #isEntered = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  draw(view: View): void {
    if (!this.#isEntered) {
      this.#terminal.write(ENTER_ALTERNATE_SCREEN);
      process.once("exit", this.#leave); // In case the process exits before.
    }
    this.#isEntered = true;
    const { rows } = clip(view(canvasOf(this.#terminal)), this.#terminal.size);
    this.#terminal.write(CLEAR + rows.join("\r\n"));
  }

  wipe(): void {
    process.off("exit", this.#leave);
    if (this.#isEntered) this.#leave();
    this.#isEntered = false;
  }

  readonly #leave = () => this.#terminal.write(LEAVE_ALTERNATE_SCREEN);
}

type View = (canvas: Canvas) => Frame;

interface Surface {
  /** `cursorColumn`: the column just reported by the terminal, starting at 1. */
  draw(view: View, cursorColumn?: number): void;
  /** Removes everything drawn. */
  wipe(): void;
}

/** One column narrower than the terminal, so that the cursor fits after a row's last character. */
export function canvasOf({ size, paint }: Terminal): Canvas {
  return { columns: Math.max(1, size.columns - 1), rows: size.rows, paint };
}

/** If the screen is too small, keeps the cursor's row and those after it. */
function clip(frame: Frame, { rows: height }: Size): Frame {
  const { rows, cursor } = frame;
  if (rows.length <= height) return frame;
  const first = Math.min(cursor.row, rows.length - height);
  return {
    rows: rows.slice(first, first + height),
    cursor: { ...cursor, row: cursor.row - first },
  };
}
