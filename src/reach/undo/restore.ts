/**
 * Restores the state before a turn. It saves what it replaces and records its steps first, so that an interrupted undo
 * can be repeated. Links are never followed.
 */
import { chmod, mkdir, rename, rm, rmdir, symlink, unlink } from "node:fs/promises";
import { constants, readdirSync } from "node:fs";
import path from "node:path";
import {
  decodeFileName,
  FileError,
  type Folder,
  formatPath,
  openFolder,
  toFileError,
  toSystemPath,
} from "../files/index.ts";
import { JpError, messageOf, openHandle, sha256, systemErrorCode } from "../../util/index.ts";
import { ABSENT, type EntryState, isSameState } from "./entry-state.ts";
import { isLeft, type KeptPath, type KeptTurn } from "./kept-turn.ts";
import type { PathState } from "./journal.ts";
import { findChanges, snapshotFromBytes } from "./snapshot.ts";
import type { UndoStore } from "./store.ts";
import { findStats, readEntry, readRepository } from "./work-tree.ts";

/** One path that an undo would change. */
export interface UndoStep {
  readonly path: string;
  /** The state to restore. */
  readonly before: EntryState;
  /** The current state. */
  readonly now: EntryState;
  /** `changed`: someone else has changed it since. `unknown`: jp was stopped while a command ran, so it cannot tell. */
  readonly conflict?: "changed" | "unknown";
}

export interface UndoPlan {
  readonly turn: KeptTurn;
  /** Sorted by path. */
  readonly steps: readonly UndoStep[];
  /** Paths whose content was not saved: too large, or unreadable. */
  readonly lost: readonly string[];
}

export interface PlanOptions {
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Changes nothing in the workspace. Throws system errors, and `kept_content_lost`. */
export async function planUndo(
  store: UndoStore,
  turn: KeptTurn,
  options: PlanOptions,
): Promise<UndoPlan> {
  const paths = new Map(turn.paths);
  const unended = await findUnended(store, turn, options);
  for (const [name, found] of unended.paths) {
    const known = paths.get(name);
    if (known === undefined || found.seq < known.seq) {
      paths.set(name, { ...found, left: known?.left ?? [] });
    }
  }
  const steps: UndoStep[] = [];
  const lost: string[] = [];
  for (const [name, kept] of [...paths].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const { before } = kept;
    const now = await readNow(store.root, name, before);
    if (isSameState(before, now)) continue;
    if (before.kind === "unkept") {
      // Ignored files are noted only when they are gone.
      if (before.reason !== "ignored" || now.kind === "absent") lost.push(name);
    } else if (needsStep(kept, now)) {
      // Git does not list empty folders, so their creator is unknown.
      const isEmpty = now.kind === "folder" && filesIn(store.root, name).length === 0;
      const conflict = isEmpty && isLeft(kept, ABSENT) ? undefined : findConflict(kept, now);
      steps.push({ path: name, before, now, ...(conflict !== undefined && { conflict }) });
    }
  }
  return {
    turn: { ...turn, unkept: [...turn.unkept, ...unended.problems] },
    steps: withBlocked(store.root, withFolders(store.root, steps.filter(isNeeded))),
    lost,
  };
}

/** A folder counts as a repository only if it was one before. */
async function readNow(root: string, name: string, before: EntryState): Promise<EntryState> {
  const isRepository = before.kind === "unkept" && before.reason === "repository";
  return isRepository ? readRepository(root, name) : readEntry(root, name, { isDurable: false });
}

/** Adds folders that files are restored into, and that someone else has deleted. Their modes are not known. */
function withFolders(root: string, steps: readonly UndoStep[]): readonly UndoStep[] {
  const known = new Set(steps.map((step) => step.path));
  const missing = new Set(
    steps
      .filter(({ before }) => isThing(before))
      .flatMap((step) => parentsOf(step.path))
      .filter((name) => !known.has(name) && findStats(path.join(root, name)) === undefined),
  );
  const before = { kind: "folder", mode: 0o755 } as const;
  const added = [...missing].map((name): UndoStep => ({ path: name, before, now: ABSENT }));
  return [...steps, ...added].toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

/** Outermost first. */
function parentsOf(name: string): readonly string[] {
  const names = name.split("/").slice(0, -1);
  return names.map((_name, index) => names.slice(0, index + 1).join("/"));
}

/** A deleted folder is restored only if something in it is. */
function isNeeded({ path: name, before, now }: UndoStep, _: number, all: readonly UndoStep[]) {
  if (before.kind !== "folder" || now.kind !== "absent") return true;
  return all.some((other) => other.path.startsWith(`${name}/`) && isThing(other.before));
}

function isThing({ kind }: EntryState): boolean {
  return kind === "file" || kind === "link";
}

/** A folder whose mode someone else has changed keeps it. */
function needsStep(kept: KeptPath, now: EntryState): boolean {
  const isBoth = now.kind === "folder" && kept.before.kind === "folder";
  return !isBoth || isLeft(kept, now);
}

function findConflict(kept: KeptPath, now: EntryState): UndoStep["conflict"] {
  if (isLeft(kept, now)) return undefined;
  // Others may have put files into a new folder, so it is removed only if empty.
  if (now.kind === "folder" && kept.before.kind === "absent") return undefined;
  // It is restored only for its contents.
  if (now.kind === "absent" && kept.before.kind === "folder") return undefined;
  return kept.left.length === 0 ? "unknown" : "changed";
}

/** A folder in place of a file can be removed only with everything in it. */
function withBlocked(root: string, steps: readonly UndoStep[]): readonly UndoStep[] {
  const removed = new Set(
    steps.filter(({ before }) => before.kind === "absent").map((step) => step.path),
  );
  return steps.map((step) => {
    const isReplaced =
      step.now.kind === "folder" && !["absent", "folder"].includes(step.before.kind);
    if (!isReplaced || step.conflict !== undefined) return step;
    const isKept = filesIn(root, step.path).some((name) => !removed.has(name));
    return isKept ? { ...step, conflict: "changed" } : step;
  });
}

/** Everything but folders. */
function filesIn(root: string, folder: string): readonly string[] {
  return listFolder(path.join(root, folder)).flatMap((entry) => {
    const name = path.posix.join(folder, decodeFileName(entry.name));
    return entry.isDirectory() ? filesIn(root, name) : [name];
  });
}

function listFolder(folder: string) {
  return readdirSync(toSystemPath(folder), { withFileTypes: true, encoding: "buffer" });
}

interface UnendedChanges {
  readonly paths: ReadonlyMap<string, KeptPath>;
  /** Codes for why some may be missing. */
  readonly problems: readonly string[];
}

/** Changes since the start of unfinished commands. */
async function findUnended(
  store: UndoStore,
  { openTrees }: KeptTurn,
  { variables }: PlanOptions,
): Promise<UnendedChanges> {
  const found = new Map<string, KeptPath>();
  const problems = new Set<string>();
  const { root, contents, indexFile } = store;
  const { signal } = new AbortController();
  for (const { seq, manifest } of openTrees.toReversed()) {
    const snapshot = snapshotFromBytes(contents.get(manifest));
    const options = { root, contents, indexFile, variables, signal };
    const { entries, problem } = await findChanges(snapshot, options);
    for (const { path: name, before } of entries) found.set(name, { before, seq, left: [] });
    if (problem !== undefined) problems.add(problem);
  }
  return { paths: found, problems: [...problems] };
}

/** The contents to show for a step. Undefined where there is no file. Throws `kept_content_lost`. */
export interface StepContents {
  readonly before: Buffer | undefined;
  readonly now: Buffer | undefined;
}

export async function readStep(
  store: UndoStore,
  { path: name, before, now }: Pick<UndoStep, "path" | "before" | "now">,
): Promise<StepContents> {
  return {
    before: before.kind === "file" ? store.contents.get(before.digest) : undefined,
    now: now.kind === "file" ? await readCurrent(store.root, name) : undefined,
  };
}

async function readCurrent(root: string, name: string): Promise<Buffer> {
  await using folder = await openFolder(path.join(root, path.posix.dirname(name)));
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: noBlock = 0 } = FLAGS;
  const file = toSystemPath(folder.entry(path.posix.basename(name)));
  await using handle = await openHandle(file, constants.O_RDONLY | noFollow | noBlock);
  return await handle.readFile();
}

/** Undefined on Windows, contrary to the types. */
const FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

export interface ApplyOptions {
  /** Overwrites changes that someone else has made since. */
  readonly isForced?: boolean;
  /** Called when everything is saved and recorded, before the first change. */
  readonly onStart?: () => Promise<void>;
}

/**
 * Throws `undo_conflict` if something has changed since the plan was made, or if there are conflicts without `isForced`;
 * `undo_blocked` if a folder has become a link; and `undo_incomplete` if something cannot be saved or restored. Only after
 * that may other paths have been restored: repeat it.
 */
export async function applyUndo(
  store: UndoStore,
  { turn, steps }: UndoPlan,
  { isForced = false, onStart }: ApplyOptions = {},
): Promise<void> {
  checkParents(store.root, steps);
  const replaced: PathState[] = [];
  for (const { path: name, now, conflict } of steps) {
    const options = { contents: store.contents, isDurable: true };
    const state = await orIncomplete("keep a copy of", formatPath(name), () =>
      readEntry(store.root, name, options),
    );
    if (!isSameState(state, now) || (conflict !== undefined && !isForced))
      throw conflictError(name);
    replaced.push({ path: name, state });
  }
  const contents = new Map(
    steps.flatMap(({ path: name, before }) =>
      before.kind === "file" ? [[name, store.contents.get(before.digest)] as const] : [],
    ),
  );
  const journal = store.journalOf(turn);
  await orIncomplete("write", journal.file, () =>
    journal.append([{ type: "undo_start", replaced }]),
  );
  await onStart?.();
  await restore(store.root, steps, contents);
  await orIncomplete("write", journal.file, () => journal.append([{ type: "undo_end" }]));
}

/** Throws `undo_blocked`. A link that the undo itself replaces is no obstacle. */
function checkParents(root: string, steps: readonly UndoStep[]): void {
  const replaced = new Set(steps.map((step) => step.path));
  for (const step of steps) {
    for (const name of parentsOf(step.path)) {
      const stats = findStats(path.join(root, name));
      if (stats === undefined || stats.isDirectory() || replaced.has(name)) continue;
      const kind = stats.isSymbolicLink() ? "link" : "file";
      throw new JpError(
        "undo_blocked",
        `${formatPath(name)} was a folder and is a ${kind} now, so ${formatPath(step.path)} cannot be restored. Nothing was undone.`,
        { hint: `Move the ${kind} away, and undo again.` },
      );
    }
  }
}

/** Throws `undo_incomplete` in place of a system error. */
async function orIncomplete<Value>(
  action: string,
  displayPath: string,
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    const cause = toFileError(action, displayPath, error);
    if (!(cause instanceof FileError)) throw cause;
    const hint = "Nothing is lost. Undo again to complete it.";
    throw new JpError("undo_incomplete", messageOf(cause), { cause, hint });
  }
}

function conflictError(name: string): JpError {
  return new JpError("undo_conflict", `${formatPath(name)} has changed since. Nothing was undone.`);
}

async function restore(
  root: string,
  steps: readonly UndoStep[],
  contents: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const inOrder = steps.toSorted((left, right) => depthOf(left) - depthOf(right));
  const run = (step: UndoStep, action: () => Promise<void>) =>
    orIncomplete("restore", formatPath(step.path), action);
  // Nothing in a read-only folder could be restored.
  for (const step of inOrder) {
    const { before, now } = step;
    if (before.kind !== "folder" || now.kind !== "folder") continue;
    await run(step, () => chmod(toSystemPath(path.join(root, step.path)), before.mode | 0o700));
  }
  for (const step of inOrder.toReversed()) await run(step, () => remove(root, step));
  for (const step of inOrder) await run(step, () => create(root, step, contents.get(step.path)));
  for (const step of inOrder.toReversed()) {
    const { before } = step;
    if (before.kind !== "folder") continue;
    await run(step, () => chmod(toSystemPath(path.join(root, step.path)), before.mode));
  }
}

function depthOf({ path: name }: UndoStep): number {
  return name.split("/").length;
}

/** Removes the current entry, unless a rename replaces it. An earlier attempt may have removed it already. */
async function remove(root: string, { path: name, before, now }: UndoStep): Promise<void> {
  if (now.kind === "absent" || before.kind === now.kind) return;
  if (isThing(before) && isThing(now)) return;
  try {
    await using folder = await openParent(root, name);
    const entry = folder.entry(path.posix.basename(name));
    if (now.kind === "folder") await removeEmpty(entry);
    else await unlink(toSystemPath(entry));
    await folder.sync();
  } catch (error) {
    const code = systemErrorCode(error);
    const isKept = now.kind === "folder" && before.kind === "absent";
    if (isKept && (code === "ENOTEMPTY" || code === "EEXIST")) return;
    if (code !== "ENOENT") throw error;
  }
}

/** Also removes empty folders in it, which Git does not list. */
async function removeEmpty(folder: string): Promise<void> {
  for (const entry of listFolder(folder)) {
    if (entry.isDirectory()) await removeEmpty(path.join(folder, decodeFileName(entry.name)));
  }
  await rmdir(toSystemPath(folder));
}

async function create(
  root: string,
  { path: name, before, now }: UndoStep,
  content: Buffer | undefined,
): Promise<void> {
  if (before.kind === "absent" || isSameState(before, now)) return;
  await using folder = await openParent(root, name);
  const entry = toSystemPath(folder.entry(path.posix.basename(name)));
  if (before.kind === "folder") {
    if (now.kind !== "folder") await mkdir(entry, { mode: before.mode | 0o700 }).catch(unlessThere);
  } else {
    // Always the same name, so that a leftover is replaced.
    const temporary = folder.entry(`.jp-undo-${sha256(name).slice(0, 16)}.tmp`);
    try {
      await rm(temporary, { force: true });
      if (before.kind === "link") await symlink(toSystemPath(before.target), temporary);
      if (before.kind === "file")
        await writeFile(temporary, content ?? Buffer.alloc(0), before.mode);
      await rename(temporary, entry);
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }
  await folder.sync();
}

async function writeFile(file: string, content: Buffer, mode: number): Promise<void> {
  await using handle = await openHandle(file, "wx", 0o600);
  await handle.writeFile(content);
  await handle.chmod(mode);
  await handle.sync();
}

function unlessThere(error: unknown): void {
  if (systemErrorCode(error) !== "EEXIST") throw error;
}

function openParent(root: string, name: string): Promise<Folder> {
  return openFolder(path.join(root, path.posix.dirname(name)));
}

/** A conversation's changes since its start: the first and the current state of each path. */
export async function compareWithStart(
  store: UndoStore,
  turns: readonly KeptTurn[],
  options: PlanOptions,
): Promise<readonly UndoStep[]> {
  const first = new Map<string, EntryState>();
  for (const turn of turns) {
    const unended = await findUnended(store, turn, options);
    for (const [name, { before }] of [...turn.paths, ...unended.paths]) {
      if (!first.has(name)) first.set(name, before);
    }
  }
  const steps: UndoStep[] = [];
  for (const [name, before] of [...first].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const now = await readNow(store.root, name, before);
    if (!isSameState(before, now)) steps.push({ path: name, before, now });
  }
  return steps;
}
