/**
 * Events to and from the JSON of the record. Some strings of it may be in base64: the Rust original writes them so,
 * and jp does where the plain text could be taken for base64.
 */
import {
  arrayField,
  findJson,
  integerField,
  isDeepEqual,
  isJsonObject,
  type Json,
  type JsonObject,
  mismatch,
  objectField,
  oneOf,
  optionalBoolean,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
  unknownFields,
} from "../../util/index.ts";
import {
  aboutContentToJson,
  blocksToJson,
  blocksToPlainJson,
  type Notation,
  parsePermissionDecision,
  parseVote,
  parsePermissionRequest,
  parseResult,
  resultToJson,
  voteToJson,
} from "./call-codec.ts";
import { decodeStrings, encodeAllStrings, encodeStrings, encodeText } from "./encoded-strings.ts";
import {
  type ChatRequest,
  type ChatResponse,
  type ConversationEvent,
  type EventType,
  type InquiryId,
  isEventType,
  type NamedSource,
  type ToolStep,
  type TurnEndEvent,
} from "./event.ts";
import {
  deciderToJson,
  grantToJson,
  signatureToJson,
  inquiryEscalationToJson,
  inquiryRequestMirror,
  inquiryRequestToJson,
  inquiryResponseMirror,
  inquiryResponseToJson,
  parseInquiryEscalation,
  parseInquiryRequest,
  parseInquiryResponse,
  subjectToJson,
  redirectsToJson,
  parseWhom,
} from "./inquiry-codec.ts";
import { fileToJson, fileToPlainJson, parseFile } from "./message-file.ts";
import { parseReplyFile, replyFileToJson } from "./reply-file.ts";
import { parseTimestamp } from "./timestamp.ts";
import { whomToJson } from "./whom.ts";
import { filesToJson, parseTurnUndo, parseUndoneFiles, turnUndoToJson } from "./undone.ts";
import { parseTokenUsage, tokenUsageToJson, USAGE_KEYS } from "./usage-codec.ts";

/** Throws `ShapeError` if the type is unknown or a field is missing or invalid. */
export function parseEvent(value: unknown): ConversationEvent {
  const shape = shapeOf(value);
  const { type } = shape.value;
  if (!isEventType(type)) throw mismatch("type", "a known event type", type);
  const codec = CODECS[type];
  const { metadata, mirrored } = readMetadata(shape.value["metadata"], codec.mirror !== undefined);
  const fields =
    mirrored === undefined ? shape : { ...shape, value: fillMissing(shape.value, mirrored) };
  const parsed = codec.parse(fields);
  const unknown = unknownFields(shape.value, codec.keys);
  const newer = newerFields(fields.value, parsed as { readonly [Key in Growing]?: unknown });
  const extra = unknown === undefined ? newer : { ...unknown, ...newer };
  const event = {
    timestamp: parseTimestamp(shape.value["timestamp"]),
    ...parsed,
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
  const { [MIRROR]: text, ...rest } = metadata;
  const mirrored = typeof text === "string" ? findJson(text) : undefined;
  if (!isMirrored || !isJsonObject(mirrored)) return { metadata };
  return { mirrored, ...(Object.keys(rest).length > 0 && { metadata: rest }) };
}

/** Fields in which a newer version may write codes and members that this one does not know. */
const GROWING = ["added", "cause", "origin", "problem", "takes"] as const;

type Growing = (typeof GROWING)[number];

/** Those that say more than was parsed. Written back as they are. */
function newerFields(
  value: JsonObject,
  parsed: { readonly [Key in Growing]?: unknown },
): JsonObject | undefined {
  const newer = GROWING.flatMap((key) => {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    return member == null || isDeepEqual(member, parsed[key]) ? [] : [[key, member] as const];
  });
  return newer.length === 0 ? undefined : Object.fromEntries(newer);
}

/** Adds fields of the mirror that the event itself does not have. */
function fillMissing(value: JsonObject, mirrored: JsonObject): JsonObject {
  const missing = Object.entries(mirrored).flatMap(([key, member]) => {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    if (own === undefined) return [[key, member] as const];
    return isJsonObject(own) && isJsonObject(member)
      ? [[key, fillMissing(own, member)] as const]
      : [];
  });
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
}

/** The JSON form in the record: keys in the order of the Rust original, empty ones omitted. */
export function eventToJson(event: ConversationEvent): JsonObject {
  const codec = CODECS[event.type] as KindCodec<EventType>; // Looked up by the event's own type.
  const json = toJson(event, STORED);
  const mirror = codec.mirror?.(event) ?? {};
  if (Object.keys(mirror).length === 0) return json;
  const metadata = isJsonObject(json["metadata"]) ? json["metadata"] : {};
  return { ...json, metadata: { ...metadata, [MIRROR]: JSON.stringify(mirror) } };
}

/** The same without base64, for people and other programs. */
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
    ...(hasMetadata && { metadata: notation.metadata(event.metadata) }),
  };
}

type EventOf<Type extends EventType> = Extract<ConversationEvent, { type: Type }>;
type FieldsOf<Type extends EventType> = Omit<EventOf<Type>, "timestamp">;

/** Files and blocks are only in the mirror: they are too long to be in the record twice. */
const STORED: Notation = {
  text: encodeText,
  object: encodeStrings,
  metadata: encodeAllStrings,
  files: () => ({}),
  blocks: () => ({}),
};

const PLAIN: Notation = {
  text: (text) => text,
  object: (object) => object,
  metadata: (object) => object,
  files: (files) => ({ files: files.map(fileToPlainJson) }),
  blocks: blocksToPlainJson,
};

interface KindCodec<Type extends EventType> {
  /** The keys of this kind on disk; all others go to `extra`. */
  readonly keys: ReadonlySet<string>;
  parse(shape: Shape): FieldsOf<Type>;
  toJson(event: EventOf<Type>, notation: Notation): JsonObject;
  /** The fields that the Rust original drops when it saves, in the shape of the event. */
  mirror?(event: EventOf<Type>): JsonObject;
}

/** The metadata key of the mirror, as text: indented like the rest, it would be twice as long. The original keeps unknown metadata. */
const MIRROR = "jp_ts";

const knownKeys = (...keys: string[]) => new Set(["timestamp", "type", "metadata", ...keys]);

const OUTCOME_KEYS = [
  "outcome",
  "answer",
  "other",
  "note",
  "answer_reason",
  "answered_by",
  "reason",
  "problem",
];

const SUBJECT_KEYS = [
  "rung",
  "deadline",
  "for",
  "for_any",
  "terms",
  "person_ids",
  "takes",
  "digest",
  "subject_version",
  "subject_parts",
  "origin",
  "folder",
  "outside",
  "replaces",
  "person",
  "traceparent",
];

const CODECS: { readonly [Type in EventType]: KindCodec<Type> } = {
  turn_start: { keys: knownKeys(), parse: () => ({ type: "turn_start" }), toJson: () => ({}) },
  chat_request: {
    keys: knownKeys(
      "content",
      "schema",
      "author",
      "started_by",
      "files",
      "checked",
      "correction",
      "replaces",
      "undone",
      "steering",
    ),
    parse: parseChatRequest,
    toJson: (event, notation) => ({
      content: event.content,
      ...(event.schema !== undefined && { schema: event.schema }),
      ...(event.author !== undefined && { author: event.author }),
      ...(event.files !== undefined && notation.files(event.files)),
      ...marksToJson(event),
    }),
    mirror: (event) => ({
      ...(event.files !== undefined && { files: event.files.map(fileToJson) }),
      ...marksToJson(event),
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
    keys: knownKeys("id", "content", "is_error", "blocks", "added", "is_json"),
    parse: (shape) => ({
      type: "tool_call_response",
      id: stringField(shape, "id"),
      ...parseResult(shape),
    }),
    toJson: (event, notation) => ({
      id: event.id,
      content: notation.text(event.content),
      is_error: event.isError,
      ...notation.blocks(event),
      ...aboutContentToJson(event),
    }),
    mirror: (event) => ({ ...blocksToJson(event), ...aboutContentToJson(event) }),
  },
  inquiry_request: {
    keys: knownKeys(
      "id",
      "source",
      "question",
      "tool_call_id",
      "question_id",
      "state",
      "bound",
      ...SUBJECT_KEYS,
    ),
    parse: parseInquiryRequest,
    toJson: inquiryRequestToJson,
    mirror: inquiryRequestMirror,
  },
  inquiry_escalation: {
    keys: knownKeys("id", ...OUTCOME_KEYS, "deadline"),
    parse: parseInquiryEscalation,
    toJson: inquiryEscalationToJson,
  },
  inquiry_response: {
    keys: knownKeys("id", ...OUTCOME_KEYS, "redirects", "grant", "digest", "signature"),
    parse: parseInquiryResponse,
    toJson: inquiryResponseToJson,
    mirror: inquiryResponseMirror,
  },
  permission_request: {
    keys: knownKeys(
      "id",
      "tool_call_id",
      "tool",
      "action",
      "arguments",
      "edited",
      "result",
      "check",
      ...SUBJECT_KEYS,
    ),
    parse: parsePermissionRequest,
    toJson: (event, notation) => ({
      id: event.id,
      tool_call_id: event.toolCallId,
      tool: event.tool,
      action: event.action,
      ...(event.arguments !== undefined && { arguments: notation.object(event.arguments) }),
      ...(event.isEdited === true && { edited: true }),
      ...resultToJson(event, notation),
      ...(event.check !== undefined && { check: event.check }),
      ...subjectToJson(event),
    }),
  },
  decision_void: {
    keys: knownKeys("id", "changed"),
    parse: (shape) => ({
      type: "decision_void",
      id: stringField(shape, "id") as InquiryId, // Branded where it is read.
      changed: arrayField(shape, "changed").filter((part) => typeof part === "string"),
    }),
    toJson: ({ id, changed }) => ({ id, changed }),
  },
  decision_vote: {
    keys: knownKeys(
      "id",
      "tool_call_id",
      "by",
      "decision",
      "result",
      "answer",
      "note",
      "digest",
      "signature",
    ),
    parse: parseVote,
    toJson: voteToJson,
  },
  attempt_start: {
    keys: knownKeys("tool_call_id", "is_idempotent", "for", "for_any", "terms", "person_ids"),
    parse: (shape) => ({
      type: "attempt_start",
      toolCallId: stringField(shape, "tool_call_id"),
      ...(optionalBoolean(shape, "is_idempotent") === true && { isIdempotent: true }),
      ...parseWhom(shape),
    }),
    toJson: ({ toolCallId, isIdempotent, ...whom }) => ({
      tool_call_id: toolCallId,
      ...(isIdempotent === true && { is_idempotent: true }),
      ...whomToJson(whom),
    }),
  },
  tool_step: {
    keys: knownKeys("tool_call_id", "call_index", "name", "result", "failure"),
    parse: parseToolStep,
    toJson: ({ toolCallId, callIndex = 0, name, result, failure }) => ({
      tool_call_id: toolCallId,
      ...(callIndex > 0 && { call_index: callIndex }),
      name,
      ...(result !== undefined && { result }),
      ...(failure !== undefined && { failure }),
    }),
  },
  reply_failure: {
    keys: knownKeys("code"),
    parse: (shape) => ({ type: "reply_failure", code: stringField(shape, "code") }),
    toJson: ({ code }) => ({ code }),
  },
  turn_resume: { keys: knownKeys(), parse: () => ({ type: "turn_resume" }), toJson: () => ({}) },
  turn_end: {
    keys: knownKeys("reason", "cause", "problem"),
    parse: parseTurnEnd,
    toJson: ({ reason, cause, problem }) => ({
      reason,
      ...(cause !== undefined && { cause }),
      ...(problem !== undefined && { problem }),
    }),
  },
  reply_sources: {
    keys: knownKeys("sources"),
    parse: (shape) => ({
      type: "reply_sources",
      sources: arrayField(shape, "sources").map((source) => parseSource(shapeOf(source))),
    }),
    toJson: ({ sources }) => ({ sources: sources.map(sourceToJson) }),
  },
  reply_file: {
    keys: knownKeys("media_type", "digest", "size"),
    parse: parseReplyFile,
    toJson: replyFileToJson,
  },
  token_usage: { keys: knownKeys(...USAGE_KEYS), parse: parseTokenUsage, toJson: tokenUsageToJson },
  turn_undo: {
    keys: knownKeys("turn", "files", "hides_turn", "forced"),
    parse: parseTurnUndo,
    toJson: turnUndoToJson,
  },
  permission_decision: {
    keys: knownKeys(
      "id",
      "tool_call_id",
      "tool",
      "action",
      "decision",
      "arguments",
      "result",
      "check",
      "decided_by",
      "reason",
      "cause",
      "problem",
      "redirects",
      "grant",
      "digest",
      "signature",
    ),
    parse: parsePermissionDecision,
    toJson: (event, notation) => ({
      ...(event.id !== undefined && { id: event.id }),
      tool_call_id: event.toolCallId,
      tool: event.tool,
      ...(event.action !== "run" && { action: event.action }),
      decision: event.decision,
      ...(event.arguments !== undefined && { arguments: notation.object(event.arguments) }),
      ...resultToJson(event, notation),
      ...(event.check !== undefined && { check: event.check }),
      decided_by: deciderToJson(event.decidedBy),
      ...(event.reason !== undefined && { reason: event.reason }),
      ...(event.cause !== undefined && { cause: event.cause }),
      ...(event.problem !== undefined && { problem: event.problem }),
      ...redirectsToJson(event),
      ...grantToJson(event),
      ...(event.digest !== undefined && { digest: event.digest }),
      ...signatureToJson(event),
    }),
  },
};

function parseChatRequest(shape: Shape): Omit<ChatRequest, "timestamp"> {
  const author = optionalString(shape, "author");
  const startedBy = optionalString(shape, "started_by");
  const correction = optionalString(shape, "correction");
  return {
    type: "chat_request",
    content: stringField(shape, "content"),
    ...(shape.value["schema"] != null && { schema: objectField(shape, "schema").value }),
    ...(author !== undefined && { author }),
    ...(startedBy !== undefined && { startedBy }),
    ...(shape.value["files"] != null && { files: arrayField(shape, "files").map(parseFile) }),
    ...(optionalBoolean(shape, "checked") === true && { isChecked: true }),
    ...(correction !== undefined && { correction }),
    ...(optionalBoolean(shape, "replaces") === true && { replacesTurn: true }),
    ...(shape.value["undone"] != null && { undone: parseUndoneFiles(shape, "undone") }),
    ...(optionalBoolean(shape, "steering") === true && { isSteering: true }),
  };
}

function marksToJson(request: ChatRequest): JsonObject {
  const { startedBy, isChecked, correction, replacesTurn, undone, isSteering } = request;
  return {
    ...(startedBy !== undefined && { started_by: startedBy }),
    ...(isChecked === true && { checked: true }),
    ...(correction !== undefined && { correction }),
    ...(replacesTurn === true && { replaces: true }),
    ...(undone !== undefined && { undone: filesToJson(undone) }),
    ...(isSteering === true && { steering: true }),
  };
}

function parseToolStep(shape: Shape): Omit<ToolStep, "timestamp"> {
  const callIndex = shape.value["call_index"] == null ? 0 : integerField(shape, "call_index");
  const { result } = shape.value;
  const failure = optionalString(shape, "failure");
  return {
    type: "tool_step",
    toolCallId: stringField(shape, "tool_call_id"),
    ...(callIndex > 0 && { callIndex }),
    name: stringField(shape, "name"),
    ...(result !== undefined && { result }),
    ...(failure !== undefined && { failure }),
  };
}

const TURN_END_CAUSES = ["length", "refused", "invalid_data"] as const;

function parseTurnEnd(shape: Shape): Omit<TurnEndEvent, "timestamp"> {
  const problem = optionalString(shape, "problem");
  const cause = TURN_END_CAUSES.find((each) => each === shape.value["cause"]);
  return {
    type: "turn_end",
    reason: oneOf(shape, "reason", ["done", "stopped", "discarded"]),
    ...(cause !== undefined && { cause }),
    ...(problem !== undefined && { problem }),
  };
}

/** Which of three keys it has, in this order, determines the kind of a response. */
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

function parseSource(shape: Shape): NamedSource {
  const url = optionalString(shape, "url");
  const title = optionalString(shape, "title");
  const filename = optionalString(shape, "filename");
  const mediaType = optionalString(shape, "media_type");
  return {
    ...(url !== undefined && { url }),
    ...(title !== undefined && { title }),
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
  };
}

function sourceToJson({ mediaType, ...source }: NamedSource): JsonObject {
  return { ...source, ...(mediaType !== undefined && { media_type: mediaType }) };
}
