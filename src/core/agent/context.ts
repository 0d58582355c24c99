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
  /** Another process can go on from the record, so that a person may leave things for later. */
  readonly allowsLater?: boolean;
  /** The name of the person whom the prompter asks. It proves nothing. */
  readonly userName?: string;
  /** Who has which roles. Without it, what takes people who are known cannot be asked. */
  readonly directory?: Directory;
  /** The name of who has started the turn, if the record does not say it. */
  readonly startedBy?: string;
}
