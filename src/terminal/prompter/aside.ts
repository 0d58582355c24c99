/** What a person may do about a question besides answering it: read all there is to read, add a note. */
import { oneLine, truncate } from "../../render/index.ts";
import type { Key } from "./key.ts";
import { hintRows } from "./question-line.ts";
import type { Canvas } from "./widget.ts";

export interface Asides {
  /** There is more above the question than is shown. */
  readonly hasMore: boolean;
  /** What is added to the answer so far; absent where no note is taken. */
  readonly note?: string | undefined;
  /** The texts that were read to their end. */
  readonly read?: ReadonlySet<string>;
}

/** What is shown comes back as it was, afterwards. */
export type Aside =
  | {
      readonly type: "read_more";
      /** Before what is above the question. Any text. */
      readonly text?: string;
      /** The answer does not count before the text was read, or skipped on purpose. */
      readonly isRequired?: boolean;
    }
  | { readonly type: "add_note" };

export function findAside({ hasMore, note }: Asides, key: Key): Aside | undefined {
  if (key.type !== "named") return undefined;
  if (key.name === "ctrl-o" && hasMore) return { type: "read_more" };
  return key.name === "tab" && note !== undefined ? { type: "add_note" } : undefined;
}

export interface Hints {
  /** What else can be done here. */
  readonly own?: readonly string[];
  /** The key that shows all, by its name. */
  readonly readKey?: string;
}

/** Below a question: the note so far, and what can be done. */
export function footRows(
  { hasMore, note }: Asides,
  { own = [], readKey = "Ctrl-O" }: Hints,
  canvas: Canvas,
): readonly string[] {
  const hints = [
    ...own,
    ...(note === undefined ? [] : ["Tab note"]),
    ...(hasMore ? [`${readKey} shows all`] : []),
  ];
  const { columns, paint } = canvas;
  const noteRows =
    note === undefined || note === ""
      ? []
      : [paint("dim", truncate(`  Note: ${oneLine(note)}`, columns))];
  return [...noteRows, ...hintRows(hints, canvas)];
}
