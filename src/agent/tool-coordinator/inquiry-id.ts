/** The one place where inquiry ids are made. Nobody takes one apart. */
import type { InquiryId } from "../../conversation/index.ts";

/** `attempt` counts from 1 within the turn, for each question of each call. */
export function mintInquiryId(toolCallId: string, questionId: string, attempt: number): InquiryId {
  return `${toolCallId}.${questionId}.${attempt}` as InquiryId; // Branded where it is made.
}
