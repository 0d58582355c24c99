/** Reads the chain of a conversation's decisions, for export and reports. `chain-file.ts` writes it. */
import { closeSync, readSync } from "node:fs";
import path from "node:path";
import { type ChainLine, parseChainLine } from "../../conversation/index.ts";
import { LineReader } from "../../process/index.ts";
import { messageOf, systemErrorCode } from "../../util/index.ts";
import type { ChainProblem } from "../port.ts";
import { readError } from "../storage-error.ts";
import { CHAIN } from "./conversation-folders.ts";
import { openRecord } from "./safe-open.ts";

/** Links are small. */
const MAX_LINE_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** In pieces, line by line. Nothing if there is no file. Throws `read_failed`. */
export function* readChain(folder: string): Generator<readonly (ChainLine | ChainProblem)[]> {
  const file = path.join(folder, CHAIN);
  let descriptor: number;
  try {
    descriptor = openRecord(file);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return;
    throw readError(file, error);
  }
  try {
    let read: (ChainLine | ChainProblem)[] = [];
    let line = 0;
    const reader = new LineReader({
      maxBytes: MAX_LINE_BYTES,
      onLine: (text) => {
        line += 1;
        if (text !== "") read.push(lineOrProblem(text, line));
      },
    });
    const piece = Buffer.alloc(PIECE_BYTES);
    for (;;) {
      const count = readPiece(descriptor, piece, file);
      if (count === 0) break;
      reader.add(piece.subarray(0, count));
      yield read;
      read = [];
    }
    reader.end(); // What a crash has cut off.
    yield read;
  } finally {
    closeSync(descriptor);
  }
}

function readPiece(descriptor: number, piece: Buffer, file: string): number {
  try {
    return readSync(descriptor, piece);
  } catch (error) {
    throw readError(file, error);
  }
}

function lineOrProblem(text: string, line: number): ChainLine | ChainProblem {
  try {
    return parseChainLine(text);
  } catch (error) {
    return { line, problem: messageOf(error) };
  }
}
