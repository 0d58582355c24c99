/**
 * The port to a model that answers questions of tools. It works on a copy of the conversation, which is discarded
 * afterwards. If the tool brings its own prompt, the model sees only that.
 */
import type { QuestionTarget } from "../../settings/config/index.ts";
import type { ConversationStream, InquiryId } from "../../record/conversation/index.ts";
import type { EndReason, Model, RequestNews, Usage } from "../../reach/provider/index.ts";
import type { ModelPrompt, Question } from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";

/** A model that answers questions of tools. */
export interface InquiryBackend {
  /** Never throws. Aborting the signal ends it at once, with `cancelled`. */
  inquire(request: InquiryCall): Promise<InquiryAnswer>;
}

/** A question for a model, with the conversation that it belongs to. */
export interface InquiryCall {
  readonly inquiryId: InquiryId;
  /** The paused call. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly question: Question;
  /** Which assistant should answer. */
  readonly target: Extract<QuestionTarget, { type: "assistant" }>;
  /** The conversation so far, with the results of finished calls. Empty if there is a `prompt`. */
  readonly stream: ConversationStream;
  /** If present, the model sees only this, and its reply is the answer, unchanged. */
  readonly prompt?: ModelPrompt;
  readonly signal: AbortSignal;
  /** Reports progress until there is an answer. Must neither throw nor block. */
  readonly observe?: (update: InquiryUpdate) => void;
  /** Wraps the model, to watch its requests. */
  readonly watchModel?: (model: Model) => Model;
}

/** Events of an inquiry until it is answered. */
export type InquiryUpdate =
  /** It waits in a queue: a local server answers one question at a time. */
  | { readonly type: "queued"; readonly model: string }
  /** The model has the question. */
  | { readonly type: "asked"; readonly model: string }
  | RequestNews
  /** A reply is complete. An invalid one is followed by another attempt. */
  | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage };

/** A model's answer, or why there is none. */
export type InquiryAnswer =
  | {
      readonly type: "answered";
      /** Checked against the question. */
      readonly answer: Json;
      /** `provider/name`. */
      readonly model: string;
      /** The model's reason, if it gave one. */
      readonly reason?: string;
      /** The reply to a `prompt` reached its length limit. */
      readonly isCutOff?: boolean;
    }
  | { readonly type: "cancelled" }
  | { readonly type: "failed"; readonly kind: InquiryFailure; readonly message: string };

/** `missing_data`: the reply has no structured answer. `invalid_answer`: it does not match the question. */
export type InquiryFailure = "provider" | "missing_data" | "invalid_answer" | "other";
