/**
 * Reads the chain of a conversation's decisions, and the log of heads, for export and reports. `chain-file.ts` writes
 * them.
 */
import { closeSync, readSync, realpathSync } from "node:fs";
import path from "node:path";
import type { ChainLine, OwnRun } from "../../record/conversation/index.ts";
import {
  arrayField,
  integerField,
  LineReader,
  objectField,
  optionalBoolean,
  optionalString,
  parseJson,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { lineOrProblem } from "../chain-growth.ts";
import type { ChainProblem } from "../port.ts";
import { parseSigned, type SignedState } from "../signed-state.ts";
import { readError, readIfThere } from "../storage-error.ts";
import { CHAIN } from "./conversation-folders.ts";
import { openRecord } from "./safe-open.ts";
import { headsFileIn, type UserEnvironment, userDataFolder } from "./user-data.ts";

/** Links are small. */
const MAX_LINE_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** In pieces, line by line. Nothing if there is no file. Throws `read_failed`. */
export function* readChain(folder: string): Generator<readonly (ChainLine | ChainProblem)[]> {
  for (const lines of readLines(path.join(folder, CHAIN))) {
    yield lines.map(({ text, line }) => lineOrProblem(text, line));
  }
}

/** The end of a conversation's chain at some time: a line of the log of heads. */
export interface NotedHead extends Omit<OwnRun, "from"> {
  readonly conversation: string;
  /** The real path of the workspace at that time, or its name in a database. */
  readonly workspace?: string;
  /** The real path of the workspace, if its conversations are in a database. */
  readonly folder?: string;
  /** Absent if this machine has added no links, or an older version of jp wrote it. */
  readonly from?: number;
  /** The conversation was removed at that time. */
  readonly isRemoved: boolean;
  /** The signed state of the last turn, if the conversation is in a database. */
  readonly turn?: SignedState;
}

/** The log of heads in the user's data folder, without unreadable lines. Throws `read_failed`. */
export function readHeads(environment: UserEnvironment): readonly NotedHead[] {
  const file = headsFileIn(userDataFolder(environment));
  return [...readLines(file)].flat().flatMap(({ text }) => findHead(text) ?? []);
}

/**
 * The links that this machine has added to chains for one folder, by conversation. Skips links for other folders: a
 * clone may have the same conversations, and other files under the same names. Throws `read_failed`.
 */
export function readOwnRuns(
  environment: UserEnvironment,
  root: string,
): ReadonlyMap<string, readonly OwnRun[]> {
  const real = realpathSync(root);
  const runs = readHeads(environment).flatMap(({ from, ...head }) => {
    const isHere = (head.folder ?? head.workspace) === real;
    return isHere && from !== undefined ? [{ ...head, from }] : [];
  });
  return Map.groupBy(runs, ({ conversation }) => conversation);
}

function findHead(text: string): NotedHead | undefined {
  try {
    const shape = shapeOf(parseJson(text));
    const [workspace, folder] = [
      optionalString(shape, "workspace"),
      optionalString(shape, "folder"),
    ];
    const { from, except, turn } = shape.value;
    return {
      conversation: stringField(shape, "conversation"),
      length: integerField(shape, "length"),
      head: stringField(shape, "head"),
      ...(workspace !== undefined && { workspace }),
      ...(folder !== undefined && { folder }),
      ...(from !== undefined && { from: integerField(shape, "from") }),
      ...(except !== undefined && { except: arrayField(shape, "except").map(Number) }),
      isRemoved: optionalBoolean(shape, "removed") === true,
      ...(turn !== undefined && { turn: parseSigned(objectField(shape, "turn")) }),
    };
  } catch {
    return undefined; // A crash may have cut it.
  }
}

interface NumberedLine {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/** In pieces, without empty lines. */
function* readLines(file: string): Generator<readonly NumberedLine[]> {
  const descriptor = readIfThere(file, () => openRecord(file).fd);
  if (descriptor === undefined) return;
  try {
    let read: NumberedLine[] = [];
    let line = 0;
    const reader = new LineReader({
      maxBytes: MAX_LINE_BYTES,
      onLine: (text) => {
        line += 1;
        if (text !== "") read.push({ text, line });
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
    reader.end(); // The part that a crash cut off.
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
