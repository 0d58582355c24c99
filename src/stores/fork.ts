/** The parts of the original that a fork takes over, in any store. */
import {
  type ConversationMetadata,
  type KeptFile,
  lastTurnOf,
  StreamEntry,
} from "../record/conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { ForkOptions } from "./port.ts";

/** Everything except what concerns only the original. The store adds when the fork was activated. */
export function forkMetadata(
  { expiresAt: _expiresAt, archivedAt: _archivedAt, ...metadata }: ConversationMetadata,
  title: string | undefined,
): ConversationMetadata {
  return { ...metadata, ...(title !== undefined && { title }) };
}

/** The copied entries. Their last turn is the user's own if the original was, and is copied whole. */
export function forkEntries(
  { entries, isOwnTurn }: { readonly entries: readonly StreamEntry[]; readonly isOwnTurn: boolean },
  keep: ForkOptions["keep"],
) {
  const kept = keep === undefined ? entries.slice() : entries.filter((entry) => keep(entry));
  const isWhole = lastTurnOf(entries).length === lastTurnOf(kept).length;
  return { entries: kept, isOwnTurn: isOwnTurn && isWhole };
}

/** The file that this element of a record names, if any. Its bytes are copied with it. */
export function keptFilesOf(element: JsonObject): readonly KeptFile[] {
  if (element["type"] !== "reply_file") return [];
  const { event } = StreamEntry.fromJson(element);
  return event?.type === "reply_file" ? [event] : [];
}
