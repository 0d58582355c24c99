/** Who was there when something happened to a recorded call: a person to ask, and the process that had asked. */
import { failureIn, OUTCOME_UNKNOWN, withoutNotes } from "../agent/index.ts";
import type { ToolSettings } from "../config/index.ts";
import type {
  ConversationEvent,
  Decider,
  InquiryEscalation,
  InquiryResponse,
} from "../conversation/index.ts";
import type { Lane, RecordedTurn } from "./recorded-turn.ts";

/** Only a person, or only the lack of one, leads to it. */
type Trace = "person" | "none";

/** True where it made no difference. */
export function wasSomeoneThere(
  turn: RecordedTurn,
  lane: Lane,
  settings: ToolSettings | undefined,
): boolean {
  if (hasOpenQuestion(turn.eventsOf(lane))) return true;
  const events = turn.upcoming(lane);
  const [next] = events;
  if (next?.type === "tool_call_response" && next.content === OUTCOME_UNKNOWN) return false;
  const end = events.findIndex(({ type }) => type === "attempt_start");
  const soon = end === -1 ? events : events.slice(0, end);
  const isForModel = (inquiryId: string) =>
    turn.escalationOf(inquiryId) === undefined &&
    settings?.questions.get(turn.questionOf(inquiryId)?.questionId ?? "")?.target.type ===
      "assistant";
  const traces = soon.flatMap((event): readonly Trace[] => {
    if (event.type === "permission_decision") return traceOfDecider(event.decidedBy);
    if (event.type !== "inquiry_response" || isForModel(event.id)) return [];
    if (event.outcome !== "cancelled") {
      // Or no one was there to ask.
      if (hasTimedOut(turn, event) && settings?.detached.tool !== "defaults") return [];
      return traceOfDecider(event.answeredBy);
    }
    switch (event.reason) {
      case "user":
      case "interrupted":
        return ["person"];
      case "no_prompt_backend":
        return ["none"];
      case "backend_error": {
        const failure = failureOf(events);
        if (failure?.what !== "inquiry") return ["person"];
        // It closes the others of its form, too.
        const failed = soon.find(
          (each) =>
            each.type === "inquiry_response" &&
            turn.questionOf(each.id)?.question.text === failure.question,
        );
        return failed?.type === "inquiry_response" && isForModel(failed.id) ? [] : ["none"];
      }
      case "timed_out": {
        // A person who is asked instead of a model may take any time.
        const escalation = turn.escalationOf(event.id);
        return escalation !== undefined && hasTimedOut(turn, escalation) ? ["none"] : [];
      }
      default:
        return [];
    }
  });
  return traces.includes("person") || traces.length === 0;
}

/** Whether a question has no end on record. */
function hasOpenQuestion(events: readonly ConversationEvent[]): boolean {
  const isEnded = (id: string) =>
    events.some((event) => event.type === "inquiry_response" && event.id === id);
  return events.some((event) => event.type === "inquiry_request" && !isEnded(event.id));
}

/** Whether its own deadline led to it. The end of another question that was asked with it may have, too. */
export function hasTimedOut(
  turn: RecordedTurn,
  outcome: InquiryEscalation | InquiryResponse,
): boolean {
  const { deadline } = turn.questionOf(outcome.id) ?? {};
  if (deadline === undefined || deadline > outcome.timestamp) return false;
  if (outcome.outcome === "cancelled") return outcome.reason === "timed_out";
  return outcome.answeredBy?.kind === "default";
}

function traceOfDecider(decider: Decider | undefined): readonly Trace[] {
  switch (decider?.kind) {
    case "user":
      return ["person"];
    case "default":
    case "assistant":
      return ["none"];
    case "policy":
      return decider.key.includes(".detached.") ? ["none"] : [];
    default:
      return [];
  }
}

/** Why a question could not be asked. The result of its call says it. */
export function failureOf(events: readonly ConversationEvent[]) {
  const result = events.find((event) => event.type === "tool_call_response");
  return result && failureIn(withoutNotes(result.content));
}

/** Whether only the process that asked can go on: no record has a secret, and connections end. */
export function isBound(turn: RecordedTurn, answer: ConversationEvent): boolean {
  return sinceAttempt(turn.eventsBefore(answer)).some(
    (event) =>
      (event.type === "inquiry_response" && event.outcome === "redacted") ||
      (event.type === "inquiry_request" && event.isBound === true),
  );
}

/**
 * Whether it was another process that did this: only one that continues a call asks the same again, or starts
 * the tool again without an answer.
 */
export function isTakeover(turn: RecordedTurn, event: ConversationEvent): boolean {
  const earlier = turn.eventsBefore(event);
  switch (event.type) {
    case "permission_request":
      return event.action === "rerun";
    case "attempt_start":
      return earlier.at(-1)?.type === "attempt_start";
    case "inquiry_request": {
      const isSame = (each: ConversationEvent) =>
        each.type === "inquiry_request" && each.questionId === event.questionId;
      // A server that is connected may well ask twice.
      return event.isBound !== true && sinceAttempt(earlier).some(isSame);
    }
    default:
      return false;
  }
}

function sinceAttempt(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
  return events.slice(events.findLastIndex(({ type }) => type === "attempt_start") + 1);
}
