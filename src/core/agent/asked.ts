/** Requests about a call, with everything known about the call before it is decided. */
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

/** A call in progress. */
export interface OpenCall {
  readonly toolCallId: string;
  readonly progress: CallProgress;
  readonly tool: CallableTool;
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
  /** Aborted with `signal`, and once nothing more may be asked because the person has said what to do instead. */
  readonly asking: AbortSignal;
  /** Its position among the calls of its reply. */
  readonly place: PromptPlace;
}

/** A decision about a call itself. */
export type AskedCall =
  | (OpenCall & {
      readonly kind: "permission" | "in_doubt";
      readonly verdict: Verdict;
      /** The result of the tool's own check of a call in doubt, if the check was inconclusive. */
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

/** A question that a call asks. */
export interface AskedQuestion {
  readonly kind: "question";
  /** Empty if any of several calls may have asked. */
  readonly toolCallId: string;
  /** The call's place. */
  readonly place: PromptPlace;
  readonly tool: CallableTool;
  /** The arguments that the call runs with. */
  readonly arguments: JsonObject;
  /** The verdict of rules and mode on the call; absent if they do not cover its questions. */
  readonly verdict?: Verdict;
  readonly question: Question;
  readonly source: InquirySource;
  /** How many times in a row this question was answered without a person, in this call. */
  readonly automaticAnswers: number;
  /** The call's budget. */
  readonly budget: CallBudget;
  /** A prompt for a model, which is shown instead of the conversation. */
  readonly prompt?: ModelPrompt;
  /** Also aborted when the tool withdraws the question. */
  readonly signal: AbortSignal;
  /** Aborted when the tool withdraws the question. */
  readonly withdrawn?: AbortSignal;
  readonly state?: string;
  readonly isBound?: boolean;
  /** Set if an earlier process has recorded it. */
  readonly recorded?: InquiryPair;
  /** The request that this one replaces, because its answer no longer counts. */
  readonly replaces?: Replaced;
}

/** An answer that no longer counts. */
export interface Replaced {
  readonly id: InquiryId;
  readonly changed: readonly string[];
  /** A person gave it, so neither a model nor a default may give the next one. */
  readonly isForPerson: boolean;
  /** Who may give the next one. Decided by the current config if absent. */
  readonly whom?: ForWhom;
  /** The rung of the escalation ladder that was asked, counted from 0. */
  readonly rung: number;
  /** The event that voids it is on record. */
  readonly isRecorded: boolean;
}
