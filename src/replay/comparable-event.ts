/** What of an event has to be the same again in a replay. */
import {
  type ConversationEvent,
  eventToPlainJson,
  timestampToMilliseconds,
} from "../conversation/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";

export interface ComparableOptions {
  /** A live model chooses its own words. */
  readonly comparesWords: boolean;
  /** The id on record of an inquiry or a call. */
  readonly toRecordedId: (id: string) => string;
}

/** The event as on record, without the time, who exactly the person was, and what a server keeps for itself. */
export function comparableEvent(
  event: ConversationEvent,
  { comparesWords, toRecordedId }: ComparableOptions,
): JsonObject {
  const { extra: _extra, ...known } = event;
  const json = eventToPlainJson(known);
  const { timestamp: _timestamp, state: _state, ...fields } = json;
  const { metadata: _metadata, ...words } = fields;
  return Object.fromEntries(
    Object.entries(comparesWords ? fields : words).map(([key, value]): [string, Json] => {
      if (key === "deadline") return [key, secondsUntilDeadline(event)];
      if (key === "answered_by" || key === "decided_by") {
        return [key, comparableDecider(value, toRecordedId)];
      }
      const isId = key === "id" || key === "tool_call_id";
      return [key, isId && typeof value === "string" ? toRecordedId(value) : value];
    }),
  );
}

/** Of an escalation only that there is one: it is the same as that of its request. */
function secondsUntilDeadline(event: ConversationEvent): Json {
  if (event.type !== "inquiry_request" || event.deadline === undefined) return true;
  const time = timestampToMilliseconds(event.deadline) - timestampToMilliseconds(event.timestamp);
  return time / 1000;
}

function comparableDecider(decider: Json, toRecordedId: ComparableOptions["toRecordedId"]): Json {
  if (!isJsonObject(decider)) return decider;
  const { kind, scope, from } = decider;
  if (kind === "user" || kind === "answers_file") {
    return { kind: "user", ...(scope !== undefined && { scope }) };
  }
  return typeof from === "string" ? { ...decider, from: toRecordedId(from) } : decider;
}
