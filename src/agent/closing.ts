/** Ends of what no one is asked about any more: turns and calls that are given up, and questions that cannot be asked. */
import {
  type CallProgress,
  type ConversationEvent,
  type InquiryResponse,
  type PermissionProgress,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { Clock } from "../util/index.ts";
import { toInquiryRequest } from "./form.ts";
import type { StopCause } from "./interrupts.ts";
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
import type { TurnContext } from "./state.ts";

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
      return toInquiryRequest(question, { id, timestamp, source });
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
