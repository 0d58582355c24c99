/** A question that waits for its answer: who was asked before, and how long it may wait. */
import type { InquiryQuestion } from "../tool/index.ts";
import type { InquiryOutcome } from "./event.ts";
import type { Timestamp } from "./timestamp.ts";
import type { InquiryPair } from "./turns.ts";

type OpenQuestion = Omit<InquiryPair, "response">;

/** Until when an answer counts. Undefined if the question waits forever. */
export function deadlineOf({ request, escalation }: OpenQuestion): Timestamp | undefined {
  return escalation === undefined ? request.deadline : escalation.deadline;
}

/** The question as a person sees it. What a model said about it is shown above its context. */
export function withEscalation<Question extends InquiryQuestion>(
  question: Question,
  escalation: InquiryOutcome | undefined,
): Question {
  if (escalation === undefined) return question;
  const said = describeEscalation(escalation);
  const context = question.context === undefined ? said : `${said}\n\n${question.context}`;
  return { ...question, context };
}

/** On one line: the model wrote part of it, and must not be able to imitate what follows. */
function describeEscalation(escalation: InquiryOutcome): string {
  if (escalation.outcome === "answered") {
    const { answeredBy, answerReason } = escalation;
    const who = answeredBy?.kind === "assistant" ? ` (${answeredBy.model})` : "";
    return `The assistant${who} said no${answerReason === undefined ? "." : `: ${JSON.stringify(answerReason)}`}`;
  }
  if (escalation.outcome === "cancelled" && escalation.reason === "timed_out") {
    return "The assistant did not answer in time.";
  }
  const problem = escalation.outcome === "cancelled" ? escalation.problem : undefined;
  return `The assistant could not answer${problem === undefined ? "." : `: ${JSON.stringify(problem)}`}`;
}
