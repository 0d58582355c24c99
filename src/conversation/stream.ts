/** A conversation's record as a whole: where its config starts from, and everything since. */
import type { JsonObject } from "../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";
import type { Timestamp } from "./timestamp.ts";

/** A record in memory. */
export interface ConversationStream {
  readonly createdAt: Timestamp;
  /** The config at the beginning, as opaque JSON. */
  readonly baseConfig: JsonObject;
  readonly entries: readonly StreamEntry[];
}

/** What a storage has read of a conversation. */
export interface StoredStream {
  readonly createdAt: Timestamp;
  /** Absent in the packed form, where the first element is the base config. */
  readonly baseConfig: JsonObject | undefined;
  readonly entries: readonly StreamEntry[];
}

/** Separates the base config from the entries, wherever the record keeps it. */
export function createStream(stored: StoredStream): ConversationStream {
  const { createdAt, baseConfig, entries } = stored;
  if (baseConfig !== undefined) return { createdAt, baseConfig, entries };
  const first = entries[0]?.content;
  if (first?.kind !== "config_delta") return { createdAt, baseConfig: {}, entries };
  return { createdAt, baseConfig: first.delta, entries: entries.slice(1) };
}

/** The readable events, in order. */
export function* eventsOf(entries: Iterable<StreamEntry>): Generator<ConversationEvent> {
  for (const entry of entries) {
    const { event } = entry;
    if (event !== undefined) yield event;
  }
}

/** The schema the last turn was asked to answer in: that of its first request. */
export function findSchema(stream: ConversationStream): JsonObject | undefined {
  const { entries } = stream;
  const start = entries.findLastIndex((entry) => entry.eventType === "turn_start");
  for (const event of eventsOf(entries.slice(Math.max(start, 0)))) {
    if (event.type === "chat_request") return event.schema;
  }
  return undefined;
}
