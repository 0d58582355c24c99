/**
 * A model that answers a tool's question, on a copy of the conversation that is thrown away after. A
 * tool may also have words of its own for it: then these are all that it sees.
 */
import type { QuestionTarget } from "../config/index.ts";
import type { ConversationStream, InquiryId } from "../conversation/index.ts";
import type { ModelPrompt, Question } from "../tool/index.ts";
import type { Json } from "../util/index.ts";

/** A model that answers questions of tools. */
export interface InquiryBackend {
  /** Never throws. Abort ends it at once, with `cancelled`. */
  inquire(request: InquiryCall): Promise<InquiryAnswer>;
}

/** A question for a model, and the conversation it came up in. */
export interface InquiryCall {
  readonly inquiryId: InquiryId;
  /** Of the call that is paused. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly question: Question;
  /** Which assistant is to answer. */
  readonly target: Extract<QuestionTarget, { type: "assistant" }>;
  /** The conversation so far; calls that have finished show their results. Empty with a `prompt`. */
  readonly stream: ConversationStream;
  /** If there is one, it is all that the model gets to see, and the answer is the reply as it is. */
  readonly prompt?: ModelPrompt;
  readonly signal: AbortSignal;
}

/** What a model answered, or why there is no answer. */
export type InquiryAnswer =
  /**
   * Checked against the question. `model` is `provider/name`. `isCutOff`: a reply to a prompt that
   * reached its limit.
   */
  | {
      readonly type: "answered";
      readonly answer: Json;
      readonly model: string;
      readonly isCutOff?: boolean;
    }
  | { readonly type: "cancelled" }
  | { readonly type: "failed"; readonly kind: InquiryFailure; readonly message: string };

/** The provider, no structured answer in its reply, one that does not fit, or anything else. */
export type InquiryFailure = "provider" | "missing_data" | "invalid_answer" | "other";

/** For programs without a model: every inquiry fails. */
export const NO_MODEL: InquiryBackend = {
  inquire: async () => ({ type: "failed", kind: "other", message: "there is no model" }),
};
