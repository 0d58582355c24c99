/** What all calls of a turn share. */
import type { ToolSettings } from "../../config/index.ts";
import type { RunnableTool } from "../../executor/index.ts";
import type { InquiryBackend } from "../../inquiry/index.ts";
import type { ToolSchema } from "../../provider/index.ts";
import type { Clock } from "../../util/index.ts";
import type { Journal } from "../journal.ts";
import type { Observer } from "../observer.ts";
import type { Prompter } from "../ports.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { TurnState } from "./turn-state.ts";

export interface TurnParts {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  readonly observer?: Observer;
}

/** The tools that are on. */
export interface Toolbox {
  /** As the model is told of them. A tool that cannot be had is not among them. */
  schemas(signal: AbortSignal): Promise<readonly ToolSchema[]>;
  /** Undefined if there is none of that name. Throws if it cannot be had at the moment. */
  find(name: string, signal: AbortSignal): Promise<CallableTool | undefined>;
}

export interface CallableTool extends RunnableTool {
  readonly settings: ToolSettings;
}
