/**
 * The elements of a record: events, config deltas, compactions, and elements of other versions. An
 * entry keeps its JSON and is decoded on first access, so that opening a long conversation costs
 * little more than parsing its file.
 */
import {
  integerField,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  objectField,
  oneOf,
  optionalBoolean,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { eventToJson, parseEvent } from "./event-codec.ts";
import { type ConversationEvent, type EventType, isDecisive, isEventType } from "./event.ts";
import { parseTimestamp, type Timestamp } from "./timestamp.ts";

/**
 * A delta with config keys that the Rust original does not know. The original keeps elements of
 * unknown types unchanged and in place.
 */
const OWN_DELTA = "jp_ts_config_delta";

type ConfigDeltaKind = "config_delta" | "own_config_delta";

/** A decoded entry. */
export type EntryContent =
  | { readonly kind: "event"; readonly event: ConversationEvent }
  /** Changes the config from here on. Opaque to this folder. */
  | { readonly kind: "config_delta"; readonly delta: JsonObject }
  /** The same, for keys that the Rust original does not know. */
  | { readonly kind: "own_config_delta"; readonly delta: JsonObject }
  | { readonly kind: "compaction"; readonly compaction: Compaction }
  /** An unknown type. Kept unchanged. */
  | { readonly kind: "unknown" }
  /** A known type, but invalid. Kept unchanged, and reported. */
  | { readonly kind: "malformed"; readonly error: ShapeError };

/** One element of a record: decoded on first access, written back unchanged. */
export class StreamEntry {
  #raw: JsonObject | undefined;
  #content: EntryContent | undefined;
  /** Null if it is not an event. Undefined until it is asked for, which everyone does who reads a record. */
  #eventType: EventType | null | undefined;

  private constructor(raw: JsonObject | undefined, content: EntryContent | undefined) {
    this.#raw = raw;
    this.#content = content;
  }

  /** Keeps the object, which must not change afterwards. */
  static fromJson(raw: JsonObject): StreamEntry {
    return new StreamEntry(raw, undefined);
  }

  static fromEvent(event: ConversationEvent): StreamEntry {
    return new StreamEntry(undefined, { kind: "event", event });
  }

  /** A config change that applies from here on. */
  static fromConfigDelta(
    timestamp: Timestamp,
    { kind, delta }: { readonly kind: ConfigDeltaKind; readonly delta: JsonObject },
  ): StreamEntry {
    const type = kind === "own_config_delta" ? OWN_DELTA : kind;
    return StreamEntry.fromJson({ type, timestamp, delta });
  }

  static fromCompaction(compaction: Compaction): StreamEntry {
    return StreamEntry.fromJson(compactionToJson(compaction));
  }

  /** The element's JSON in the record. */
  get raw(): JsonObject {
    if (this.#raw === undefined && this.#content?.kind === "event") {
      this.#raw = eventToJson(this.#content.event);
    }
    return this.#raw ?? {};
  }

  /** The same as text: on one line, or indented by so many spaces. */
  toText(indent?: number): string {
    return JSON.stringify(this.raw, null, indent);
  }

  /** Does not decode the entry. Undefined if it is not an event. */
  get eventType(): EventType | undefined {
    this.#eventType ??= this.#findEventType() ?? null;
    return this.#eventType ?? undefined;
  }

  #findEventType(): EventType | undefined {
    if (this.#content?.kind === "event") return this.#content.event.type;
    const type = this.raw["type"];
    return isEventType(type) ? type : undefined;
  }

  get content(): EntryContent {
    this.#content ??= decode(this.raw);
    return this.#content;
  }

  /** Undefined if this is not an event, or not a readable one. */
  get event(): ConversationEvent | undefined {
    return this.content.kind === "event" ? this.content.event : undefined;
  }
}

/** Whether some of them are decisions, or lead to one. */
export function hasLinks(entries: readonly StreamEntry[]): boolean {
  return entries.some(({ eventType }) => isDecisive(eventType));
}

function decode(raw: JsonObject): EntryContent {
  try {
    if (isEventType(raw["type"])) return { kind: "event", event: parseEvent(raw) };
    if (raw["type"] === "config_delta") return { kind: "config_delta", delta: deltaOf(raw) };
    if (raw["type"] === OWN_DELTA) return { kind: "own_config_delta", delta: deltaOf(raw) };
    if (raw["type"] === "compaction") {
      return { kind: "compaction", compaction: parseCompaction(raw) };
    }
    return { kind: "unknown" };
  } catch (error) {
    if (error instanceof ShapeError) return { kind: "malformed", error };
    throw error;
  }
}

/** The oldest records have the config keys beside `type` and `timestamp`. */
function deltaOf(raw: JsonObject): JsonObject {
  const { type: _type, timestamp: _timestamp, delta, ...inline } = raw;
  if (delta === undefined) return inline;
  return isJsonObject(delta) ? delta : {};
}

/** An overlay that makes old turns cheaper for a model; the turns themselves stay (see projection.ts). */
export interface Compaction {
  readonly timestamp: Timestamp;
  /** Turns are counted from 0; both ends are included. */
  readonly fromTurn: number;
  readonly toTurn: number;
  readonly summary?: string;
  readonly reasoning?: "strip";
  readonly toolCalls?: ToolCallCompaction;
  /** jp made it by itself, before the model's context window was full. */
  readonly isAutomatic?: boolean;
  /** The turns are left out. The summary says so, after what earlier summaries said of them. */
  readonly isLeftOut?: boolean;
  /** Set by jp when it records the compaction. */
  readonly earlier?: EarlierRecord;
}

/** Describes the record before a compaction, for readers that skip it: see earlier.ts. */
export interface EarlierRecord {
  /** The turn in which the compaction is recorded, counted from 0. */
  readonly lastTurn: number;
  /** The timestamp of its start. */
  readonly lastTurnAt: string;
  /** The elements before it that are config deltas, or compactions that still count. */
  readonly entries: readonly JsonObject[];
}

/** `strip` removes arguments and results of tool calls; `omit` removes the calls. */
export type ToolCallCompaction =
  | { readonly policy: "strip"; readonly request: boolean; readonly response: boolean }
  | { readonly policy: "omit" };

/** Throws `ShapeError`. */
export function parseCompaction(value: unknown): Compaction {
  const shape = shapeOf(value);
  return {
    timestamp: parseTimestamp(shape.value["timestamp"]),
    fromTurn: integerField(shape, "from_turn"),
    toTurn: integerField(shape, "to_turn"),
    ...(shape.value["summary"] != null && {
      summary: stringField(objectField(shape, "summary"), "summary"),
    }),
    ...(shape.value["reasoning"] != null && { reasoning: oneOf(shape, "reasoning", ["strip"]) }),
    ...(shape.value["tool_calls"] != null && {
      toolCalls: parseToolCalls(objectField(shape, "tool_calls")),
    }),
    ...(shape.value["source"] === AUTOMATIC && { isAutomatic: true }),
    ...(shape.value["left_out"] === true && { isLeftOut: true }),
    ...(isJsonObject(shape.value[EARLIER]) && findEarlier(shape.value[EARLIER])),
  };
}

/** None if it is not as jp writes it: it only saves reading. */
function findEarlier(value: JsonObject): Pick<Compaction, "earlier"> {
  const { last_turn: lastTurn, last_turn_at: lastTurnAt, entries } = value;
  const isNumber = typeof lastTurn === "number" && Number.isSafeInteger(lastTurn) && lastTurn >= 0;
  const isValid = isJsonArray(entries) && entries.every(isJsonObject);
  if (!isNumber || !isValid || typeof lastTurnAt !== "string") return {};
  return { earlier: { lastTurn, lastTurnAt, entries } };
}

/** The `source` of a compaction. The original ignores it, `left_out` and `earlier`. */
const AUTOMATIC = "auto";
/** Only jp's own compactions have it, as their last key. */
export const EARLIER = "earlier";

/** Keys in the order of the Rust original. */
function compactionToJson(compaction: Compaction): JsonObject {
  const { timestamp, fromTurn, toTurn, summary, reasoning, toolCalls } = compaction;
  const { isAutomatic, isLeftOut, earlier } = compaction;
  return {
    type: "compaction",
    timestamp,
    from_turn: fromTurn,
    to_turn: toTurn,
    ...(summary !== undefined && { summary: { summary } }),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { tool_calls: { ...toolCalls } }),
    ...(isAutomatic === true && { source: AUTOMATIC }),
    ...(isLeftOut === true && { left_out: true }),
    ...(earlier !== undefined && { [EARLIER]: earlierToJson(earlier) }),
  };
}

function earlierToJson({ lastTurn, lastTurnAt, entries }: EarlierRecord): JsonObject {
  return { last_turn: lastTurn, last_turn_at: lastTurnAt, entries };
}

function parseToolCalls(shape: Shape): ToolCallCompaction {
  const policy = oneOf(shape, "policy", ["strip", "omit"]);
  if (policy === "omit") return { policy };
  return {
    policy,
    request: optionalBoolean(shape, "request") ?? false,
    response: optionalBoolean(shape, "response") ?? false,
  };
}
