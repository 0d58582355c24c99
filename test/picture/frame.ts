/** Turns a recording into frames: the cells of the screen, and how long to show them. */
import headless, { type IBufferCell, type IBufferLine } from "@xterm/headless";
import { COLUMNS, type Moment, ROWS } from "./recording.ts";

export interface Frame {
  readonly rows: readonly (readonly Run[])[];
  readonly holdMs: number;
  /** While a question is open. */
  readonly cursor?: { readonly row: number; readonly column: number };
  /** The keys being pressed. */
  readonly keys?: string;
}

/** Adjacent characters of one style. A character outside ASCII is a run of its own. */
export interface Run {
  readonly column: number;
  /** In cells. */
  readonly width: number;
  readonly text: string;
  readonly style: Style;
}

export interface Style {
  /** One of the 16 terminal colors; absent for the default. */
  readonly color?: number;
  readonly isBold: boolean;
  readonly isDim: boolean;
}

type Terminal = InstanceType<typeof headless.Terminal>;

/** Long enough to read. */
const PARAGRAPH_MS = 800;
const QUESTION_MS = 2000;
const KEYS_MS = 600;
const END_MS = 6000;

/** One frame per paragraph, because all output at once is hard to follow. */
export async function framesOf(moments: readonly Moment[]): Promise<readonly Frame[]> {
  const terminal = new headless.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const frames: Frame[] = [];
  for (const { output, keys } of moments) {
    const paragraphs = output.split(/(?<=\r\n)(?=\r\n)/);
    for (const paragraph of paragraphs) {
      await new Promise<void>((resolve) => terminal.write(paragraph, resolve));
      frames.push({ rows: rowsOf(terminal), holdMs: PARAGRAPH_MS });
    }
    const rows = frames.pop()?.rows ?? [];
    if (keys === undefined) {
      frames.push({ rows, holdMs: END_MS });
      continue;
    }
    const { cursorX: column, cursorY: row } = terminal.buffer.active;
    const asking = { rows, cursor: { row, column } };
    frames.push({ ...asking, holdMs: QUESTION_MS }, { ...asking, holdMs: KEYS_MS, keys });
  }
  terminal.dispose();
  return frames;
}

function rowsOf({ buffer: { active } }: Terminal): readonly (readonly Run[])[] {
  return Array.from({ length: ROWS }, (_, row) => {
    const line = active.getLine(active.baseY + row);
    return line === undefined ? [] : runsOf(line);
  });
}

function runsOf(line: IBufferLine): readonly Run[] {
  const runs: Run[] = [];
  for (let column = 0; column < line.length; column += 1) {
    const cell = line.getCell(column);
    const width = cell?.getWidth() ?? 0;
    if (cell === undefined || width === 0) continue; // The second half of a wide character.
    const next = { column, width, text: cell.getChars() || " ", style: styleOf(cell) };
    const last = runs.at(-1);
    if (last !== undefined && canJoin(last, next)) {
      runs[runs.length - 1] = {
        ...last,
        text: last.text + next.text,
        width: last.width + width,
      };
    } else {
      runs.push(next);
    }
  }
  return runs.map(trimmed).filter(({ text }) => text !== "");
}

function styleOf(cell: IBufferCell): Style {
  return {
    ...(cell.isFgPalette() && { color: cell.getFgColor() }),
    isBold: cell.isBold() !== 0,
    isDim: cell.isDim() !== 0,
  };
}

function canJoin(one: Run, other: Run): boolean {
  return (
    /^[\u0020-\u007E]+$/.test(one.text + other.text) &&
    one.style.color === other.style.color &&
    one.style.isBold === other.style.isBold &&
    one.style.isDim === other.style.isDim
  );
}

function trimmed(run: Run): Run {
  const end = run.text.trimEnd();
  const text = end.trimStart();
  const before = end.length - text.length;
  const after = run.text.length - end.length;
  return { ...run, text, column: run.column + before, width: run.width - before - after };
}
