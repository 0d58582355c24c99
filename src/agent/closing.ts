/**
 * Ends turns and calls that are given up, and questions that cannot be asked. Has the errors for turns that cannot
 * start or continue.
 */
import {
  type CallProgress,
  type ChatRequest,
  type ConversationEvent,
  findRequest,
  type InquiryResponse,
  type PermissionProgress,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
} from "../conversation/index.ts";
import { type Clock, JpError } from "../util/index.ts";
import type { StopCause } from "./stop-cause.ts";
import {
  INTERRUPTED_AFTER_ANSWER,
  INTERRUPTED_AFTER_DELIVERY,
  INTERRUPTED_AT_DELIVERY,
  INTERRUPTED_AT_QUESTION,
  INTERRUPTED_BEFORE_RUN,
  INTERRUPTED_WHILE_RUNNING,
  REJECTED_AT_DELIVERY,
  REJECTED_AT_QUESTION,
  rejectedBeforeRun,
} from "./model-texts.ts";
import type { TurnContext } from "./context.ts";

/** The events that close what a turn has left open, so that it cannot be continued. None if it is complete. */
export function closeTurn(
  events: readonly ConversationEvent[],
  clock: Clock,
  by: StopCause,
): readonly ConversationEvent[] {
  const { next, calls } = readTurnProgress(events);
  if (next === "done") return [];
  const timestamp = timestampFromDate(clock.now());
  return [
    ...calls.flatMap((call) => closeCall(call, clock, by)),
    { type: "turn_end", timestamp, reason: "discarded" },
  ];
}

/** The same before another turn starts, which may replace this one. Throws `nothing_to_replace`, `incomplete_turn`. */
export function closeTurnBefore(
  { replacesTurn = false }: Pick<ChatRequest, "replacesTurn">,
  events: readonly ConversationEvent[],
  clock: Clock,
): readonly ConversationEvent[] {
  const closing = closeTurn(events, clock, "interrupted");
  if (!replacesTurn) return closing;
  if (findRequest(events) === undefined) {
    throw new JpError("nothing_to_replace", "There is no earlier message to send again.");
  }
  if (closing.length === 0) return closing;
  // Its calls may still do something, which the model would never learn of.
  throw new JpError("incomplete_turn", "The last turn is incomplete, so it cannot be replaced.", {
    hint: "Continue it first, or close it.",
  });
}

/** The events that close a call and its questions. The last one is its response. */
export function closeCall(
  call: CallProgress,
  clock: Clock,
  by: StopCause,
): readonly [...InquiryResponse[], ToolCallResponse] {
  const timestamp = timestampFromDate(clock.now());
  const { id } = call.request;
  return [
    ...closeQuestions(call, clock, by),
    { type: "tool_call_response", timestamp, id, content: howFar(call), isError: true },
  ];
}

/** A person may have decided something after the process had ended. */
function howFar({ attempts, isInDoubt, permissions, asked }: CallProgress): string {
  const { run, deliver } = permissions;
  if (attempts === 0) {
    return isRejected(run) ? rejectedBeforeRun(run?.decision?.reason) : INTERRUPTED_BEFORE_RUN;
  }
  if (isInDoubt) return INTERRUPTED_WHILE_RUNNING;
  if (isRejected(deliver)) return REJECTED_AT_DELIVERY;
  if (deliver !== undefined) {
    const isApproved = deliver.decision !== undefined && deliver.decision.decision !== "denied";
    return isApproved ? INTERRUPTED_AFTER_DELIVERY : INTERRUPTED_AT_DELIVERY;
  }
  const ends = asked.map(({ response }) => response);
  if (ends.some((end) => end?.outcome === "cancelled" && end.reason === "user")) {
    return REJECTED_AT_QUESTION;
  }
  const isAnswered = ends.every((end) => end !== undefined && end.outcome !== "cancelled");
  return isAnswered && ends.length > 0 ? INTERRUPTED_AFTER_ANSWER : INTERRUPTED_AT_QUESTION;
}

/** By a person: what only the config denies, the user did not reject. */
function isRejected({ decision }: PermissionProgress = {}): boolean {
  return decision?.decision === "denied" && decision.decidedBy.kind !== "policy";
}

/** The ends of what a call has left open. */
export function closeQuestions(
  { questions }: Pick<CallProgress, "questions">,
  clock: Clock,
  reason: StopCause,
): readonly InquiryResponse[] {
  const timestamp = timestampFromDate(clock.now());
  return questions.flatMap(({ request: { id }, response }): InquiryResponse[] => {
    if (response !== undefined) return [];
    return [{ type: "inquiry_response", timestamp, id, outcome: "cancelled", reason }];
  });
}

/**
 * Records questions that belong to no running call. Their executor has refused them already, so each is
 * recorded together with its end. The returned function stops that and waits for the last write; it
 * throws `write_failed`.
 */
export function recordUnscopedQuestions(context: TurnContext): () => Promise<void> {
  const { tools, journal, state, clock } = context;
  const writes: Promise<void>[] = [];
  const unsubscribe = tools.onUnscopedQuestions?.(({ source, questions, reason }) => {
    const timestamp = timestampFromDate(clock.now());
    const requests = questions.map((question) => {
      const id = state.nextInquiryId(source.name, question.id);
      const { id: questionId, ...asked } = question;
      return {
        type: "inquiry_request" as const,
        id,
        timestamp,
        source,
        question: asked,
        questionId,
      };
    });
    const responses = requests.map(({ id }): InquiryResponse => {
      return { type: "inquiry_response", timestamp, id, outcome: "cancelled", reason };
    });
    const write = journal.record(...requests, ...responses);
    write.catch(() => undefined); // Thrown when recording stops.
    writes.push(write);
  });
  return async () => {
    unsubscribe?.();
    await Promise.all(writes);
  };
}

export function turnRunningError(id: string): JpError {
  return new JpError("turn_running", `A turn is already running in conversation ${id}.`, {
    hint: "Wait until it ends, or use another conversation.",
  });
}

export function turnWaitingError(id: string): JpError {
  return new JpError("turn_waiting", `The last turn of conversation ${id} waits for a decision.`, {
    hint: "Answer what is pending and resume the turn, or discard it.",
  });
}

export function foreignTurnError(id: string): JpError {
  const message = `The last turn of ${id} was started elsewhere, or its record has changed since.`;
  return new JpError("foreign_turn", message);
}
