/**
 * The last signed state of each turn that this machine has signed or acted on, for the turns of databases: in a
 * database, whoever can write its rows can put an earlier signed state back, with an approval that was used since. The
 * states are beside the log of heads, in files of JSON lines. A conversation's lines are all in one of `SHARDS` files,
 * so that opening a conversation reads a small part.
 *
 * Nothing is synced. A process that is killed loses nothing, and a machine that crashes the lines of its last seconds:
 * then it knows an earlier state of those turns, which is the same as having seen less. A sync for each append would
 * cost more than the append.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import {
  findJson,
  isJsonObject,
  type Json,
  type JsonObject,
  objectField,
  sha256,
  shapeOf,
  stringField,
  systemErrorCode,
} from "../../util/index.ts";
import { parseSigned, type SignedState, signedToJson } from "../signed-state.ts";
import { readError } from "../storage-error.ts";
import { writeLines } from "./chain-file.ts";
import { holdFileLock } from "./lock.ts";
import { readPrivate } from "./private-file.ts";
import { OWNER_FILE, OWNER_FOLDER } from "./private-folder.ts";
import { openRecord, openToAppend } from "./safe-open.ts";

/** The place of a conversation. */
export interface StatePlace {
  /** The name of its workspace: see `WorkspaceRows.name`. */
  readonly store: string;
  readonly conversation: string;
}

/** A state that this machine has signed or acted on. */
export interface SeenState extends SignedState, StatePlace {
  /** In RFC 3339, by the machine's clock. */
  readonly at: string;
  /** The state that the user let go, because a backup was restored. */
  readonly restored?: RestoredFrom;
}

/** The newer state, and the OS user who let it go. */
export interface RestoredFrom extends SignedState {
  readonly by: string;
}

/** The folder of the states, beside the log of heads. */
export function seenStatesBeside(headsFile: string): string {
  return path.join(path.dirname(headsFile), "turn-states");
}

/** Undefined if this machine has seen no state of the conversation. Throws `read_failed`. */
export function findSeen(folder: string, place: StatePlace): SeenState | undefined {
  let newest: SeenState | undefined;
  for (const state of linesAbout(folder, place)) newest = newerOf(state, newest);
  return newest;
}

/** The states with which the user let newer ones go. Throws `read_failed`. */
export function findRestored(folder: string, place: StatePlace): readonly SeenState[] {
  return [...linesAbout(folder, place)].filter(({ restored }) => restored !== undefined);
}

/** Looks for the conversation first, since parsing each line would take longer. */
function* linesAbout(folder: string, { store, conversation }: StatePlace): Generator<SeenState> {
  const text = readText(shardOf(folder, { store, conversation }));
  const needle = `"conversation":${JSON.stringify(conversation)}`;
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length)) {
    const end = text.indexOf("\n", at);
    const line = text.slice(text.lastIndexOf("\n", at) + 1, end === -1 ? undefined : end);
    const state = parseState(line);
    if (state?.store === store && state.conversation === conversation) yield state;
  }
}

/** The newest states of all conversations, and those with which the user let newer ones go. Throws `read_failed`. */
export function* listSeen(folder: string): Generator<SeenState> {
  for (const name of listShards(folder))
    yield* withoutOlder(readText(path.join(folder, name)).split("\n"));
}

/** Adds it as one line. Many processes may do so at once. Throws system errors and `UnsafePathError`. */
export function noteSeen(folder: string, state: SeenState): void {
  const file = shardOf(folder, state);
  const size = appendLines(file, `${JSON.stringify(stateToJson(state))}\n`);
  if (size > MIN_BYTES && size > 2 * keptBytes(file)) compact(folder, file);
}

const SHARDS = 256;
/** Shorter files are not compacted. */
const MIN_BYTES = 64 * 1024;

function shardOf(folder: string, { store, conversation }: StatePlace): string {
  const digest = sha256(JSON.stringify([store, conversation]));
  const shard = Number.parseInt(digest.slice(0, 8), 16) % SHARDS;
  return path.join(folder, `${shard.toString(16).padStart(2, "0")}.jsonl`);
}

function listShards(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .toSorted();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw readError(folder, error);
  }
}

/** Empty if there is no file. Throws `read_failed`. */
function readText(file: string): string {
  try {
    return readPrivate(file);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return "";
    throw readError(file, error);
  }
}

function newerOf(state: SeenState, other: SeenState | undefined): SeenState {
  return other === undefined || state.counter >= other.counter ? state : other;
}

/** Skips lines that a crash has cut. */
function withoutOlder(lines: readonly string[]): readonly SeenState[] {
  const newest = new Map<string, SeenState>();
  const restored: SeenState[] = [];
  for (const line of lines) {
    const state = parseState(line);
    if (state === undefined) continue;
    const key = JSON.stringify([state.store, state.conversation]);
    newest.set(key, newerOf(state, newest.get(key)));
    if (state.restored !== undefined) restored.push(state);
  }
  const last = new Set(newest.values());
  return [...restored.filter((state) => !last.has(state)), ...last];
}

/** Returns the size of the file, roughly. */
function appendLines(file: string, text: string): number {
  for (;;) {
    const opened = openShard(file);
    try {
      writeLines(opened, text, false);
      // Another process may have replaced the file since it was opened.
      if (fstatSync(opened.fd).nlink > 0) return opened.size + text.length;
    } finally {
      closeSync(opened.fd);
    }
  }
}

function openShard(file: string) {
  try {
    return openToAppend(file, OWNER_FILE);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    mkdirSync(path.dirname(file), { recursive: true, mode: OWNER_FOLDER });
    return openToAppend(file, OWNER_FILE);
  }
}

/** The first line of a compacted file: its size then. */
const KEPT = /^\{"kept":(\d{1,15})\}\n/;

/** 0 if it was never compacted. */
function keptBytes(file: string): number {
  const { fd } = openRecord(file);
  try {
    const start = Buffer.alloc(32);
    const length = readSync(fd, start, 0, start.length, 0);
    return Number(KEPT.exec(start.toString("latin1", 0, length))?.[1] ?? 0);
  } finally {
    closeSync(fd);
  }
}

/** Leaves out states that were followed by newer ones. Another process may do it instead. Throws system errors. */
function compact(folder: string, file: string): void {
  const lock = holdFileLock(path.join(folder, "compact.lock"));
  if (lock === undefined) return;
  try {
    const { fd } = openRecord(file);
    try {
      const text = readFrom(fd, 0);
      const whole = text.subarray(0, text.lastIndexOf("\n") + 1);
      replaceLines(file, withoutOlder(whole.toString("utf8").split("\n")));
      // Lines that others have added meanwhile. Whoever adds one later sees that the file was replaced.
      const rest = readFrom(fd, whole.length).toString("utf8");
      if (rest !== "") appendLines(file, rest);
    } finally {
      closeSync(fd);
    }
  } finally {
    lock.release();
  }
}

function replaceLines(file: string, states: readonly SeenState[]): void {
  const lines = states.map((state) => `${JSON.stringify(stateToJson(state))}\n`).join("");
  const temporary = `${file}.new`;
  rmSync(temporary, { force: true }); // A crash may have left it.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const fd = openSync(temporary, flags, OWNER_FILE);
  try {
    writeSync(fd, `{"kept":${Buffer.byteLength(lines)}}\n${lines}`);
    fsyncSync(fd); // A crash must not leave an empty file in place of all that was known.
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

function readFrom(fd: number, position: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, fstatSync(fd).size - position));
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, position));
}

function stateToJson({ store, conversation, at, restored, ...state }: SeenState): JsonObject {
  const from = restored && { restored: { ...signedToJson(restored), by: restored.by } };
  return { store, conversation, ...signedToJson(state), at, ...from };
}

/** Undefined for the first line of a compacted file, and for a line that a crash has cut. */
function parseState(line: string): SeenState | undefined {
  const json: Json | undefined = findJson(line);
  if (!isJsonObject(json)) return undefined;
  try {
    const shape = shapeOf(json);
    const restored = json["restored"] === undefined ? undefined : objectField(shape, "restored");
    return {
      store: stringField(shape, "store"),
      conversation: stringField(shape, "conversation"),
      ...parseSigned(shape),
      at: stringField(shape, "at"),
      ...(restored && {
        restored: { ...parseSigned(restored), by: stringField(restored, "by") },
      }),
    };
  } catch {
    return undefined;
  }
}
