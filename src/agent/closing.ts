/** Ends of what no one is asked about any more: turns and calls that are given up, and questions that cannot be asked. */
import {
  type CallProgress,
  type ConversationEvent,
  type InquiryResponse,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { Clock } from "../util/index.ts";
import { toInquiryRequest } from "./form.ts";
import type { StopCause } from "./interrupts.ts";
import {
  INTERRUPTED_AT_DELIVERY,
  INTERRUPTED_AT_QUESTION,
  INTERRUPTED_BEFORE_RUN,
  INTERRUPTED_WHILE_RUNNING,
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

function howFar({ attempts, isInDoubt, permissions }: CallProgress): string {
  if (attempts === 0) return INTERRUPTED_BEFORE_RUN;
  if (isInDoubt) return INTERRUPTED_WHILE_RUNNING;
  return permissions.deliver === undefined ? INTERRUPTED_AT_QUESTION : INTERRUPTED_AT_DELIVERY;
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
