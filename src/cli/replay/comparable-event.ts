/** The part of each event that a replay has to reproduce. */
import {
  type ConversationEvent,
  type EventType,
  eventToPlainJson,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

export interface ComparableOptions {
  /** False with a live model, which chooses its own words. */
  readonly comparesWords: boolean;
  /** Maps an inquiry or call ID to the recorded one. */
  readonly toRecordedId: (id: string) => string;
}

/**
 * The recorded event without its time, the person's identity, a tool's or server's internal state and
 * self-description, and the subject of a decision.
 */
export function comparableEvent(
  event: ConversationEvent,
  { comparesWords, toRecordedId }: ComparableOptions,
): JsonObject {
  const { extra: _extra, ...known } = event;
  const fields = Object.entries(eventToPlainJson(known)).filter(
    ([key]) => isCompared(event, key) && (comparesWords || key !== "metadata"),
  );
  return Object.fromEntries(
    fields.map(([key, value]): [string, Json] => {
      if (key === "deadline") return [key, secondsUntilDeadline(event)];
      if (key === "question") return [key, comparableQuestion(value)];
      if (key === "answered_by" || key === "decided_by") {
        return [key, comparableDecider(value, toRecordedId)];
      }
      const isId = key === "id" || key === "tool_call_id";
      return [key, isId && typeof value === "string" ? toRecordedId(value) : value];
    }),
  );
}

/** Fields of requests and decisions. `problem` is also part of the call's result. */
const NOT_COMPARED = new Set([
  "digest",
  "subject_version",
  "subject_parts",
  "origin",
  "folder",
  "outside",
  "replaces",
  "person",
  "person_ids",
  "takes",
  "signature",
  "state",
  "problem",
  "traceparent",
]);

const DECISIONS: ReadonlySet<EventType> = new Set([
  "inquiry_request",
  "inquiry_response",
  "permission_request",
  "permission_decision",
]);

function isCompared({ type }: ConversationEvent, key: string): boolean {
  if (key === "timestamp" || key === "added" || key === "is_idempotent") return false;
  return !DECISIONS.has(type) || !NOT_COMPARED.has(key);
}

function comparableQuestion(question: Json): Json {
  if (!isJsonObject(question)) return question;
  const { binding: _binding, ...asked } = question;
  return asked;
}

/** For an escalation, only whether there is one: its deadline is the request's. */
function secondsUntilDeadline(event: ConversationEvent): Json {
  if (!("deadline" in event) || event.type === "inquiry_escalation") return true;
  if (event.deadline === undefined) return true;
  const time = timestampToMilliseconds(event.deadline) - timestampToMilliseconds(event.timestamp);
  return time / 1000;
}

function comparableDecider(decider: Json, toRecordedId: ComparableOptions["toRecordedId"]): Json {
  if (!isJsonObject(decider)) return decider;
  const { kind, scope, from } = decider;
  if (kind === "user") return { kind, ...(scope !== undefined && { scope }) };
  if (isJsonArray(decider["rules"])) return comparablePolicy(decider, toRecordedId);
  return typeof from === "string" ? { ...decider, from: toRecordedId(from) } : decider;
}

/** Ignores the rule's file, which may have changed since. */
function comparableRule(
  { file: _file, ...rule }: JsonObject,
  toRecordedId: ComparableOptions["toRecordedId"],
): Json {
  const { from, key } = rule;
  return from === "turn" && typeof key === "string" ? { ...rule, key: toRecordedId(key) } : rule;
}

/** A turn's rule is identified by the inquiry that granted it. */
function comparablePolicy(
  { key, rules, ...decider }: JsonObject,
  toRecordedId: ComparableOptions["toRecordedId"],
): Json {
  const comparable = (isJsonArray(rules) ? rules : []).map((rule) =>
    isJsonObject(rule) ? comparableRule(rule, toRecordedId) : rule,
  );
  return { ...decider, key: typeof key === "string" ? toRecordedId(key) : null, rules: comparable };
}
