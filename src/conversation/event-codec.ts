/** Events to and from the JSON of the record: the fields of each kind, and what all have in common. */
import {
  booleanField,
  decodeBase64,
  encodeBase64,
  isJsonObject,
  type Json,
  type JsonObject,
  mismatch,
  MOST_LEVELS,
  objectField,
  oneOf,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
  unknownFields,
} from "../util/index.ts";
import {
  type ChatRequest,
  type ChatResponse,
  type ConversationEvent,
  type EventType,
  isEventType,
  type PermissionDecision,
} from "./event.ts";
import {
  deciderToJson,
  inquiryRequestMirror,
  inquiryRequestToJson,
  inquiryResponseMirror,
  inquiryResponseToJson,
  parseDecider,
  parseInquiryRequest,
  parseInquiryResponse,
} from "./inquiry-codec.ts";
import { parseTimestamp } from "./timestamp.ts";

type EventOf<Type extends EventType> = Extract<ConversationEvent, { type: Type }>;
type FieldsOf<Type extends EventType> = Omit<EventOf<Type>, "timestamp">;

/** How the strings are written that the record keeps in base64. */
interface Notation {
  readonly text: (text: string) => string;
  readonly object: (object: JsonObject) => JsonObject;
}

const STORED: Notation = { text: encodeText, object: encodeStrings };

const PLAIN: Notation = { text: (text) => text, object: (object) => object };

interface KindCodec<Type extends EventType> {
  /** The keys this kind owns on disk; any other is kept in `extra`. */
  readonly keys: ReadonlySet<string>;
  parse(shape: Shape): FieldsOf<Type>;
  toJson(event: EventOf<Type>, notation: Notation): JsonObject;
  /** Fields that the Rust original drops when it saves, in the shape of the event. */
  mirror?(event: EventOf<Type>): JsonObject;
}

/** Where in the metadata they are kept: the original keeps what it does not know there. */
const MIRROR = "jp_ts";

const knownKeys = (...keys: string[]) => new Set(["timestamp", "type", "metadata", ...keys]);

const CODECS: { readonly [Type in EventType]: KindCodec<Type> } = {
  turn_start: {
    keys: knownKeys(),
    parse: () => ({ type: "turn_start" }),
    toJson: () => ({}),
  },
  chat_request: {
    keys: knownKeys("content", "schema", "author"),
    parse: parseChatRequest,
    toJson: ({ content, schema, author }) => ({
      content,
      ...(schema !== undefined && { schema }),
      ...(author !== undefined && { author }),
    }),
  },
  chat_response: {
    keys: knownKeys("message", "reasoning", "data"),
    parse: parseChatResponse,
    toJson: ({ content }) =>
      content.type === "structured" ? { data: content.data } : { [content.type]: content.text },
  },
  tool_call_request: {
    keys: knownKeys("id", "name", "arguments"),
    parse: (shape) => ({
      type: "tool_call_request",
      id: stringField(shape, "id"),
      name: stringField(shape, "name"),
      arguments:
        shape.value["arguments"] == null
          ? {}
          : decodeStrings(objectField(shape, "arguments").value),
    }),
    toJson: (event, notation) => ({
      id: event.id,
      name: event.name,
      arguments: notation.object(event.arguments),
    }),
  },
  tool_call_response: {
    keys: knownKeys("id", "content", "is_error"),
    parse: (shape) => ({
      type: "tool_call_response",
      id: stringField(shape, "id"),
      content: decodeText(stringField(shape, "content")),
      isError: booleanField(shape, "is_error"),
    }),
    toJson: (event, notation) => ({
      id: event.id,
      content: notation.text(event.content),
      is_error: event.isError,
    }),
  },
  inquiry_request: {
    keys: knownKeys("id", "source", "question", "tool_call_id", "question_id"),
    parse: parseInquiryRequest,
    toJson: inquiryRequestToJson,
    mirror: inquiryRequestMirror,
  },
  inquiry_response: {
    keys: knownKeys("outcome", "id", "answer", "other", "note", "answered_by", "reason"),
    parse: parseInquiryResponse,
    toJson: inquiryResponseToJson,
    mirror: inquiryResponseMirror,
  },
  permission_decision: {
    keys: knownKeys(
      "tool_call_id",
      "tool",
      "action",
      "decision",
      "arguments",
      "decided_by",
      "reason",
    ),
    parse: parsePermissionDecision,
    toJson: (event, notation) => ({
      tool_call_id: event.toolCallId,
      tool: event.tool,
      ...(event.action === "deliver" && { action: event.action }),
      decision: event.decision,
      ...(event.arguments !== undefined && { arguments: notation.object(event.arguments) }),
      decided_by: deciderToJson(event.decidedBy),
      ...(event.reason !== undefined && { reason: event.reason }),
    }),
  },
};

/** Throws `ShapeError` if the object is no event of a known kind, or lacks one of its fields. */
export function parseEvent(value: unknown): ConversationEvent {
  const shape = shapeOf(value);
  const { type } = shape.value;
  if (!isEventType(type)) throw mismatch("type", "a kind of event", type);
  const codec = CODECS[type];
  const extra = unknownFields(shape.value, codec.keys);
  const { metadata, mirrored } = readMetadata(shape.value["metadata"], codec.mirror !== undefined);
  const fields = mirrored === undefined ? shape : { ...shape, value: fill(shape.value, mirrored) };
  const event = {
    timestamp: parseTimestamp(shape.value["timestamp"]),
    ...codec.parse(fields),
    ...(metadata !== undefined && { metadata }),
    ...(extra !== undefined && { extra }),
  };
  return event as ConversationEvent; // The codec of `type` gave the fields of `type`.
}

function readMetadata(
  raw: Json | undefined,
  isMirrored: boolean,
): { readonly metadata?: JsonObject; readonly mirrored?: JsonObject } {
  if (!isJsonObject(raw)) return {};
  const metadata = decodeStrings(raw);
  const { [MIRROR]: mirrored, ...rest } = metadata;
  if (!isMirrored || !isJsonObject(mirrored)) return { metadata };
  return { mirrored, ...(Object.keys(rest).length > 0 && { metadata: rest }) };
}

/** What the event itself says counts; what is missing is taken from the mirror. */
function fill(value: JsonObject, mirrored: JsonObject): JsonObject {
  const missing = Object.entries(mirrored).flatMap(([key, member]) => {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    if (own === undefined) return [[key, member] as const];
    return isJsonObject(own) && isJsonObject(member) ? [[key, fill(own, member)] as const] : [];
  });
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
}

/** The event as the record writes it: keys in the original's order, what is empty left out. */
export function eventToJson(event: ConversationEvent): JsonObject {
  const codec = CODECS[event.type] as KindCodec<EventType>; // Looked up by the event's own type.
  const mirror = codec.mirror?.(event) ?? {};
  if (Object.keys(mirror).length === 0) return toJson(event, STORED);
  return toJson({ ...event, metadata: { ...event.metadata, [MIRROR]: mirror } }, STORED);
}

/** The same with nothing encoded, for people and other programs. */
export function eventToPlainJson(event: ConversationEvent): JsonObject {
  return toJson(event, PLAIN);
}

function toJson(event: ConversationEvent, notation: Notation): JsonObject {
  const codec = CODECS[event.type] as KindCodec<EventType>; // Looked up by the event's own type.
  const hasMetadata = event.metadata !== undefined && Object.keys(event.metadata).length > 0;
  return {
    timestamp: event.timestamp,
    type: event.type,
    ...codec.toJson(event, notation),
    ...event.extra,
    ...(hasMetadata && { metadata: notation.object(event.metadata) }),
  };
}

function parseChatRequest(shape: Shape): Omit<ChatRequest, "timestamp"> {
  const author = optionalString(shape, "author");
  return {
    type: "chat_request",
    content: stringField(shape, "content"),
    ...(shape.value["schema"] != null && { schema: objectField(shape, "schema").value }),
    ...(author !== undefined && { author }),
  };
}

/** The kind of a response is told by which of three keys it has, in this order. */
function parseChatResponse(shape: Shape): Omit<ChatResponse, "timestamp"> {
  const { message, reasoning, data } = shape.value;
  const content: ChatResponse["content"] | undefined =
    typeof message === "string"
      ? { type: "message", text: message }
      : typeof reasoning === "string"
        ? { type: "reasoning", text: reasoning }
        : data !== undefined
          ? { type: "structured", data }
          : undefined;
  if (content === undefined) {
    throw new ShapeError("", 'a chat_response needs "message", "reasoning" or "data"');
  }
  return { type: "chat_response", content };
}

function parsePermissionDecision(shape: Shape): Omit<PermissionDecision, "timestamp"> {
  const reason = optionalString(shape, "reason");
  return {
    type: "permission_decision",
    toolCallId: stringField(shape, "tool_call_id"),
    tool: stringField(shape, "tool"),
    action: shape.value["action"] == null ? "run" : oneOf(shape, "action", ["run", "deliver"]),
    decision: oneOf(shape, "decision", ["approved", "denied", "edited"]),
    ...(shape.value["arguments"] != null && {
      arguments: decodeStrings(objectField(shape, "arguments").value),
    }),
    decidedBy: parseDecider(objectField(shape, "decided_by").value),
    ...(reason !== undefined && { reason }),
  };
}

export function decodeText(text: string): string {
  return decodeBase64(text) ?? text;
}

function encodeText(text: string): string {
  return encodeBase64(text);
}

/**
 * Decodes every string value; keys and other values are as they are. Throws `ShapeError` for what is
 * nested too deeply to be gone through.
 */
export function decodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, decodeText) as JsonObject; // An object maps to an object.
}

/** The same the other way. */
export function encodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, encodeText) as JsonObject; // An object maps to an object.
}

function mapStrings(value: Json, change: (text: string) => string, level = 0): Json {
  if (typeof value === "string") return change(value);
  if (level > MOST_LEVELS) throw new ShapeError("", `nested deeper than ${MOST_LEVELS} levels`);
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, change, level + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, change, level + 1)]),
  );
}
