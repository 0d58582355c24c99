/**
 * Marks conversations that may have an incomplete turn. Markers of a workspace are in the user's own folder, those of a
 * store in the store. They have two uses:
 *
 * - Finding incomplete turns without reading all records. A marker exists from the first write until the turn is
 *   complete, or longer if the process was killed. So a marker may be wrong, and each marked record has to be read.
 * - Proving that a turn is the user's own. A marker has a copy of what this user's processes have written of the turn.
 *   A record may come with a clone, and its turn may have decisions that this user never made. A clone cannot bring a
 *   marker. It is a copy rather than a hash because loading Node's cryptography takes longer than writing both.
 *
 * The first line is the name of the conversation's folder, or empty. The second is the real path of the workspace as
 * JSON, or null in a store: clones of a workspace share their markers, and a turn is the user's own only where they
 * left it. The entries follow, one per line, with an empty line after each write. A marker is synced only when its turn
 * is left open. If a power failure loses one, the next writer creates it, but in a workspace its turn then counts as
 * someone else's.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  lastTurnOf,
  lastTurnStart,
  readTurnProgress,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import {
  findJson,
  isJsonObject,
  type Json,
  systemErrorCode,
  withoutLoneSurrogates,
} from "../../util/index.ts";
import { readIfThere, writeError } from "../storage-error.ts";
import { OWNER_FOLDER } from "./private-folder.ts";
import { lineOf, type TurnCopy } from "./restore-turn.ts";
import type { PrivatePlace } from "./user-data.ts";
import { findFileId } from "./file-id.ts";

const FOLDER = "open-turns";

export interface Marker {
  readonly id: ConversationId;
  /** The name of the conversation's folder when the marker was created. It may have changed. */
  readonly folderName: string;
}

/** In no particular order. With ids, only the markers of these. Throws `read_failed`. */
export function listMarkers(
  privateFolder: string | undefined,
  only?: readonly ConversationId[],
): readonly Marker[] {
  if (privateFolder === undefined) return [];
  const folder = markersIn(privateFolder);
  const ids = only ?? idsIn(folder);
  return ids.flatMap((id) => {
    const name = findFolderName(folder, id);
    if (name === undefined && only !== undefined) return [];
    return [{ id, folderName: name ?? "" }];
  });
}

/** The conversations that have a marker, without reading it. Throws `read_failed`. */
export function listMarked(privateFolder: string | undefined): ReadonlySet<ConversationId> {
  return new Set(privateFolder === undefined ? [] : idsIn(markersIn(privateFolder)));
}

/** The folder with the markers, which are named by id. */
export function markersIn(privateFolder: string): string {
  return path.join(privateFolder, FOLDER);
}

function markerIn(privateFolder: string, id: ConversationId): string {
  return path.join(privateFolder, FOLDER, id);
}

function idsIn(folder: string): readonly ConversationId[] {
  const names = readIfThere(folder, () => readdirSync(folder)) ?? [];
  return names.flatMap((name) => findFileId(name) ?? []);
}

/** No file system has longer names. */
const firstLine = Buffer.alloc(1024);

/**
 * Returns only a name, for any content. Does not read the rest of the file, which may be long. Undefined if it does not
 * exist.
 */
function findFolderName(folder: string, id: ConversationId): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path.join(folder, id), "r");
    const text = firstLine.toString("utf8", 0, readSync(file, firstLine));
    return path.basename(text.slice(0, text.indexOf("\n")));
  } catch (error) {
    return systemErrorCode(error) === "ENOENT" ? undefined : "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

interface MarkerFile {
  /** Undefined in a store. */
  readonly workspace: string | undefined;
  /** One element per write: entries, one per line. */
  readonly writes: readonly string[];
  /** It ends in the middle of a write, whose process was killed before it could write to the record. */
  readonly isTorn: boolean;
  /** As a power failure may leave it. */
  readonly isEmpty: boolean;
}

/** Undefined if it does not exist: its writer may just have removed it. Throws `read_failed`. */
function findMarker({ privateFolder, id }: PrivatePlace): MarkerFile | undefined {
  const text = findText(markerIn(privateFolder, id));
  if (text === undefined) return undefined;
  const afterName = text.slice(text.indexOf("\n") + 1);
  const end = afterName.indexOf("\n");
  const workspace = findJson(afterName.slice(0, end));
  const parts = afterName.slice(end + 1).split("\n\n");
  return {
    workspace: typeof workspace === "string" ? workspace : undefined,
    // Earlier versions kept lone surrogates, which the record does not have.
    writes: parts.slice(0, -1).map(withoutLoneSurrogates),
    isTorn: parts.at(-1) !== "",
    isEmpty: text === "",
  };
}

function findText(file: string): string | undefined {
  return readIfThere(file, () => {
    // Usually it does not exist, and throwing an error is slower.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
    return readFileSync(file, "utf8");
  });
}

/** Undefined without a marker; without lines if the marker has no copy. Throws `read_failed`. */
export function findCopy(place: PrivatePlace | undefined): TurnCopy | undefined {
  const marker = place && findMarker(place);
  if (!marker) return undefined;
  const writes = marker.writes.map(toEntryLines);
  const lines = writes.flat();
  const isElsewhere = marker.workspace !== place.workspace;
  if (isElsewhere && lines.length > 0) return undefined;
  const isReadable = lines.every((line) => isJsonObject(findJson(line)));
  return isReadable
    ? { lines, lastWrite: writes.at(-1)?.length ?? 0 }
    : { lines: [], lastWrite: 0 };
}

function toEntryLines(written: string): readonly string[] {
  return written === "" ? [] : written.split("\n");
}

export function hasMarker(privateFolder: string, id: ConversationId): boolean {
  return existsSync(markerIn(privateFolder, id));
}

/** Without a marker, or with an empty one, as a power failure may leave it. */
export function isUnmarked(privateFolder: string, id: ConversationId): boolean {
  const stats = statSync(markerIn(privateFolder, id), { throwIfNoEntry: false });
  return stats === undefined || stats.size === 0;
}

/** A leftover marker is wrong, but harmless. */
export function unmark(privateFolder: string, id: ConversationId): void {
  try {
    unlinkSync(markerIn(privateFolder, id));
  } catch {
    // There is none, or the next writer tries again.
  }
}

export function hasOpenTurn(entries: readonly StreamEntry[]): boolean {
  const turn = lastTurnOf(entries);
  return turn.length > 0 && readTurnProgress(turn).next !== "done";
}

/** The last turn, if it is as this user's processes have left it. */
export interface OwnTurn {
  readonly text: string;
  /** The part of the marker's last write that is in the record: its process may have been killed in between. */
  readonly lastWrite: string;
  /** The marker has exactly this. */
  readonly isComplete: boolean;
}

/** The workspace in which the user left the open turn, if known. */
export function findWorkspaceOfTurn(place: PrivatePlace): string | undefined {
  return findMarker(place)?.workspace;
}

export function findOwnTurn(
  place: PrivatePlace | undefined,
  entries: readonly StreamEntry[],
): OwnTurn | undefined {
  return place && ownTurnIn(findMarker(place), place, entries);
}

function ownTurnIn(
  marker: MarkerFile | undefined,
  { workspace }: PrivatePlace,
  entries: readonly StreamEntry[],
): OwnTurn | undefined {
  return marker?.workspace === workspace ? marker && matchTurn(marker, entries) : undefined;
}

/** Another folder in which the user has left the last turn, if the turn is still the same. */
function otherFolderIn(
  marker: MarkerFile | undefined,
  place: PrivatePlace,
  entries: readonly StreamEntry[],
): string | undefined {
  if (marker?.workspace === undefined || marker.workspace === place.workspace) return undefined;
  return matchTurn(marker, entries) && marker.workspace;
}

function matchTurn(marker: MarkerFile, entries: readonly StreamEntry[]): OwnTurn | undefined {
  const text = turnToText(entries);
  if (text === undefined) return undefined;
  const earlier = marker.writes.slice(0, -1);
  const last = marker.writes.at(-1)?.split("\n") ?? [];
  for (let count = last.length; count >= 0; count -= 1) {
    const lastWrite = last.slice(0, count).join("\n");
    const isComplete = count === last.length && !marker.isTorn;
    const writes = [...earlier, lastWrite];
    // Usually the marker has exactly this, so its lines need not be parsed.
    if (writes.join("\n") === text || lastTurnIn(writes) === text) {
      return { text, lastWrite, isComplete };
    }
  }
  return undefined;
}

/** The last turn; undefined without one. */
export function turnToText(entries: readonly StreamEntry[]): string | undefined {
  const start = lastTurnStart(entries);
  if (start === -1) return undefined;
  return toLines(entries.slice(start).filter((entry) => entry.raw["type"] !== COMPACTION));
}

function lastTurnIn(writes: readonly string[]): string | undefined {
  const lines = writes.flatMap(toEntryLines);
  const start = lines.findLastIndex((line) => typeIn(line) === "turn_start");
  if (start === -1) return undefined;
  const ofTurn = lines.slice(start).filter((line) => typeIn(line) !== COMPACTION);
  return ofTurn.join("\n");
}

/** It decides nothing, and may be removed from the record while the turn is open. */
const COMPACTION = "compaction";

/** The type of the element on a line. */
function typeIn(line: string): Json | undefined {
  const element = findJson(line);
  return isJsonObject(element) ? element["type"] : undefined;
}

function toLines(entries: readonly StreamEntry[]): string {
  return entries.map(lineOf).join("\n");
}

export interface MarkedRecord extends Pick<Marker, "folderName"> {
  readonly entries: readonly StreamEntry[];
  /** The last turn of the conversation that this one is a copy of, if it is known to be the user's own. */
  readonly ownTurn?: string | undefined;
  /** Without a marker, the last turn is the user's own: there is nothing to compare it with, and no clone brings it. */
  readonly trustsUnmarked?: boolean | undefined;
}

/** The marker of a conversation that is open for writing. */
export class TurnMarker {
  readonly #place: PrivatePlace;
  readonly #head: string;
  #isOwnTurn: boolean;
  /** The next write starts a turn. */
  #isStarting = false;
  /** Open from a write on, until `rest`. */
  #file: number | undefined;
  /** There are unsynced writes. */
  #isUnsynced = false;
  /** Its length, and its length before the last write. */
  #length = { now: 0, before: 0 };
  /** It describes this record. Clones of a workspace share their markers. */
  #isOurs: boolean;
  #startedIn: string | undefined;

  /** Throws `write_failed`. */
  constructor(place: PrivatePlace, { folderName, entries, ...given }: MarkedRecord) {
    const { workspace = null } = place;
    this.#place = place;
    // A clone may bring a name with several lines, which would count as written by this user.
    const name = folderName.includes("\n") ? "" : folderName;
    this.#head = `${name}\n${JSON.stringify(workspace)}\n`;
    const marker = findMarker(place);
    const hasNone = marker?.isEmpty ?? true;
    const turn = turnToText(entries);
    const ownTurn = hasNone && given.trustsUnmarked === true ? turn : given.ownTurn;
    const isCopied = ownTurn !== undefined && turn === ownTurn;
    const own = ownTurnIn(marker, place, entries);
    this.#isOwnTurn = isCopied || own !== undefined;
    this.#isOurs = this.#isOwnTurn;
    this.#startedIn = this.#isOwnTurn ? undefined : otherFolderIn(marker, place, entries);
    if (own?.isComplete === false) this.#repair(own);
    if (marker === undefined && hasOpenTurn(entries)) this.#start(isCopied ? ownTurn : "");
  }

  get #path(): string {
    return markerIn(this.#place.privateFolder, this.#place.id);
  }

  /** Whether the last turn is exactly what this user's processes wrote. */
  get isOwnTurn(): boolean {
    return this.#isOwnTurn;
  }

  /** See `ConversationWriter.startedIn`. */
  get startedIn(): string | undefined {
    return this.#startedIn;
  }

  /** Called before entries are added to the record. `entries` are those it already has. Throws `write_failed`. */
  prepare(added: readonly StreamEntry[], entries: readonly StreamEntry[]): void {
    this.#isStarting = added.some(({ eventType }) => eventType === "turn_start");
    const isOwn = this.#isOwnTurn;
    if (this.#isStarting && !(isOwn && hasOpenTurn(entries))) this.#start(toLines(added));
    else if (isOwn) this.#write(`${toLines(added)}\n\n`);
    else if (!hasMarker(this.#place.privateFolder, this.#place.id)) this.#start("");
  }

  /** Called once they are on disk. Touches the marker again, so that watchers of the store read them now. */
  commit(): void {
    if (this.#isStarting) {
      this.#isOwnTurn = true; // Entries added to another turn do not change that.
      this.#startedIn = undefined;
    }
    const now = new Date();
    try {
      if (this.#file !== undefined) futimesSync(this.#file, now, now);
      else utimesSync(this.#path, now, now);
    } catch {
      // Watchers read it later.
    }
  }

  /** Called if they are not written. */
  undo(): void {
    try {
      if (this.#file !== undefined) this.#truncate(this.#length.before);
    } catch {
      // Then the turn counts as someone else's.
    }
    this.rest();
  }

  /** Closes the file until the next write. */
  rest(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Called when another program has changed the record. */
  check(entries: readonly StreamEntry[]): void {
    const marker = findMarker(this.#place);
    this.#isOwnTurn &&= ownTurnIn(marker, this.#place, entries) !== undefined;
    this.#startedIn &&= otherFolderIn(marker, this.#place, entries);
  }

  /** Removes it unless the turn is still open. */
  close(entries: readonly StreamEntry[]): void {
    const isOpen = hasOpenTurn(entries);
    if (this.#isUnsynced && isOpen) this.#sync();
    this.rest();
    if (this.#isOurs && !isOpen) unmark(this.#place.privateFolder, this.#place.id);
  }

  /** Drops lines that are not in the record. */
  #repair({ lastWrite }: OwnTurn): void {
    const file = this.#path;
    const { writes = [] } = findMarker(this.#place) ?? {};
    const kept = [...writes.slice(0, -1), lastWrite].filter((written) => written !== "");
    const text = this.#head + kept.map((written) => `${written}\n\n`).join("");
    try {
      writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
    } catch (error) {
      throw writeError(file, error);
    }
  }

  /** Replaces its content. A process killed in between leaves an empty marker, and a record without a turn. */
  #start(text: string): void {
    if (this.#file !== undefined) this.#truncate(0);
    this.#write(this.#head + (text === "" ? "" : `${text}\n\n`), "w");
  }

  /** In one write, which a kill hardly ever tears; the next process to open the record drops a torn part. */
  #write(text: string, flag: "a" | "w" = "a"): void {
    const file = this.#path;
    try {
      if (this.#file === undefined) {
        this.#file = flag === "w" ? openEmpty(file) : openSync(file, "a", 0o600);
        this.#length.now = fstatSync(this.#file).size;
      }
      this.#length.before = this.#length.now;
      const written = writeSync(this.#file, text);
      this.#length.now += written;
      if (written < Buffer.byteLength(text)) throw new Error("the disk is full");
    } catch (error) {
      this.undo();
      throw writeError(file, error);
    }
    this.#isUnsynced = true;
    this.#isOurs = true;
  }

  #truncate(length: number): void {
    if (this.#file !== undefined) ftruncateSync(this.#file, length);
    this.#length.now = length;
  }

  #sync(): void {
    try {
      this.#file ??= openSync(this.#path, "r");
      fsyncSync(this.#file);
    } catch {
      // The next writer tries again.
    }
  }
}

/** Opens an empty file for appending. */
function openEmpty(file: string): number {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND } = constants;
  const open = () => openSync(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600);
  try {
    return open();
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    mkdirSync(path.dirname(file), { recursive: true, mode: OWNER_FOLDER });
    return open();
  }
}
