/** Lists the incomplete turns of a file store by their markers: records without one are not read. */
import path from "node:path";
import {
  type ConversationMetadata,
  hasAllLabels,
  lastTurnEntries,
  type StreamEntry,
  titleAndLabels,
} from "../../record/conversation/index.ts";
import { messageOf, shouldYield, yieldToEventLoop } from "../../util/index.ts";
import type { ListPendingTurnsOptions, PendingTurn, RecordProblem } from "../port.ts";
import {
  BASE_CONFIG,
  type ConversationCopy,
  type ConversationRoots,
  currentCopies,
  EVENTS,
  findCopies,
  liveCopiesNamed,
  METADATA,
  readCopies,
} from "./conversation-folders.ts";
import { readEvents } from "./event-file.ts";
import { findIdInFolderName, isFileId } from "./file-id.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { FsContext } from "./fs-context.ts";
import { findLastTurn } from "./last-turns.ts";
import { findCopy, hasOpenTurn, listMarkers, type Marker } from "./open-turns.ts";
import {
  findDoubt,
  isWhole,
  planRestore,
  type ReadRecord,
  type TurnCopy,
  withLoss,
} from "./restore-turn.ts";
import { findRecent } from "./recent-records.ts";
import { folderOfLatest, readMetadata } from "./summary.ts";
import type { PrivatePlace } from "./user-data.ts";

/** See `ConversationStore.listPending`. */
export async function listPendingTurns(
  context: FsContext,
  options: ListPendingTurnsOptions,
): Promise<readonly PendingTurn[]> {
  const turns: PendingTurn[] = [];
  const { id: only, ids = only === undefined ? undefined : [only] } = options;
  const roots = context.roots();
  const { labels = {}, hasMetadata = false } = options;
  const isNeeded = hasMetadata || Object.keys(labels).length > 0;
  for (const marker of listMarkers(context.findPrivateFolder(), ids?.filter(isFileId))) {
    const { id } = marker;
    if ((only ?? id) !== id) continue;
    if (shouldYield()) await yieldToEventLoop();
    const copies = copiesOfMarked(roots, marker);
    if (copies.length === 0) continue;
    const metadata = isNeeded ? findMetadata(copies) : undefined;
    if (!hasAllLabels(metadata ?? {}, labels)) continue;
    // Read before the entries: a process that ends in between has written them all.
    const isLive = context.isLive(id);
    if (options.isBrief === true) {
      turns.push({ id, entries: [], isLive, version: versionOf(copies, isLive) });
      continue;
    }
    try {
      const { entries, problem } = await readCopies(
        () => copiesOfMarked(roots, marker),
        (found) => readLastTurn(found, context.findPlace(id)),
        copies,
      );
      if (problem === undefined && !hasOpenTurn(entries)) continue;
      const described = hasMetadata && metadata && titleAndLabels(metadata);
      const doubt = problem && { problem: describeProblem(problem) };
      turns.push({ id, ...described, entries, isLive, ...doubt });
    } catch (error) {
      turns.push({ id, entries: [], isLive, problem: messageOf(error) });
    }
  }
  return turns;
}

/** Undefined if it cannot be read, which `list` reports. */
function findMetadata(copies: readonly ConversationCopy[]): ConversationMetadata | undefined {
  try {
    return readMetadata(folderOfLatest(currentCopies(copies), METADATA));
  } catch {
    return undefined;
  }
}

/** The last turn of a record. */
interface LastTurnRead {
  /** From its start, or all entries. Lost parts come from the copy in the user's own folder. */
  readonly entries: readonly StreamEntry[];
  /** Set if the record lacks part of the turn, apart from a torn last write. */
  readonly problem?: RecordProblem | undefined;
}

/** Reads nothing before the last turn, if the record is in the usual layout. Throws `read_failed`. */
export async function readLastTurn(
  copies: readonly ConversationCopy[],
  place: PrivatePlace | undefined,
): Promise<LastTurnRead> {
  const file = path.join(folderOfLatest(currentCopies(copies), EVENTS, BASE_CONFIG), EVENTS);
  const recent = findRecent(file)?.entries;
  if (recent !== undefined) return { entries: [...lastTurnEntries(recent)] };
  const entries = await findLastTurn(file);
  return entries === undefined || entries.length === 0 ? readWithCopy(file, place) : { entries };
}

/**
 * Reads a record. If it has lost part of the open turn, that part comes from the copy in the user's own folder. Throws
 * `read_failed`.
 */
export async function readWithCopy(file: string, place: PrivatePlace | undefined) {
  const read = await readEvents(file);
  if (isWhole(read)) return read;
  const copy = findCopy(place);
  if (read.placed.length > 0) return withCopy(read, copy);
  // Its first turn may have been written since. By now, the record has everything acknowledged before the copy was
  // read.
  return withCopy(withLoss(file, await readEvents(file), copy), copy);
}

function withCopy<Read extends ReadRecord>(
  read: Read,
  copy: TurnCopy | undefined,
): Read & LastTurnRead {
  if (read.placed.length === 0) return read;
  const restored = planRestore(read, copy);
  if (restored === undefined) return { ...read, problem: findDoubt(read, copy !== undefined) };
  return { ...read, entries: restored.entries, problem: read.placed[0]?.problem };
}

export function describeProblem({ file, message }: RecordProblem): string {
  return `${file}: ${message}`;
}

/** Empty if it is archived, or not in this copy of the workspace. */
function copiesOfMarked(
  roots: ConversationRoots,
  { id, folderName: name }: Marker,
): readonly ConversationCopy[] {
  const named = findIdInFolderName(name) === id ? liveCopiesNamed(roots, name) : [];
  if (named.length > 0) return named;
  return findCopies(roots, id).filter((copy) => !copy.isArchived);
}

function versionOf(copies: readonly ConversationCopy[], isLive: boolean): string {
  const files = copies.flatMap(({ folder }) =>
    [EVENTS, METADATA].map((file) => fingerprintOf(path.join(folder, file))),
  );
  return `${isLive} ${files.join(" ")}`;
}
