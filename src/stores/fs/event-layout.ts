/**
 * The layout of `events.json`: one JSON array, indented by two spaces, with the closing bracket on its own line. An
 * append therefore only overwrites the last three bytes of the file.
 */
import { readSync } from "node:fs";
import type { StreamEntry } from "../../record/conversation/index.ts";
import { type JsonObject, withoutLoneSurrogates } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { damagedError, writeError } from "../storage-error.ts";
import { ByteWindow } from "./byte-window.ts";
import { setAside, writeDurably } from "./durable.ts";
import { scanElements } from "./element-scan.ts";
import type { RestoredTurn } from "./restore-turn.ts";
import { openRecordToWrite, readRecord } from "./safe-open.ts";

export const EMPTY = "[]\n";
export const CLOSING = "\n]\n";
/** How the last element ends; an empty one is on a single line. */
const LAST_ELEMENT = ["\n  }", "\n  {}"];

/** The position of the next element, and the separator before it. */
export interface AppendPoint {
  readonly position: number;
  readonly separator: "" | ",";
}

/** Undefined if the file does not end in the expected layout. */
export function findAppendPoint(size: number, ending: string): AppendPoint | undefined {
  if (size === EMPTY.length && ending.endsWith(EMPTY)) return { position: 1, separator: "" };
  if (!LAST_ELEMENT.some((last) => ending.endsWith(last + CLOSING))) return undefined;
  return { position: size - CLOSING.length, separator: "," };
}

/** How many bytes from the end of a file `findAppendPoint` needs. */
export const ENDING_LENGTH = Math.max(...LAST_ELEMENT.map((last) => (last + CLOSING).length));

/** The bytes to write at the append point: the entries and the end of the list. */
export function entriesToBytes(entries: readonly StreamEntry[], separator: "" | ","): Buffer {
  const elements = entries.map((entry) => `\n  ${entry.toText(2).replaceAll("\n", "\n  ")}`);
  return Buffer.from(separator + withoutLoneSurrogates(elements.join(",")) + CLOSING);
}

/** The bytes of a whole file with these entries. */
export function eventFileBytes(entries: readonly StreamEntry[]): Buffer {
  if (entries.length === 0) return Buffer.from(EMPTY);
  return Buffer.concat([Buffer.from("["), entriesToBytes(entries, "")]);
}

/**
 * Closes the list after the last complete element. Saves what follows in a file beside it, unless it
 * is only punctuation. Throws `write_failed`.
 */
export async function repairTornEnd(problem: RecordProblem): Promise<RecordProblem> {
  const { file, offset } = problem;
  try {
    using handle = await openRecordToWrite(file);
    const torn = Buffer.alloc(problem.length);
    readSync(handle.fd, torn, 0, torn.length, offset);
    const kept = await setAsideUnlessEmpty(file, torn);
    await handle.truncate(offset);
    const ending = Buffer.from(offset <= 1 ? EMPTY : CLOSING);
    await handle.write(ending, 0, ending.length, offset <= 1 ? 0 : offset);
    await handle.datasync();
    const note = kept === undefined ? "repaired" : `repaired; moved those bytes to ${kept}`;
    return { ...problem, message: `${problem.message} (${note})` };
  } catch (error) {
    throw writeError(file, error);
  }
}

/**
 * Replaces everything after the kept elements with the copy of the open turn, atomically. Saves the replaced bytes in a
 * file beside it first, unless they are only punctuation. Throws `write_failed`.
 */
export async function restoreTurn(
  file: string,
  { kept, lines }: RestoredTurn,
  problems: readonly RecordProblem[],
): Promise<readonly RecordProblem[]> {
  const { elements, end } = readElements(file, kept);
  const replaced = readRecord(file).subarray(end);
  const place = await setAsideUnlessEmpty(file, replaced);
  await writeDurably(file, layOut([...elements, ...lines.map((line) => reindentJson(line, 1))]));
  const note = "restored the open turn from the copy in your own folder";
  const moved = place === undefined ? note : `${note}; moved the bytes from ${end} on to ${place}`;
  return problems.map((problem) => ({ ...problem, message: `${problem.message} (${moved})` }));
}

/** The first elements, and where they end. */
function readElements(file: string, count: number) {
  const elements: string[] = [];
  let end = 0;
  using window = new ByteWindow(file);
  if (count === 0) return { elements, end };
  for (const scanned of scanElements(window)) {
    if (scanned.span === undefined) continue;
    elements.push(reindentJson(scanned.span.toString("utf8"), 1));
    ({ end } = scanned);
    if (elements.length === count) break;
  }
  return { elements, end };
}

async function setAsideUnlessEmpty(file: string, bytes: Buffer): Promise<string | undefined> {
  return /[^\s,\]\0]/.test(bytes.toString("latin1")) ? setAside(file, bytes) : undefined;
}

/** Rewrites the file in the layout, atomically and without changing a token. */
export async function rewriteInLayout(file: string): Promise<void> {
  await writeDurably(
    file,
    readInLayout(file, () => true),
  );
}

/** The elements that `keep` accepts, in the layout. Throws `record_damaged`. */
export function readInLayout(file: string, keep: (element: JsonObject) => boolean): Buffer {
  const elements: string[] = [];
  using window = new ByteWindow(file);
  for (const { element, span, problem } of scanElements(window)) {
    if (problem?.type === "damaged") throw damagedError(problem);
    if (element === undefined || span === undefined || !keep(element)) continue;
    elements.push(reindentJson(span.toString("utf8"), 1));
  }
  return layOut(elements);
}

function layOut(elements: readonly string[]): Buffer {
  const list = elements.length === 0 ? EMPTY : `[\n  ${elements.join(",\n  ")}${CLOSING}`;
  return Buffer.from(list);
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Indents one valid JSON value by two spaces a level, starting at level `depth`. Works on tokens:
 * unlike parsing and printing, this keeps `1.0`, large integers and the order of keys.
 */
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
