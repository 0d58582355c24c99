/** The record of a conversation as a whole: its base config and all entries. */
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";
import type { Timestamp } from "./timestamp.ts";

/** A record in memory. */
export interface ConversationStream {
  readonly createdAt: Timestamp;
  /** The config when the conversation was created, as opaque JSON. */
  readonly baseConfig: JsonObject;
  /**
   * All of them. If they were not all read when the record was opened or loaded, with `only`, await `load` first: a store
   * in files reads the rest now, at once, and a database cannot, and throws `not_loaded`.
   */
  readonly entries: readonly StreamEntry[];
  /** Those from the last turn start on, as long as only the end of the record is read. */
  readonly end?: readonly StreamEntry[] | undefined;
  /** Resolves when all entries are read, while others can go on. Absent if they always are. Throws `read_failed`, `record_damaged`. */
  load?(): Promise<void>;
  /** `entries` throws until `load` has resolved. Absent if it can be read at any time. */
  readonly mustLoad?: boolean;
  /** Like `load`, but skips turns that models do not see: see `visible`. Absent if all entries are always read. */
  loadVisible?(): Promise<void>;
  /** After `loadVisible`: turns that summaries replace may have no events. Models see the same of it. */
  readonly visible?: ConversationStream;
  /**
   * Says as much of all entries without reading them. Undefined if they are read already, or have to be for it. Damage is
   * not noticed. Throws `read_failed`.
   */
  outline?(): Promise<StreamOutline | undefined>;
}

/** As much of a stream as can be said without reading all of it. */
export interface StreamOutline {
  /** All config deltas, in their order. There may be other entries between them. */
  readonly deltas: readonly StreamEntry[];
  /** The index of the last turn. */
  readonly lastTurn: number;
}

/** Reads what models see of the conversation. Throws `read_failed`, `record_damaged`. */
export async function loadVisible(stream: ConversationStream): Promise<ConversationStream> {
  await stream.loadVisible?.();
  return visibleOf(stream);
}

/** Everything that models see of it. Call `loadVisible` first. */
export function visibleOf(stream: ConversationStream): ConversationStream {
  return stream.visible ?? stream;
}

/** The last turn, or more: enough for whoever looks at the last turn only. Reads nothing. */
export function endOf(stream: ConversationStream): readonly StreamEntry[] {
  return stream.end ?? stream.entries;
}

/** A record as storage reads it. */
export interface StoredStream {
  readonly createdAt: Timestamp;
  /** Absent in the packed form, where the first element is the base config. */
  readonly baseConfig: JsonObject | undefined;
  readonly entries: readonly StreamEntry[];
}

/** Separates the base config from the entries, wherever the record stores it. */
export function createStream(stored: StoredStream): ConversationStream {
  const { createdAt, entries } = stored;
  const baseConfig = stored.baseConfig && withoutPlaceholders(stored.baseConfig);
  if (baseConfig !== undefined) return { createdAt, baseConfig, entries };
  const first = entries[0]?.content;
  if (first?.kind !== "config_delta") return { createdAt, baseConfig: {}, entries };
  return { createdAt, baseConfig: first.delta, entries: entries.slice(1) };
}

/** A placeholder where no model is known, named so that it explains itself in other programs. */
const NO_MODEL = { provider: "ollama", name: "no-model-recorded" };

/** The Rust original does not open a conversation whose base config lacks one of these. */
const REQUIRED = {
  assistant: { model: { id: NO_MODEL } },
  conversation: { tools: { "*": { run: "ask" } } },
};

/** Adds placeholders for missing keys, so that the Rust original can open the conversation. */
export function withRequiredConfig(baseConfig: JsonObject): JsonObject {
  return addMissing(baseConfig, REQUIRED);
}

function addMissing(value: JsonObject, required: JsonObject): JsonObject {
  const members = Object.entries(required).flatMap(([key, member]) => {
    const own = value[key];
    if (own === undefined) return [[key, member] as const];
    const isTable = isJsonObject(own) && isJsonObject(member) && member !== NO_MODEL;
    return isTable ? [[key, addMissing(own, member)] as const] : [];
  });
  return { ...value, ...Object.fromEntries(members) };
}

/** The inverse of `withRequiredConfig`. */
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
