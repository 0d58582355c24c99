/** What all calls of a turn share. */
import type { CallLimits, ToolSettings } from "../../config/index.ts";
import type { RefusedQuestions, RunnableTool } from "../../executor/index.ts";
import type { InquiryBackend } from "../../inquiry/index.ts";
import type { ToolSchema } from "../../provider/index.ts";
import type { Clock } from "../../util/index.ts";
import type { Journal } from "../journal.ts";
import type { Observer } from "../observer.ts";
import type { Prompter } from "../ports.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { TurnState } from "./turn-state.ts";

/** What the calls of a turn share. */
export interface TurnParts {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  /** The usual ones if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
}

/** The tools that are on. */
export interface Toolbox {
  /** As the model is told of them. A tool that cannot be had is not among them. */
  schemas(signal: AbortSignal): Promise<readonly ToolSchema[]>;
  /** Undefined if there is none of that name. Throws if it cannot be had at the moment. */
  find(name: string, signal: AbortSignal): Promise<CallableTool | undefined>;
  /**
   * Calls back for each question that belongs to no call under way, and was refused for that, until
   * what it returns is called. Absent where there can be none.
   */
  listen?(onStray: (refused: RefusedQuestions) => void): () => void;
}

/** A tool that can be run, with what the config says of it. */
export interface CallableTool extends RunnableTool {
  readonly settings: ToolSettings;
}
