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
  /** Paths that Git has known during the turn. `names` is the digest of the list. */
  | { readonly type: "names"; readonly names: string }
  | { readonly type: "wrote"; readonly path: string; readonly after: EntryState }
  /** Written before a command. `manifest` is the digest of the states of all files. */
  | { readonly type: "tree"; readonly id: string; readonly manifest: string }
  | { readonly type: "tree_end"; readonly id: string }
  /** A command ran, and not everything was saved. `reason` is a code. */
  | { readonly type: "unkept"; readonly reason: string }
  | { readonly type: "undo_start"; readonly replaced: readonly PathState[] }
  | { readonly type: "undo_end" }
  /** Follows half a line, which a process has left that was killed or whose disk was full. Such a line counts as one too. */
  | { readonly type: "torn" };

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
      const before: readonly JournalLine[] = isTorn(fd) ? [{ type: "torn" }] : [];
      const text = [...before, ...lines].map((line) => `${JSON.stringify(lineToJson(line))}\n`);
      writeAll(fd, Buffer.from(`${before.length > 0 ? "\n" : ""}${text.join("")}`));
      if (isDurable) await settled((done) => fsync(fd, done));
      const first = this.#length + before.length;
      this.#length = first + lines.length;
      return first;
    } catch (error) {
      this.#length = readJournal(this.file).length; // A part may be there.
      throw error;
    } finally {
      closeSync(fd);
    }
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

/** Damaged lines are undefined, so that the numbers of the others stay the same. Throws system errors. */
export function readJournal(file: string): readonly (JournalLine | undefined)[] {
  const texts = readFileSync(file, "utf8").split("\n");
  const isTornAtEnd = texts.at(-1) !== "";
  if (!isTornAtEnd) texts.pop();
  const lines = texts.map((text) => {
    try {
      return parseLine(findJson(text));
    } catch {
      return undefined;
    }
  });
  return lines.map((line, index) => {
    const isLast = index === lines.length - 1;
    const isTornLine = lines[index + 1]?.type === "torn" || (isLast && isTornAtEnd);
    return line ?? (isTornLine ? { type: "torn" } : undefined);
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
    case "names":
      return { type, names: text("names") };
    case "tree":
      return { type, id: text("id"), manifest: text("manifest") };
    case "tree_end":
      return { type, id: text("id") };
    case "unkept":
      return { type, reason: text("reason") };
    case "undo_start":
      return { type, replaced: arrayField(shape, "replaced").map(parsePathState) };
    case "undo_end":
    case "torn":
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
  const isInside = text !== "" && path.posix.normalize(text) === text && !text.startsWith("../");
  if (!isInside || text === "." || text === ".." || path.posix.isAbsolute(text)) {
    throw mismatch("path", "a path inside the workspace", text);
  }
  return text;
}
