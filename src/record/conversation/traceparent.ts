/** The trace that a turn belongs to, as the requests for its decisions have it. What a trace is for is up to who makes it. */
import { isDecisionRequest } from "./decision.ts";
import type { ConversationEvent, Traceparent } from "./event.ts";

/** Of the version that there is. Ids of zeros are invalid. */
const FORM = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Undefined for anything else. */
export function findTraceparent(value: unknown): Traceparent | undefined {
  return typeof value === "string" && FORM.test(value) ? (value as Traceparent) : undefined; // Branded where it is read.
}

/** The same events, with where the turn that asks is traced. */
export function withTraceparent(
  events: readonly ConversationEvent[],
  traceparent: Traceparent,
): readonly ConversationEvent[] {
  return events.map((event) => (isDecisionRequest(event) ? { ...event, traceparent } : event));
}

/** The latest one of a turn. */
export function traceparentOf(turn: readonly ConversationEvent[]): Traceparent | undefined {
  return turn.filter(isDecisionRequest).findLast(({ traceparent }) => traceparent !== undefined)
    ?.traceparent;
}
