/** The parts of a call in the JSON of the record: its result, and the decisions about it. */
import { blockToJson, findBlocks, parseBlock, textForModel } from "../tool/index.ts";
import {
  base64Size,
  booleanField,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  objectField,
  oneOf,
  optionalString,
  type Shape,
  stringField,
} from "../../util/index.ts";
import { decodeStrings, decodeText } from "./encoded-strings.ts";
import type {
  Decider,
  DecisionVote,
  DenialCause,
  InquiryId,
  PermissionDecision,
  PermissionRequestEvent,
  ToolResult,
} from "./event.ts";
import {
  deciderToJson,
  parseDecider,
  parseDigest,
  parseGrant,
  parseRedirects,
  parseSignature,
  parseSubject,
  signatureToJson,
} from "./inquiry-codec.ts";
import type { RecordedFile } from "./message-file.ts";

/** How to write the strings that the record keeps in base64. */
export interface Notation {
  readonly text: (text: string) => string;
  readonly object: (object: JsonObject) => JsonObject;
  readonly metadata: (object: JsonObject) => JsonObject;
  readonly files: (files: readonly RecordedFile[]) => JsonObject;
  readonly blocks: (result: Pick<ToolResult, "blocks">) => JsonObject;
}

export function parsePermissionDecision(shape: Shape): Omit<PermissionDecision, "timestamp"> {
  const id = optionalString(shape, "id");
  const decision = oneOf(shape, "decision", DECISIONS);
  const decidedBy = parseDecider(objectField(shape, "decided_by").value);
  return {
    type: "permission_decision",
    ...(id !== undefined && { id: id as InquiryId }), // Branded where it is read.
    toolCallId: stringField(shape, "tool_call_id"),
    tool: stringField(shape, "tool"),
    action: shape.value["action"] == null ? "run" : oneOf(shape, "action", ACTIONS),
    decision,
    ...shownFields(shape),
    ...parseCheck(shape),
    decidedBy,
    ...parseCause(shape, decidedBy),
    ...parseRedirects(shape),
    ...parseGrant(shape),
    ...parseDigest(shape),
    ...parseSignature(shape),
  };
}

export function parseVote(shape: Shape): Omit<DecisionVote, "timestamp"> {
  const toolCallId = optionalString(shape, "tool_call_id");
  const note = optionalString(shape, "note");
  const { decision, answer } = shape.value;
  return {
    type: "decision_vote",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    ...(toolCallId !== undefined && { toolCallId }),
    by: parseDecider(objectField(shape, "by").value),
    ...(decision != null && { decision: oneOf(shape, "decision", DECISIONS) }),
    ...(answer !== undefined && { answer }),
    ...shownResult(shape),
    ...(note !== undefined && { note }),
    ...parseDigest(shape),
    ...parseSignature(shape),
  };
}

export function voteToJson(event: DecisionVote, notation: Notation): JsonObject {
  const { id, toolCallId, by, decision, answer, note, digest } = event;
  return {
    id,
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    by: deciderToJson(by),
    ...(decision !== undefined && { decision }),
    ...resultToJson(event, notation),
    ...(answer !== undefined && { answer }),
    ...(note !== undefined && { note }),
    ...(digest !== undefined && { digest }),
    ...signatureToJson(event),
  };
}

/** A denial by policy without a known cause gets one from its key. */
function parseCause(
  shape: Shape,
  decidedBy: Decider,
): Pick<PermissionDecision, "cause" | "problem" | "reason"> {
  const reason = optionalString(shape, "reason");
  const given = reason === undefined ? {} : { reason };
  const { cause, decision } = shape.value;
  const known = CAUSES.find((each) => each === cause);
  if (known !== undefined) {
    const problem = optionalString(shape, "problem");
    return { ...given, cause: known, ...(problem !== undefined && { problem }) };
  }
  if (decidedBy.kind !== "policy" || decision !== "denied") return given;
  const isDetached = /\.detached\.(run|deliver)$/.test(decidedBy.key);
  return { ...given, cause: isDetached ? "unavailable" : "skipped" };
}

const CAUSES = [
  "skipped",
  "planning",
  "unavailable",
  "timed_out",
  "closed",
  "prompt_failed",
  "subject_unstable",
  "redirected",
  "declined_by_client",
] as const satisfies readonly DenialCause[];

export function parsePermissionRequest(shape: Shape): Omit<PermissionRequestEvent, "timestamp"> {
  return {
    type: "permission_request",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    toolCallId: stringField(shape, "tool_call_id"),
    tool: stringField(shape, "tool"),
    action: oneOf(shape, "action", ACTIONS),
    ...shownFields(shape),
    ...(shape.value["edited"] === true && { isEdited: true }),
    ...parseCheck(shape),
    ...parseSubject(shape),
  };
}

/** A newer version may write other codes. */
function parseCheck(shape: Shape): Pick<PermissionRequestEvent, "check"> {
  const check = optionalString(shape, "check");
  return check === undefined ? {} : { check };
}

const ACTIONS = ["run", "deliver", "rerun"] as const;
const DECISIONS = ["approved", "denied", "edited"] as const;

/** Arguments and result, where there are any. */
function shownFields(shape: Shape): Pick<PermissionRequestEvent, "arguments" | "result"> {
  const { arguments: args } = shape.value;
  return {
    ...(args != null && { arguments: decodeStrings(objectField(shape, "arguments").value) }),
    ...shownResult(shape),
  };
}

function shownResult(shape: Shape): Pick<PermissionRequestEvent, "result"> {
  return shape.value["result"] == null ? {} : { result: parseResult(objectField(shape, "result")) };
}

/** A later version of the original may write the blocks as the content. */
export function parseResult(shape: Shape): ToolResult {
  const isError = booleanField(shape, "is_error");
  const { content, blocks } = shape.value;
  const found = (findBlocks(content) ?? findBlocks(blocks))?.map(parseBlock);
  return {
    content: isJsonArray(content)
      ? textForModel(found ?? [], isError)
      : decodeText(stringField(shape, "content")),
    isError,
    ...(found !== undefined && { blocks: found }),
    ...parseAdded(shape.value["added"]),
    ...(shape.value["is_json"] === true && { isJson: true }),
  };
}

/** Without the bytes of images and files: as in messages, only how many they are. */
export function blocksToPlainJson({ blocks }: Pick<ToolResult, "blocks">): JsonObject {
  return blocks === undefined ? {} : { blocks: blocks.map(blockToJson).map(withSize) };
}

function withSize(block: JsonObject): JsonObject {
  const { data, resource, ...rest } = block;
  if (typeof data === "string") return { ...rest, size: base64Size(data) ?? 0 };
  if (!isJsonObject(resource) || typeof resource["blob"] !== "string") return block;
  const { blob, ...about } = resource;
  return { ...rest, resource: { ...about, size: base64Size(blob) ?? 0 } };
}

export function blocksToJson({ blocks }: Pick<ToolResult, "blocks">): JsonObject {
  return blocks === undefined ? {} : { blocks: blocks.map(blockToJson) };
}

function parseAdded(value: Json | undefined): Pick<ToolResult, "added"> {
  if (!isJsonObject(value)) return {};
  const { before, after } = value;
  return typeof before === "number" && typeof after === "number"
    ? { added: { before, after } }
    : {};
}

/** What the record says about the content. */
export function aboutContentToJson({
  added,
  isJson,
}: Pick<ToolResult, "added" | "isJson">): JsonObject {
  return {
    ...(added !== undefined && { added: { ...added } }),
    ...(isJson === true && { is_json: true }),
  };
}

export function resultToJson(
  { result }: Pick<PermissionRequestEvent, "result">,
  notation: Notation,
): JsonObject {
  if (result === undefined) return {};
  const { content, isError } = result;
  const shown = { content: notation.text(content), is_error: isError };
  return { result: { ...shown, ...blocksToJson(result), ...aboutContentToJson(result) } };
}
