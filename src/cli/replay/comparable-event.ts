/** Compares events: the part of each that has to be the same again in a replay. */
import {
  type ConversationEvent,
  type EventType,
  eventToPlainJson,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

export interface ComparableOptions {
  /** A live model chooses its own words. */
  readonly comparesWords: boolean;
  /** The id on record of an inquiry or a call. */
  readonly toRecordedId: (id: string) => string;
}

/**
 * The event as on record, without the time, who exactly the person was, what a tool or server keeps for itself or says of
 * itself, and what a decision was about.
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

/** Fields of requests and decisions. `problem` is in the result of the call, too. */
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

/** For an escalation, only that there is one: it is the same as that of its request. */
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

/** Its file may have changed since. */
function comparableRule(
  { file: _file, ...rule }: JsonObject,
  toRecordedId: ComparableOptions["toRecordedId"],
): Json {
  const { from, key } = rule;
  return from === "turn" && typeof key === "string" ? { ...rule, key: toRecordedId(key) } : rule;
}

/** A rule of the turn is known by the inquiry in which it was granted. */
function comparablePolicy(
  { key, rules, ...decider }: JsonObject,
  toRecordedId: ComparableOptions["toRecordedId"],
): Json {
  const comparable = (isJsonArray(rules) ? rules : []).map((rule) =>
    isJsonObject(rule) ? comparableRule(rule, toRecordedId) : rule,
  );
  return { ...decider, key: typeof key === "string" ? toRecordedId(key) : null, rules: comparable };
}
