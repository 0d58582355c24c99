/** A model that answers a tool's question, on a copy of the conversation that is thrown away after. */
import type { QuestionTarget } from "../config/index.ts";
import type { ConversationStream, InquiryId } from "../conversation/index.ts";
import type { Question } from "../tool/index.ts";
import type { Json } from "../util/index.ts";

export interface InquiryBackend {
  /** Never throws. Abort ends it at once, with `cancelled`. */
  inquire(request: InquiryCall): Promise<InquiryAnswer>;
}

export interface InquiryCall {
  readonly inquiryId: InquiryId;
  /** Of the call that is paused. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly question: Question;
  /** Which assistant is to answer. */
  readonly target: Extract<QuestionTarget, { type: "assistant" }>;
  /** The conversation so far; calls that have finished show their results. */
  readonly stream: ConversationStream;
  readonly signal: AbortSignal;
}

export type InquiryAnswer =
  /** Checked against the question. `model` is `provider/name`. */
  | { readonly type: "answered"; readonly answer: Json; readonly model: string }
  | { readonly type: "cancelled" }
  | { readonly type: "failed"; readonly kind: InquiryFailure; readonly message: string };

/** The provider, no structured answer in its reply, one that does not fit, or anything else. */
export type InquiryFailure = "provider" | "missing_data" | "invalid_answer" | "other";
