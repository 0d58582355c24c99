/**
 * One element of a record. Most are events; between them stand config deltas, compactions and what
 * other versions wrote. An entry that was read keeps its JSON and is decoded when it is first asked
 * for: opening a long conversation costs little more than parsing its file.
 */
import {
  integerField,
  isJsonObject,
  type JsonObject,
  objectField,
  oneOf,
  optionalBoolean,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";
import { eventToJson, parseEvent } from "./event-codec.ts";
import { type ConversationEvent, type EventType, isEventType } from "./event.ts";
import { parseTimestamp, type Timestamp } from "./timestamp.ts";

/**
 * The delta that holds what the Rust original does not know of a config. It keeps elements of a type
 * that is new to it, word for word and in their place.
 */
const OWN_DELTA = "jp_ts_config_delta";

type ConfigDeltaKind = "config_delta" | "own_config_delta";

/** What an entry of a record turned out to be. */
export type EntryContent =
  | { readonly kind: "event"; readonly event: ConversationEvent }
  /** Applies to what follows it; its keys are the config's business, not ours. */
  | { readonly kind: "config_delta"; readonly delta: JsonObject }
  /** The same, for what the Rust original does not know of a config. */
  | { readonly kind: "own_config_delta"; readonly delta: JsonObject }
  | { readonly kind: "compaction"; readonly compaction: Compaction }
  /** Of a type we do not know: no program of ours looks inside, and none drops it. */
  | { readonly kind: "unknown" }
  /** Of a type we know, but not in its shape. It stays where it is, and is reported. */
  | { readonly kind: "malformed"; readonly error: ShapeError };

/** One element of a record: decoded when it is first looked at, and written back as it was. */
export class StreamEntry {
  #raw: JsonObject | undefined;
  #content: EntryContent | undefined;

  private constructor(raw: JsonObject | undefined, content: EntryContent | undefined) {
    this.#raw = raw;
    this.#content = content;
  }

  /** The object is kept, and must not change afterwards. */
  static fromJson(raw: JsonObject): StreamEntry {
    return new StreamEntry(raw, undefined);
  }

  static fromEvent(event: ConversationEvent): StreamEntry {
    return new StreamEntry(undefined, { kind: "event", event });
  }

  /** A change of the config, from here on. */
  static fromConfigDelta(
    timestamp: Timestamp,
    { kind, delta }: { readonly kind: ConfigDeltaKind; readonly delta: JsonObject },
  ): StreamEntry {
    const type = kind === "own_config_delta" ? OWN_DELTA : kind;
    return StreamEntry.fromJson({ type, timestamp, delta });
  }

  /** The element as it stands, or will stand, in the record. */
  get raw(): JsonObject {
    if (this.#raw === undefined && this.#content?.kind === "event") {
      this.#raw = eventToJson(this.#content.event);
    }
    return this.#raw ?? {};
  }

  /** Told without decoding; undefined for entries that are no event. */
  get eventType(): EventType | undefined {
    if (this.#content?.kind === "event") return this.#content.event.type;
    const type = this.raw["type"];
    return isEventType(type) ? type : undefined;
  }

  get content(): EntryContent {
    this.#content ??= decode(this.raw);
    return this.#content;
  }

  /** The event in this entry, if there is a readable one. */
  get event(): ConversationEvent | undefined {
    return this.content.kind === "event" ? this.content.event : undefined;
  }
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

/** The oldest records have the config's keys beside `type` and `timestamp`. */
function deltaOf(raw: JsonObject): JsonObject {
  const { type: _type, timestamp: _timestamp, delta, ...inline } = raw;
  if (delta === undefined) return inline;
  return isJsonObject(delta) ? delta : {};
}

/** What a model is shown of some turns instead of the whole. */
export interface Compaction {
  readonly timestamp: Timestamp;
  /** Turns from 0, both ends included. */
  readonly fromTurn: number;
  readonly toTurn: number;
  readonly summary?: string;
  readonly reasoning?: "strip";
  readonly toolCalls?: ToolCallCompaction;
}

/** What becomes of tool calls: their contents are left out, or all of them. */
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
  };
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
