/** A question of a call, with what is known of it before it is answered. */
import type { InquiryPair } from "../conversation/index.ts";
import type { InquirySource, ModelPrompt, Question } from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { CallBudget } from "./budget.ts";
import type { CallableTool } from "./ports.ts";

/** A question of a call. */
export interface AskedQuestion {
  readonly toolCallId: string;
  readonly tool: CallableTool;
  /** What the call runs with. */
  readonly arguments: JsonObject;
  readonly question: Question;
  readonly source: InquirySource;
  /** How many times in a row this call has had it answered without a person. */
  readonly automaticAnswers: number;
  /** The budget of the call. */
  readonly budget: CallBudget;
  /** A prompt for a model, which sees only this and nothing of the conversation. */
  readonly prompt?: ModelPrompt;
  /** Also aborted when the tool withdraws the question. */
  readonly signal: AbortSignal;
  /** Aborted when the tool withdraws the question. */
  readonly withdrawn?: AbortSignal;
  readonly state?: string;
  readonly isBound?: boolean;
  /** Set if an earlier process has recorded it. */
  readonly recorded?: InquiryPair;
}
