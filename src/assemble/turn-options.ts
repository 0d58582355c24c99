/** The parts of a turn of a program, and its result. */
import type {
  AnswerSource,
  Assistant,
  DetachedDenial,
  Observer,
  Prompter,
  TurnEnd,
} from "../core/agent/index.ts";
import type { CallLimits } from "../settings/config/index.ts";
import type {
  Attachment,
  ConversationEvent,
  Directory,
  Usage,
} from "../record/conversation/index.ts";
import type { LanguageModel, Model } from "../reach/provider/index.ts";
import type { McpServerConfigs, SharedMcpServers, Variables } from "../reach/mcp/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import type { StandardSchema, Tool } from "../record/tool/index.ts";
import type { Clock, Json } from "../util/index.ts";
import type { CompactionOptions } from "./compaction.ts";
import type { ToolConfigs } from "./own-tools.ts";
import type { Surroundings } from "./surroundings.ts";

/** MCP servers for a turn: open, or config for those that run only during it. */
export type TurnServers = SharedMcpServers | McpServerConfigs;

/** The parts of a turn. Only the conversation and the model are required. The compiler finds out the parameters. */
export interface TurnOptions<
  Name extends string = string,
  Servers extends TurnServers = TurnServers,
> {
  /** Where everything is recorded: of `openStore`, a `MemoryConversationStore`, or a workspace. */
  readonly conversation: ConversationWriter;
  /** One of ours, or any language model of the AI SDK 6 or 7. */
  readonly model: Model | LanguageModel;
  /** Made with `defineTool`. */
  readonly tools?: readonly Tool<Name>[];
  /**
   * MCP servers, all of whose tools are offered. Config is for servers that run only during this turn;
   * `openMcpServers` makes a set that turns share.
   */
  readonly mcpServers?: Servers | ([Servers] extends [never] ? TurnServers : never);
  /** The environment for `mcpServers` that are config: see `McpServersOptions`. */
  readonly variables?: Variables;
  /** Offers the tool `ask_user`, with which the assistant asks the person. */
  readonly askUser?: boolean;
  /** Offers the tool `tell_user`, with which the assistant says something before its turn ends: see `spokenText`. */
  readonly tellUser?: boolean;
  /**
   * By tool, as `conversation.tools.<name>` in a config file; `*` is for all tools. Unless this says
   * otherwise, a tool of the program itself runs unattended, and one of a server only if a person permits it.
   */
  readonly toolConfig?: ToolConfigs<[Servers] extends [never] ? NoInfer<Name> : string>;
  /** The person to ask. Without one, the turn is non-interactive. */
  readonly prompter?: Prompter;
  /**
   * Leave what `prompter` cannot ask for later, whatever `toolConfig` does without a person. The turn then ends as
   * `waiting`; see `listPending`, `answerInquiry` and `resumeTurn`.
   */
  readonly defer?: boolean;
  /** The name of that person, recorded with what they decide, unless the prompter returns one with the answer. */
  readonly userName?: string;
  /**
   * Who has which roles, for what takes people who are known: see `target`. Without it, such a decision is not asked, and the turn
   * throws `directory_missing`. A name that the prompter returns with an answer counts as proven, and so does `userName`.
   */
  readonly directory?: Directory;
  /**
   * As long as no one is known, whoever is asked decides in the place of people: a role, a quorum, or someone else than who started
   * the turn; never a signature. The record says so (`auth: "owner"`).
   */
  readonly ownerAlone?: boolean;
  /**
   * The name of the person who starts the turn, for what they must not decide themselves (`not_by`): someone of the directory. In
   * `resumeTurn`, for a turn whose record does not say it.
   */
  readonly startedBy?: string;
  /** Continue a turn even if someone else has left it: see `ConversationWriter.isOwnTurn`. */
  readonly allowsForeignTurn?: boolean;
  /**
   * If the last turn still waits for a decision, close it and start another. Without this, `runTurn` then throws
   * `turn_waiting`: the decision would be gone, and a call in doubt would never be settled.
   */
  readonly discardsPending?: boolean;
  /** Answers that were given before the turn; see `AnswersFile`. */
  readonly answers?: AnswerSource;
  readonly systemPrompt?: string;
  /** Overrides parts of the assistant's description; the rest is as for the command. */
  readonly assistant?: Partial<Assistant>;
  /**
   * Where the models are: the folder, the date, the state of git, `AGENTS.md`. A turn says nothing of it unless asked:
   * pass what `describeSurroundings` returns. It is sent with every request, and not recorded.
   */
  readonly surroundings?: Surroundings;
  /** Documents to send with every request. `loadAttachments` reads files, pages and command output. */
  readonly attachments?: readonly Attachment[];
  /** Answers tools' questions for which the config names the assistant; the same model if absent. */
  readonly inquiryModel?: Model | LanguageModel;
  /** The most requests to the model; 50 if absent. */
  readonly maxCycles?: number;
  /** Overrides the limits on automatic answers and on the bytes that a call adds to the record. */
  readonly limits?: Partial<CallLimits>;
  /** How old turns are shortened before the context window is full; false for never. */
  readonly compaction?: CompactionOptions | false;
  /** For tests: a clock other than the machine's. */
  readonly clock?: Clock;
  /** Gets every update as it happens. `streamTurn` gives the same as a stream. */
  readonly observer?: Observer;
  /** Spans also have messages, arguments, results, answers and people's names. There are spans where an SDK of OpenTelemetry is registered. */
  readonly tracesContent?: boolean;
  /** Ends the turn in good order. */
  readonly signal?: AbortSignal;
}

/** The parts that a turn is resumed with. */
export interface ResumeOptions<
  Data = Json,
  Name extends string = string,
  Servers extends TurnServers = TurnServers,
> extends Omit<TurnOptions<Name, Servers>, "conversation"> {
  /**
   * The schema that the turn was started with, if it is of a library such as zod. The record has only its JSON
   * Schema: without this, `data` is what the model has written, not checked or converted any further.
   */
  readonly schema?: StandardSchema<Data>;
}

/** How to leave a turn to workers. */
export interface EnqueueOptions {
  /** Which workers: see `WorkerOptions.queue`. Those of the conversation by default, which are `default` at first. */
  readonly queue?: string;
  /** See `TurnOptions.discardsPending`. */
  readonly discardsPending?: boolean;
  /** See `TurnOptions.directory`. */
  readonly directory?: Directory;
  /** See `TurnOptions.startedBy`. */
  readonly startedBy?: string;
  readonly clock?: Clock;
}

/** How a turn ended, told by `type`, and what came of it. */
export type TurnResult<Data = unknown> = TurnEnd & {
  /** Set if the message has a schema, and the answer fits it. */
  readonly data?: Data;
  /** The assistant's last message, without reasoning; JSON where a schema was given. */
  readonly text: string;
  /** Everything that the turn added to the record. */
  readonly events: readonly ConversationEvent[];
  /** Everything that was denied only because no prompt was available. */
  readonly denials: readonly DetachedDenial[];
  /** The tokens of all requests of the turn: replies, answers to questions, summaries. */
  readonly usage: Usage;
};
