/**
 * Reads the array in `events.json` in pieces of bounded size. Files in the layout that programs
 * write are cut at the lines between two elements and parsed piece by piece, as fast as a parser
 * goes; anything else, from a hand-edited file to the end of an interrupted write, is taken element
 * by element. It reads and reports, and never repairs.
 */
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import type { RecordProblem } from "../port.ts";
import { ByteWindow } from "./byte-window.ts";
import { scanElements } from "./element-scan.ts";

export interface ElementBatch {
  readonly elements: readonly JsonObject[];
  readonly problems: readonly RecordProblem[];
}

const BETWEEN = Buffer.from("\n  },\n  {");
const CLOSING = "\n  }".length;

/** Throws `read_failed`. */
export function* readElements(file: string): Generator<ElementBatch> {
  using window = new ByteWindow(file);
  for (;;) {
    window.fill();
    const cut = window.isAtEnd ? -1 : window.bytes.lastIndexOf(BETWEEN);
    if (cut === -1 && !window.isAtEnd) continue;
    const elements = window.isAtEnd ? parseRest(window) : parsePiece(window, cut + CLOSING);
    if (elements === undefined) break;
    yield { elements, problems: [] };
    if (window.isAtEnd) return;
    window.advance(cut + BETWEEN.length - 1);
  }
  for (const { element, problem } of scanElements(window)) {
    if (element !== undefined) yield { elements: [element], problems: [] };
    if (problem !== undefined) yield { elements: [], problems: [problem] };
  }
}

function parsePiece(window: ByteWindow, length: number): readonly JsonObject[] | undefined {
  const text = window.bytes.toString("utf8", 0, length);
  return parseList(window.offset === 0 ? `${text}]` : `[${text}]`);
}

function parseRest(window: ByteWindow): readonly JsonObject[] | undefined {
  const text = window.bytes.toString("utf8");
  return parseList(window.offset === 0 ? text : `[${text}`);
}

function parseList(text: string): readonly JsonObject[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isJsonObject) ? value : undefined;
  } catch {
    return undefined;
  }
}
