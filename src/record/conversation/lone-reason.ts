/** Which decisions are made alone, for the command and the desk's page. */
import { type InquiryQuestion, isUnconfined, type ToolOrigin } from "../tool/index.ts";

/** Why a decision cannot be made together with others. */
export type LoneReason = "not_boolean" | "terms" | "changed" | "unconfined";

/**
 * Undefined if one yes or no may answer it together with others: a quorum, a signature, a changed decision and a call
 * outside of the sandbox take an answer of their own.
 */
export function findLoneReason(item: {
  readonly question: Pick<InquiryQuestion, "answerType">;
  readonly terms?: unknown;
  readonly changed?: unknown;
  readonly origin?: ToolOrigin | undefined;
}): LoneReason | undefined {
  if (item.question.answerType.type !== "boolean") return "not_boolean";
  if (item.terms !== undefined) return "terms";
  if (item.changed !== undefined) return "changed";
  return isUnconfined(item.origin) ? "unconfined" : undefined;
}
