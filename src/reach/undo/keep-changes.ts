/**
 * Saves the files that a turn's tools are about to change. The first change of a path in a turn saves its original state.
 */
import path from "node:path";
import { formatPath, toFileError } from "../files/index.ts";
import { type Clock, findJson, isJsonArray, randomName, sha256 } from "../../util/index.ts";
import { ABSENT, type EntryState } from "./entry-state.ts";
import type { Journal, JournalLine, PlannedState } from "./journal.ts";
import { checkFolder, isIgnoreFile, listNames, type UnkeptFolderReason } from "./git-names.ts";
import {
  findChanges,
  type Snapshot,
  type SnapshotLimits,
  type SnapshotOptions,
  snapshotToBytes,
  takeSnapshot,
} from "./snapshot.ts";
import { UndoStore, type UndoPlace } from "./store.ts";
import { findStats, modeOf, readEntry } from "./work-tree.ts";

/** Tools call it before a change, so that the change can be undone. */
export interface ChangeKeeper {
  /**
   * Call it before a file is written or deleted. Resolves when the current content is saved on disk. Throws a `FileError`
   * if it cannot be saved: then nothing may be changed.
   */
  keepFile(change: PlannedChange): Promise<KeptFile>;
  /**
   * Why a command's changes could not be undone; undefined if they could. It informs the person asked about the command,
   * so it is quick: that there is too much to save is known only after the first command.
   */
  checkFolder(): Promise<UnkeptFolderReason | undefined>;
  /**
   * Call it before a command runs: saves all files of the workspace that Git tracks or would add, or that it has known
   * since the turn began. Throws a `FileError` if they cannot be saved, and the signal's reason.
   */
  keepFolder(signal: AbortSignal): Promise<KeptFolder>;
}

/** A change to one file. */
export interface PlannedChange {
  /** Absolute, and free of symbolic links. Parent folders may be missing. */
  readonly file: string;
  /** Its new content; undefined if it is deleted. */
  readonly after: Buffer | undefined;
}

export interface KeptFile {
  /** Call it once the file is changed. Never throws. */
  done(): Promise<void>;
}

export interface KeptFolder {
  /** Set if nothing was saved. */
  readonly reason?: UnkeptFolderReason;
  /** Call it once the command, and everything it started, has ended. Returns the paths it has changed. Never throws. */
  done(): Promise<readonly string[]>;
}

export interface KeepChangesOptions extends UndoPlace {
  readonly conversation: string;
  /** Identifies the current turn within the conversation. */
  readonly turn: () => string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** For tests. */
  readonly snapshotLimits?: SnapshotLimits;
  readonly clock?: Clock;
}

export function keepChanges(options: KeepChangesOptions): ChangeKeeper {
  return new TurnChanges(options);
}

interface OpenTurn {
  readonly journal: Journal;
  /** The paths that have been saved. */
  readonly kept: Set<string>;
  /** The paths that Git has known during the turn, so that a command cannot hide files from the next snapshot. */
  readonly names: Set<string>;
}

class TurnChanges implements ChangeKeeper {
  readonly #options: KeepChangesOptions;
  readonly #store: UndoStore;
  /** Why nothing was saved before the last command. */
  #unkept: UnkeptFolderReason | undefined;
  #open: { readonly turn: string; readonly opened: Promise<OpenTurn> } | undefined;

  constructor(options: KeepChangesOptions) {
    this.#options = options;
    this.#store = new UndoStore(options);
  }

  async keepFile({ file, after }: PlannedChange): Promise<KeptFile> {
    const { root, contents } = this.#store;
    const relative = path.relative(root, file).split(path.sep).join("/");
    try {
      const open = await this.#openTurn();
      const { journal, kept } = open;
      if (isIgnoreFile(relative)) await this.#noteNames(open);
      const folders = foldersOf(relative);
      const missing = folders.filter((name) => findStats(path.join(root, name)) === undefined);
      const planned: PlannedState =
        after === undefined ? { kind: "absent" } : { kind: "file", digest: sha256(after) };
      const isFirst = !kept.has(relative);
      const before = isFirst
        ? await readEntry(root, relative, { contents, isDurable: true })
        : ABSENT;
      const lines: JournalLine[] = [
        ...folders.flatMap((name) => this.#folderLine(name, kept.has(name))),
        isFirst
          ? { type: "keep", path: relative, before, planned }
          : { type: "plan", path: relative, planned },
      ];
      await journal.append(lines);
      for (const name of [...folders, relative]) kept.add(name);
      return { done: () => this.#noteWritten(journal, [...missing, relative], planned) };
    } catch (error) {
      throw toFileError("keep a copy of", formatPath(relative), error);
    }
  }

  /** For a parent folder of a changed file: it may be created now, or be deleted later in the turn. */
  #folderLine(name: string, isKept: boolean): readonly JournalLine[] {
    const stats = findStats(path.join(this.#store.root, name));
    if (stats !== undefined) {
      if (!stats.isDirectory()) return []; // The file cannot be written then.
      const before: EntryState = { kind: "folder", mode: modeOf(stats) };
      return isKept ? [] : [{ type: "keep", path: name, before }];
    }
    const plan = { path: name, planned: { kind: "folder" } } as const;
    return [isKept ? { type: "plan", ...plan } : { type: "keep", ...plan, before: ABSENT }];
  }

  async checkFolder(): Promise<UnkeptFolderReason | undefined> {
    const { variables } = this.#options;
    return checkFolder({ root: this.#store.root, variables }) ?? this.#unkept;
  }

  async keepFolder(signal: AbortSignal): Promise<KeptFolder> {
    try {
      const open = await this.#openTurn();
      const { journal, kept, names } = open;
      const known = new Set([...names, ...kept]);
      const snapshot = await takeSnapshot(known, this.#snapshotOptions(signal));
      this.#unkept = typeof snapshot === "string" ? snapshot : snapshot.problem;
      if (typeof snapshot === "string") {
        await journal.append([{ type: "unkept", reason: snapshot }]);
        return { reason: snapshot, done: async () => [] };
      }
      const manifest = await this.#store.contents.put(snapshotToBytes(snapshot), {
        isDurable: true,
      });
      const id = randomName();
      const listed = [...snapshot.entries].flatMap(([name, { kind }]) =>
        kind === "folder" ? [] : [name],
      );
      const before = await this.#nameLines(open, listed);
      const first = await journal.append([...before, { type: "tree", id, manifest }]);
      for (const name of listed) names.add(name);
      const seq = first + before.length;
      return { done: () => this.#noteChanges(open, snapshot, { id, seq }) };
    } catch (error) {
      throw toFileError("keep a copy of", "the files of the workspace", error);
    }
  }

  /** If this fails, the plan has the same information, except for the mode. */
  async #noteWritten(
    journal: Journal,
    names: readonly string[],
    planned: PlannedState,
  ): Promise<void> {
    try {
      const lines = names.flatMap((name): JournalLine[] => {
        const stats = findStats(path.join(this.#store.root, name));
        if (stats === undefined) return [{ type: "wrote", path: name, after: ABSENT }];
        const mode = modeOf(stats);
        if (stats.isDirectory()) {
          return [{ type: "wrote", path: name, after: { kind: "folder", mode } }];
        }
        if (planned.kind !== "file" || !stats.isFile()) return [];
        const { digest } = planned;
        const after: EntryState = { kind: "file", mode, size: Number(stats.size), digest };
        return [{ type: "wrote", path: name, after }];
      });
      await journal.append(lines, false);
    } catch {
      // See above.
    }
  }

  /** If this fails, an undo asks the user which changes since the snapshot are theirs. */
  async #noteChanges(
    open: OpenTurn,
    snapshot: Snapshot,
    { id, seq }: { readonly id: string; readonly seq: number },
  ): Promise<readonly string[]> {
    try {
      const { signal } = new AbortController();
      const { journal, kept } = open;
      const { entries, names, problem } = await findChanges(
        snapshot,
        this.#snapshotOptions(signal),
      );
      const lines = entries.flatMap(({ path: name, before, after }): JournalLine[] => [
        { type: "keep", path: name, before, seq },
        { type: "wrote", path: name, after },
      ]);
      if (problem !== undefined) {
        this.#unkept = problem;
        lines.push({ type: "unkept", reason: problem });
      }
      await journal.append([...lines, { type: "tree_end", id }]);
      for (const { path: name } of entries) kept.add(name);
      // Last: these lines need space on the disk, and only the next command needs them.
      await this.#noteNames(open, names);
      return entries.map(({ path: name }) => name);
    } catch {
      return [];
    }
  }

  /** Records the paths that Git knows, as far as they are new. */
  async #noteNames(open: OpenTurn, listed?: readonly string[]): Promise<void> {
    const found = listed ?? (await this.#listNames());
    const lines = await this.#nameLines(open, found);
    if (lines.length > 0) await open.journal.append(lines);
    for (const name of found) open.names.add(name);
  }

  async #listNames(): Promise<readonly string[]> {
    const { variables } = this.#options;
    const { signal } = new AbortController();
    const listing = await listNames({ root: this.#store.root, variables }, signal);
    return typeof listing === "string" ? [] : listing.files;
  }

  async #nameLines(
    { names, kept }: OpenTurn,
    listed: readonly string[],
  ): Promise<readonly JournalLine[]> {
    const fresh = listed.filter((name) => !names.has(name) && !kept.has(name));
    if (fresh.length === 0) return [];
    const list = Buffer.from(JSON.stringify(fresh));
    return [{ type: "names", names: await this.#store.contents.put(list, { isDurable: true }) }];
  }

  /** The turn may have changed since: a message from the user instead of a yes starts another one. */
  async #openTurn(): Promise<OpenTurn> {
    const turn = this.#options.turn();
    if (this.#open?.turn !== turn) this.#open = { turn, opened: this.#openJournal(turn) };
    try {
      return await this.#open.opened;
    } catch (error) {
      this.#open = undefined;
      throw error;
    }
  }

  async #openJournal(turn: string): Promise<OpenTurn> {
    const { journal, lines } = await this.#store.openJournal(this.#options.conversation, turn);
    const undone = lines.findLastIndex((line) => line?.type === "undo_end");
    const kept = lines
      .slice(undone + 1)
      .flatMap((line) => (line?.type === "keep" ? [line.path] : []));
    const names = new Set<string>();
    for (const line of lines) {
      if (line?.type === "keep") names.add(line.path);
      if (line?.type !== "names") continue;
      for (const name of parseNames(this.#store.contents.get(line.names))) names.add(name);
    }
    return { journal, kept: new Set(kept), names };
  }

  #snapshotOptions(signal: AbortSignal): SnapshotOptions {
    const { variables, snapshotLimits: limits, clock } = this.#options;
    const { root, contents, indexFile } = this.#store;
    const forTests = {
      ...(limits !== undefined && { limits }),
      ...(clock !== undefined && { clock }),
    };
    return { root, contents, indexFile, variables, signal, ...forTests };
  }
}

/** Leaves out what is not a name. */
function parseNames(list: Buffer): readonly string[] {
  const value = findJson(list.toString("utf8"));
  return isJsonArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/** The parent folders of a file, outermost first. */
function foldersOf(relative: string): readonly string[] {
  const names = relative.split("/").slice(0, -1);
  return names.map((_name, index) => names.slice(0, index + 1).join("/"));
}
