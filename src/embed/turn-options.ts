/** What a program gives for a turn of its own. Only the conversation and the model are needed. */
import type { Assistant, Observer, Prompter } from "../agent/index.ts";
import type { CallLimits } from "../config/index.ts";
import type { Attachment } from "../conversation/index.ts";
import type { LanguageModel, Model } from "../provider/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { BuiltinTool } from "../tool/index.ts";
import type { Clock, JsonObject } from "../util/index.ts";

/** What a turn of a program is made of. Only the conversation and the model are needed. */
export interface TurnOptions {
  /** Where everything is recorded: of a `MemoryConversationStore`, or of a workspace. */
  readonly conversation: ConversationWriter;
  /** One of ours, or any language model of the AI SDK. */
  readonly model: Model | LanguageModel;
  /** Made with `defineTool`. */
  readonly tools?: readonly BuiltinTool[];
  /**
   * By tool, as `conversation.tools.<name>` in a config file. A tool of the program itself runs
   * unattended unless this says otherwise.
   */
  readonly toolConfig?: Readonly<Record<string, JsonObject>>;
  /** Who is asked. Without one, nobody is there. */
  readonly prompter?: Prompter;
  /** What the assistant is told before everything else. */
  readonly systemPrompt?: string;
  /** What else is said about the assistant; the rest is as it is for the command. */
  readonly assistant?: Partial<Assistant>;
  /** Documents that go along with every request. */
  readonly attachments?: readonly Attachment[];
  /** Answers tools' questions for which the config names the assistant; the same model if absent. */
  readonly inquiryModel?: Model | LanguageModel;
  /** The most requests to the model; 50 if absent. */
  readonly maxCycles?: number;
  /** What a call may do without a person, and add to the record, other than by default. */
  readonly limits?: Partial<CallLimits>;
  /** Another one than the machine's, in tests. */
  readonly clock?: Clock;
  /** Hears every update as it happens. `streamTurn` gives the same as a stream. */
  readonly observer?: Observer;
  /** Ends the turn in good order. */
  readonly signal?: AbortSignal;
}
