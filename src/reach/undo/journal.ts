/**
 * The journal of a turn: what was at a path before jp changed it, and what jp made of it. Each line is on disk before the
 * change that it announces. Lines are only added, so a process that is killed leaves at most half a line at the end.
 *
 *   keep ─► the change ─► wrote            a file
 *   tree ─► the command ─► keep, wrote, … ─► tree_end
 *   undo_start ─► what was there is put back ─► undo_end
 */
import { closeSync, fstatSync, fsync, openSync, readFileSync, readSync } from "node:fs";
import path from "node:path";
import {
  arrayField,
  findJson,
  integerField,
  isJsonObject,
  type Json,
  type JsonObject,
  mismatch,
  settled,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { OWNER_FILE, writeAll } from "./contents.ts";
import { type EntryState, parseState, stateToJson } from "./entry-state.ts";

export type JournalLine =
  | TurnLine
  /** Written before the first change of a path. `seq` is the line it was read at, if earlier. */
  | {
      readonly type: "keep";
      readonly path: string;
      readonly before: EntryState;
      readonly planned?: PlannedState;
      readonly seq?: number;
    }
  /** Written before a later change. */
  | { readonly type: "plan"; readonly path: string; readonly planned: PlannedState }
  | { readonly type: "wrote"; readonly path: string; readonly after: EntryState }
  /** Written before a command. `manifest` is the digest of the states of all files. */
  | { readonly type: "tree"; readonly id: string; readonly manifest: string }
  | { readonly type: "tree_end"; readonly id: string }
  /** A command ran, and nothing was saved. `reason` is a code. */
  | { readonly type: "unkept"; readonly reason: string }
  | { readonly type: "undo_start"; readonly replaced: readonly PathState[] }
  | { readonly type: "undo_end" };

export interface TurnLine {
  readonly type: "turn";
  readonly conversation: string;
  /** Identifies the turn within the conversation. */
  readonly turn: string;
  /** The real path of the workspace. */
  readonly root: string;
}

export interface PathState {
  readonly path: string;
  readonly state: EntryState;
}

/** The state that jp is about to create at a path. The mode is known only afterwards. */
export type PlannedState =
  | { readonly kind: "absent" }
  | { readonly kind: "folder" }
  | { readonly kind: "file"; readonly digest: string };

export class Journal {
  readonly file: string;
  #length: number;

  /** `length`: the number of its lines. */
  constructor(file: string, length: number) {
    this.file = file;
    this.#length = length;
  }

  /**
   * Returns the number of the first of these lines. If `isDurable`, they are on disk when it resolves. Throws system
   * errors.
   */
  async append(lines: readonly JournalLine[], isDurable = true): Promise<number> {
    const fd = openSync(this.file, "a+", OWNER_FILE);
    try {
      const text = lines.map((line) => `${JSON.stringify(lineToJson(line))}\n`).join("");
      writeAll(fd, Buffer.from(`${isTorn(fd) ? "\n" : ""}${text}`));
      if (isDurable) await settled((done) => fsync(fd, done));
    } finally {
      closeSync(fd);
    }
    const first = this.#length;
    this.#length += lines.length;
    return first;
  }
}

/** Whether it ends in the middle of a line. */
function isTorn(fd: number): boolean {
  const { size } = fstatSync(fd);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last.toString() !== "\n";
}

/** Unreadable lines are undefined, so that the numbers of the others stay the same. Throws system errors. */
export function readJournal(file: string): readonly (JournalLine | undefined)[] {
  const lines = readFileSync(file, "utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    try {
      return parseLine(findJson(line));
    } catch {
      return undefined;
    }
  });
}

function lineToJson(line: JournalLine): JsonObject {
  switch (line.type) {
    case "keep":
      return { ...line, before: stateToJson(line.before) };
    case "wrote":
      return { ...line, after: stateToJson(line.after) };
    case "undo_start":
      return {
        ...line,
        replaced: line.replaced.map(({ path: name, state }) => ({
          path: name,
          state: stateToJson(state),
        })),
      };
    default:
      return { ...line };
  }
}

/** Throws `ShapeError`. */
function parseLine(value: unknown): JournalLine {
  const shape = shapeOf(value);
  const { type } = shape.value;
  const text = (key: string) => stringField(shape, key);
  switch (type) {
    case "turn":
      return { type, conversation: text("conversation"), turn: text("turn"), root: text("root") };
    case "keep":
      return {
        type,
        path: parsePath(text("path")),
        before: parseState(shape.value["before"]),
        ...(shape.value["planned"] !== undefined && {
          planned: parsePlanned(shape.value["planned"]),
        }),
        ...(shape.value["seq"] !== undefined && { seq: integerField(shape, "seq") }),
      };
    case "plan":
      return { type, path: parsePath(text("path")), planned: parsePlanned(shape.value["planned"]) };
    case "wrote":
      return { type, path: parsePath(text("path")), after: parseState(shape.value["after"]) };
    case "tree":
      return { type, id: text("id"), manifest: text("manifest") };
    case "tree_end":
      return { type, id: text("id") };
    case "unkept":
      return { type, reason: text("reason") };
    case "undo_start":
      return { type, replaced: arrayField(shape, "replaced").map(parsePathState) };
    case "undo_end":
      return { type };
    default:
      throw mismatch("type", "a known type", type);
  }
}

function parsePlanned(value: Json | undefined): PlannedState {
  const shape = shapeOf(value);
  const { kind } = shape.value;
  if (kind === "absent" || kind === "folder") return { kind };
  return { kind: "file", digest: stringField(shape, "digest") };
}

export function parsePathState(value: unknown): PathState {
  const shape = shapeOf(value);
  return {
    path: parsePath(stringField(shape, "path")),
    state: parseState(isJsonObject(value) ? value["state"] : undefined),
  };
}

/** Must be relative, with forward slashes, and inside the workspace. Throws `ShapeError`. */
function parsePath(text: string): string {
  const isInside = text !== "" && path.posix.normalize(text) === text && !text.startsWith("../../");
  if (!isInside || text === "." || text === ".." || path.posix.isAbsolute(text)) {
    throw mismatch("path", "a path inside the workspace", text);
  }
  return text;
}
