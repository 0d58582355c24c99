/** Requests about a call, with everything that is known of it before it is decided. */
import type { ToolSettings } from "../../settings/config/index.ts";
import type {
  CallProgress,
  CheckCode,
  ForWhom,
  InquiryId,
  InquiryPair,
  ToolResult,
} from "../../record/conversation/index.ts";
import type { InquirySource, ModelPrompt, Question } from "../../record/tool/index.ts";
import type { Verdict } from "../policy/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { CallBudget } from "./budget.ts";
import type { CallableTool } from "./ports.ts";
import type { PromptPlace } from "./prompt-queue.ts";

/** Something that has to be decided about a call. */
export type Asked = AskedQuestion | AskedCall;

/** A call, as far as it has come. */
export interface OpenCall {
  readonly toolCallId: string;
  readonly progress: CallProgress;
  readonly tool: CallableTool;
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
  /** Aborted with `signal`, and once nothing more may be asked: the person has said what to do instead. */
  readonly asking: AbortSignal;
  /** Among the calls of its reply. */
  readonly place: PromptPlace;
}

/** A decision about a call itself. */
export type AskedCall =
  | (OpenCall & {
      readonly kind: "permission" | "in_doubt";
      readonly verdict: Verdict;
      /** What the tool's own check said of a call in doubt, if it left that open. */
      readonly check?: CheckCode;
    })
  | AskedDelivery;

/** Whether the model may see a result. */
export interface AskedDelivery extends Omit<OpenCall, "tool"> {
  readonly kind: "delivery";
  readonly tool: DeliveringTool;
  readonly result: ToolResult;
  readonly verdict: Verdict;
}

/** A result outlives its tool, which may be gone by now. */
export interface DeliveringTool extends Partial<Pick<CallableTool, "describeSource">> {
  readonly settings: Pick<ToolSettings, "name" | "result" | "detached" | "target">;
}

/** A question of a call. */
export interface AskedQuestion {
  readonly kind: "question";
  readonly toolCallId: string;
  /** That of the call. */
  readonly place: PromptPlace;
  readonly tool: CallableTool;
  /** The arguments that the call runs with. */
  readonly arguments: JsonObject;
  /** What rules and the mode say of the call; absent if they leave its questions alone. */
  readonly verdict?: Verdict;
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
  /** The request whose answer no longer counts: this asks again. */
  readonly replaces?: Replaced;
}

/** An answer that no longer counts. */
export interface Replaced {
  readonly id: InquiryId;
  readonly changed: readonly string[];
  /** A person gave it, so that neither a model nor a default may give the next one. */
  readonly isForPerson: boolean;
  /** Who may give the next one. As config says now, if absent. */
  readonly whom?: ForWhom;
  /** Their place among those who are asked one after the other, counted from 0. */
  readonly rung: number;
  /** The event that says so is on record. */
  readonly isRecorded: boolean;
}
