/** The parts that the calls of a turn share. */
import type { InquiryBackend } from "../answer-model/index.ts";
import type { CallLimits } from "../../settings/config/index.ts";
import type { ConversationStream, Directory } from "../../record/conversation/index.ts";
import type { Policy } from "../policy/index.ts";
import type { Clock } from "../../util/index.ts";
import type { TurnState } from "./memory.ts";
import type { AnswerSource, Journal, Observer, Prompter, Toolbox } from "./ports.ts";
import type { PromptQueue } from "./prompt-queue.ts";

/** Everything that the calls of a turn share. */
export interface TurnContext {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly answers?: AnswerSource;
  /** The tools' own settings decide if absent. */
  readonly policy?: Policy;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  /** The default limits apply if absent. */
  readonly limits?: CallLimits;
  /** The part of the conversation that models see, apart from compactions; everything if absent. */
  readonly view?: (stream: ConversationStream) => ConversationStream;
  readonly observer?: Observer;
  /** Another process can continue from the record, so a person may answer later. */
  readonly allowsLater?: boolean;
  /** The name of the person that the prompter asks. It proves nothing. */
  readonly userName?: string;
  /** Who holds which role. Without it, decisions that need known people cannot be asked. */
  readonly directory?: Directory;
  /** The name of the person who started the turn, if the record does not say. */
  readonly startedBy?: string;
}
