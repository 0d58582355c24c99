/** A conversation's record as a whole: where its config starts from, and everything since. */
import { isJsonObject, type JsonObject } from "../util/index.ts";
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
  const { createdAt, entries } = stored;
  const baseConfig = stored.baseConfig && withoutPlaceholders(stored.baseConfig);
  if (baseConfig !== undefined) return { createdAt, baseConfig, entries };
  const first = entries[0]?.content;
  if (first?.kind !== "config_delta") return { createdAt, baseConfig: {}, entries };
  return { createdAt, baseConfig: first.delta, entries: entries.slice(1) };
}

/** Stands for a model where none is known. It says what it is to those who see it elsewhere. */
const NO_MODEL = { provider: "ollama", name: "no-model-recorded" };

/** The Rust original does not open a conversation whose base config lacks one of these. */
const REQUIRED = {
  assistant: { model: { id: NO_MODEL } },
  conversation: { tools: { "*": { run: "ask" } } },
};

/** A base config as it is written, so that the Rust original can open it. */
export function withRequiredConfig(baseConfig: JsonObject): JsonObject {
  return withMissing(baseConfig, REQUIRED);
}

function withMissing(value: JsonObject, required: JsonObject): JsonObject {
  const members = Object.entries(required).flatMap(([key, member]) => {
    const own = value[key];
    if (own === undefined) return [[key, member] as const];
    const isTable = isJsonObject(own) && isJsonObject(member) && member !== NO_MODEL;
    return isTable ? [[key, withMissing(own, member)] as const] : [];
  });
  return { ...value, ...Object.fromEntries(members) };
}

/** What was only written because it is required says nothing. */
function withoutPlaceholders(baseConfig: JsonObject): JsonObject {
  const isPlaceholder = JSON.stringify(baseConfig["assistant"] ?? {}).includes(NO_MODEL.name);
  return isPlaceholder ? withoutEqual(baseConfig, REQUIRED) : baseConfig;
}

function withoutEqual(value: JsonObject, other: JsonObject): JsonObject {
  const members = Object.entries(value).flatMap(([key, member]) => {
    const counterpart = Object.hasOwn(other, key) ? other[key] : undefined;
    if (JSON.stringify(member) === JSON.stringify(counterpart)) return [];
    if (!isJsonObject(member) || !isJsonObject(counterpart)) return [[key, member] as const];
    const rest = withoutEqual(member, counterpart);
    return Object.keys(rest).length === 0 ? [] : [[key, rest] as const];
  });
  return Object.fromEntries(members);
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
