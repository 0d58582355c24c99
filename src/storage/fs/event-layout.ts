/**
 * The layout of `events.json`, and how it is brought into it: one JSON array, two spaces a level,
 * closed by a bracket on a line of its own. Because of it an event can be written over the last
 * three bytes of a file, however long that is.
 */
import type { JsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { StorageError, writeError } from "../storage-error.ts";
import { ByteWindow } from "./byte-window.ts";
import { jsonText, setAside, writeDurably } from "./durable.ts";
import { scanElements } from "./element-scan.ts";
import { openRecordToWrite } from "./safe-open.ts";

export const EMPTY = "[]\n";
export const CLOSING = "\n]\n";
/** How the last element ends; an empty one stands on a line. */
const LAST_ELEMENT = ["\n  }", "\n  {}"];

/** Where the next element goes, and what stands before it. */
export interface AppendPoint {
  readonly position: number;
  readonly separator: "" | ",";
}

/** Undefined if the file does not end as programs leave it. */
export function findAppendPoint(size: number, ending: string): AppendPoint | undefined {
  if (size === EMPTY.length && ending.endsWith(EMPTY)) return { position: 1, separator: "" };
  if (!LAST_ELEMENT.some((last) => ending.endsWith(last + CLOSING))) return undefined;
  return { position: size - CLOSING.length, separator: "," };
}

/** How many bytes of its end tell what a file's append point is. */
export const ENDING_LENGTH = Math.max(...LAST_ELEMENT.map((last) => (last + CLOSING).length));

/** The bytes to write at the append point: elements as they stand in an array, and its end. */
export function elementsToBytes(elements: readonly JsonObject[], separator: "" | ","): Buffer {
  return Buffer.from(separator + jsonText(elements).slice(1, -2) + CLOSING);
}

/** A whole file with these elements. */
export function eventFileBytes(elements: readonly JsonObject[]): Buffer {
  if (elements.length === 0) return Buffer.from(EMPTY);
  return Buffer.concat([Buffer.from("["), elementsToBytes(elements, "")]);
}

/**
 * Closes the list behind the last whole element. What follows is kept in a file beside it, unless
 * it is only punctuation. Throws `write_failed`.
 */
export async function repairTornEnd(problem: RecordProblem): Promise<RecordProblem> {
  const { file, offset } = problem;
  try {
    await using handle = await openRecordToWrite(file);
    const torn = Buffer.alloc(problem.length);
    await handle.read(torn, 0, torn.length, offset);
    const kept = /[^\s,\]\0]/.test(torn.toString("latin1"))
      ? await setAside(file, torn)
      : undefined;
    await handle.truncate(offset);
    await handle.write(offset <= 1 ? EMPTY : CLOSING, offset <= 1 ? 0 : offset);
    await handle.datasync();
    const note = kept === undefined ? "repaired" : `repaired; those bytes are now in ${kept}`;
    return { ...problem, message: `${problem.message} (${note})` };
  } catch (error) {
    throw writeError(file, error);
  }
}

/** Rewrites the file in the layout, whole and atomically; no token of it changes. */
export async function rewriteInLayout(file: string): Promise<void> {
  await writeDurably(
    file,
    readInLayout(file, () => true),
  );
}

/** The file in the layout, or those of its elements that `keep` names. Throws `record_damaged`. */
export function readInLayout(file: string, keep: (element: JsonObject) => boolean): Buffer {
  const elements: string[] = [];
  using window = new ByteWindow(file);
  for (const { element, span, problem } of scanElements(window)) {
    if (problem?.type === "damaged") throw damagedError(problem);
    if (element === undefined || span === undefined || !keep(element)) continue;
    elements.push(reindentJson(span.toString("utf8"), 1));
  }
  const list = elements.length === 0 ? EMPTY : `[\n  ${elements.join(",\n  ")}${CLOSING}`;
  return Buffer.from(list);
}

export function damagedError(problem: RecordProblem): StorageError {
  return new StorageError("record_damaged", `${problem.file} is damaged: ${problem.message}.`, {
    hint: "Nothing is written to it. `jp conversation path` shows where it is; mend it by hand.",
  });
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** `text` is one valid JSON value; `depth` is the level it stands at. */
export function reindentJson(text: string, depth: number): string {
  const tokens = text.match(TOKEN) ?? [];
  let level = depth;
  let result = "";
  for (const [index, token] of tokens.entries()) {
    const isEmptyPair = isPair(tokens[index - 1], token);
    if (token === "}" || token === "]") {
      level -= 1;
      result += isEmptyPair ? token : lineBreak(level) + token;
    } else if (token === "{" || token === "[") {
      level += 1;
      result += isPair(token, tokens[index + 1]) ? token : token + lineBreak(level);
    } else if (token === ",") {
      result += token + lineBreak(level);
    } else {
      result += token === ":" ? ": " : token;
    }
  }
  return result;
}

function isPair(opening: string | undefined, closing: string | undefined): boolean {
  return (opening === "{" && closing === "}") || (opening === "[" && closing === "]");
}

function lineBreak(level: number): string {
  return `\n${"  ".repeat(level)}`;
}
