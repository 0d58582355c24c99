/**
 * Records as the Rust version writes them, with the same keys, order and base64. Written here without jp's own
 * codecs, to test these.
 */
import type { JsonObject } from "../../src/util/index.ts";

const START = Math.floor(Date.now() / 1000) * 1000 - 50 * 3600_000;

/** A time this many seconds after a start about two days ago, so that jp prints it as "2 days ago" during the tests. */
export function time(second: number): string {
  const text = new Date(START + second * 1000).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.0`;
}

/** The digits in the id of a conversation created at this time. */
export function digits(second: number): number {
  return START / 100 + second * 10;
}

export function turnStart(second: number): JsonObject {
  return { timestamp: time(second), type: "turn_start" };
}

export function request(second: number, content: string, author?: string): JsonObject {
  const name = author === undefined ? {} : { author };
  return { timestamp: time(second), type: "chat_request", content, ...name };
}

export function message(second: number, text: string): JsonObject {
  return { timestamp: time(second), type: "chat_response", message: text };
}

export function reasoning(second: number, text: string): JsonObject {
  return {
    timestamp: time(second),
    type: "chat_response",
    reasoning: text,
    metadata: { anthropic_thinking_signature: base64("a signature") },
  };
}

export function structured(second: number, data: JsonObject): JsonObject {
  return { timestamp: time(second), type: "chat_response", data };
}

export function call(
  second: number,
  id: string,
  name: string,
  parameters: Readonly<Record<string, string | number>> = {},
): JsonObject {
  const encoded = Object.entries(parameters).map(([key, value]) => [
    key,
    typeof value === "string" ? base64(value) : value,
  ]);
  const type = "tool_call_request";
  return { timestamp: time(second), type, id, name, arguments: Object.fromEntries(encoded) };
}

export function result(second: number, id: string, content: string, isError = false): JsonObject {
  const type = "tool_call_response";
  return { timestamp: time(second), type, id, content: base64(content), is_error: isError };
}

/** By default, a boolean question from `a_tool`. */
export function question(second: number, id: string, fields: JsonObject = {}): JsonObject {
  const { source, tool_call_id: callId, question_id: questionId, ...asked } = fields;
  return {
    timestamp: time(second),
    type: "inquiry_request",
    id,
    source: source ?? { source: "tool", name: "a_tool" },
    question: { text: "Go on?", answer_type: { type: "boolean" }, ...asked },
    ...(callId !== undefined && { tool_call_id: callId }),
    ...(questionId !== undefined && { question_id: questionId }),
  };
}

/** With only `{ answer }`, it has the format before outcomes. */
export function answer(second: number, id: string, fields: JsonObject): JsonObject {
  return { timestamp: time(second), type: "inquiry_response", id, ...fields };
}

export function permission(second: number, callId: string, fields: JsonObject = {}): JsonObject {
  return {
    timestamp: time(second),
    type: "permission_decision",
    tool_call_id: callId,
    tool: "a_tool",
    decision: "approved",
    decided_by: { kind: "user", channel: "terminal", auth: "os_user" },
    ...fields,
  };
}

export function configDelta(second: number, delta: JsonObject = {}): JsonObject {
  return { type: "config_delta", timestamp: time(second), delta };
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
