/**
 * Leaves out of a recorded turn what was decided and made void, as if no one had been asked: a replay does not compare what
 * decisions were about. The request that asks again stands in the place of the first one.
 */
import {
  type ConversationEvent,
  type DecisionVoid,
  type InquiryRequest,
  isAnswer,
  type PermissionRequestEvent,
} from "../conversation/index.ts";
import { RecordedCalls } from "./recorded-calls.ts";

/** The events of one turn. */
export function withoutVoid(turn: readonly ConversationEvent[]): readonly ConversationEvent[] {
  const voids = turn.filter((event) => event.type === "decision_void");
  return voids.reduce(leaveOut, turn);
}

/** With the answer, and with everything that the call did because of it: its attempts, and what came of them. */
function leaveOut(
  events: readonly ConversationEvent[],
  voided: DecisionVoid,
): readonly ConversationEvent[] {
  const { id } = voided;
  const end = events.indexOf(voided);
  const first = events.findLastIndex(
    (event, index) => index < end && isRequest(event) && event.id === id,
  );
  const again = events.find((event) => isRequest(event) && event.replaces === id);
  const calls = new RecordedCalls(events);
  const call = events[first] && calls.of(events[first]);
  const attempt = events.findIndex(
    (event, index) => index > first && event.type === "attempt_start" && calls.of(event) === call,
  );
  const isUndone = (event: ConversationEvent, index: number) => {
    if (first === -1 || index < first || index > end) return false;
    const isOutcome = isAnswer(event) || event.type === "inquiry_escalation";
    const isLater = attempt !== -1 && index >= attempt && calls.of(event) === call;
    return (isOutcome && event.id === id) || isLater;
  };
  return events.flatMap((event, index) => {
    if (index === end) return [];
    if (index === first) return again === undefined ? [] : [forSamePerson(again)];
    const isMoved = event === again && first !== -1;
    return isMoved || isUndone(event, index) ? [] : [event];
  });
}

function isRequest(event: ConversationEvent): event is InquiryRequest | PermissionRequestEvent {
  return event.type === "inquiry_request" || event.type === "permission_request";
}

/** Neither a model nor a default may answer what a person had answered: as for an exclusive question. */
function forSamePerson(event: ConversationEvent): ConversationEvent {
  if (event.type !== "inquiry_request" || event.isForPerson !== true) return event;
  return { ...event, question: { ...event.question, exclusive: true } };
}
