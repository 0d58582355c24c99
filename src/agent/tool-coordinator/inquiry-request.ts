/** A question as it goes on record. */
import type { InquiryId, InquiryRequest, Timestamp } from "../../conversation/index.ts";
import type { InquirySource, Question } from "../../tool/index.ts";

export interface RecordedQuestion {
  readonly id: InquiryId;
  readonly timestamp: Timestamp;
  readonly source: InquirySource;
  readonly question: Question;
  /** Absent for a question of no call. */
  readonly toolCallId?: string;
}

export function toInquiryRequest(recorded: RecordedQuestion): InquiryRequest {
  const { question, ...fields } = recorded;
  const { id: questionId, ...shown } = question;
  return { type: "inquiry_request", ...fields, question: shown, questionId };
}
