/** A turn that waits for an answer to one question, and answers to it. */
import {
  answered,
  at,
  chatRequest,
  closed,
  inquiry,
  message,
  toolCall,
  toolResult,
  turnStart,
} from "../record/conversation/events.fixture.ts";
import type {
  ConversationEvent,
  InquiryRequest,
  InquiryResponse,
} from "../record/conversation/index.ts";

const QUESTION: InquiryRequest = { ...inquiry("a.q.1"), toolCallId: "a", questionId: "q" };

/** A tool has asked, and no one has answered. */
export const WAITING: readonly ConversationEvent[] = [
  turnStart(),
  chatRequest("Hello"),
  toolCall("a"),
  { type: "attempt_start", timestamp: at(0), toolCallId: "a" },
  QUESTION,
];

/** The events that complete that turn. */
export const REST: readonly ConversationEvent[] = [
  answered("a.q.1"),
  toolResult("a"),
  message("Done."),
];

/** An answer to the question. `name` tells answers apart. */
export function answerBy(name: string, answer = true): InquiryResponse {
  const answeredBy = { kind: "user", channel: "cli", auth: "os_user", name } as const;
  return closed("a.q.1", { outcome: "answered", answer, answeredBy });
}

/** The same turn, asking for a secret. */
export const WAITING_FOR_SECRET: readonly ConversationEvent[] = [
  ...WAITING.slice(0, -1),
  { ...QUESTION, question: { ...QUESTION.question, answerType: { type: "secret" } } },
];
