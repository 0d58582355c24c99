/** The options of a program's turn, and its result. */
import type {
  AnswerSource,
  Assistant,
  DetachedDenial,
  Observer,
  Prompter,
  SteeringSource,
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

/** MCP servers for a turn: already open, or config for servers that run only during it. */
export type TurnServers = SharedMcpServers | McpServerConfigs;

/** The options of a turn. Only the conversation and the model are required. The type parameters are inferred. */
export interface TurnOptions<
  Name extends string = string,
  Servers extends TurnServers = TurnServers,
> {
  /** Records everything: from `openStore`, a `MemoryConversationStore`, or a workspace. */
  readonly conversation: ConversationWriter;
  /** One of jp's models, or any language model of the AI SDK 6 or 7. */
  readonly model: Model | LanguageModel;
  /** Made with `defineTool`. */
  readonly tools?: readonly Tool<Name>[];
  /**
   * MCP servers, all of whose tools are offered. Pass config for servers that run only during this turn, or a set
   * from `openMcpServers` that turns share.
   */
  readonly mcpServers?: Servers | ([Servers] extends [never] ? TurnServers : never);
  /** The environment for `mcpServers` given as config: see `McpServersOptions`. */
  readonly variables?: Variables;
  /** Offers the tool `ask_user`, so that the assistant can ask the person. */
  readonly askUser?: boolean;
  /** Offers the tool `tell_user`, so that the assistant can say something before its turn ends: see `spokenText`. */
  readonly tellUser?: boolean;
  /**
   * Config by tool name, like `conversation.tools.<name>` in a config file; `*` is for all tools. By default, the
   * program's own tools run unattended, and a server's tools only if a person permits it.
   */
  readonly toolConfig?: ToolConfigs<[Servers] extends [never] ? NoInfer<Name> : string>;
  /** The person to ask. Without one, the turn is non-interactive. */
  readonly prompter?: Prompter;
  /**
   * Leave what `prompter` cannot ask for later, whatever `toolConfig` says for non-interactive runs. The turn then
   * ends as `waiting`; see `listPending`, `answerInquiry` and `resumeTurn`.
   */
  readonly defer?: boolean;
  /** The person's name, recorded with their decisions, unless the prompter returns one with the answer. */
  readonly userName?: string;
  /**
   * The known people and their roles, for decisions that need them: see `target`. Without it, such a decision is not
   * asked, and the turn throws `directory_missing`. A name that the prompter returns with an answer counts as proven,
   * and so does `userName`.
   */
  readonly directory?: Directory;
  /**
   * While no people are known, lets the person asked decide in their place: for a role, for a quorum, or for someone
   * other than the person who started the turn; never for a signature. This is recorded (`auth: "owner"`).
   */
  readonly ownerAlone?: boolean;
  /**
   * The name of the person who starts the turn, for decisions they must not make themselves (`not_by`). Must be in
   * the directory. In `resumeTurn`, for a turn whose record does not name them.
   */
  readonly startedBy?: string;
  /** Continue a turn even if someone else left it: see `ConversationWriter.isOwnTurn`. */
  readonly allowsForeignTurn?: boolean;
  /**
   * If the last turn still waits for a decision, close it and start another. Without this, `runTurn` throws
   * `turn_waiting`: the decision would be lost, and a call in doubt would never be settled.
   */
  readonly discardsPending?: boolean;
  /** Answers prepared before the turn; see `AnswersFile`. */
  readonly answers?: AnswerSource;
  /** Messages of the user for the running turn, which the model gets with the next tool results. */
  readonly steering?: SteeringSource;
  readonly systemPrompt?: string;
  /** Overrides parts of the assistant's description; the rest is the command's default. */
  readonly assistant?: Partial<Assistant>;
  /**
   * The models' surroundings: the folder, the date, the git state, `AGENTS.md`. Omitted by default: pass the result
   * of `describeSurroundings`. Sent with every request, and not recorded.
   */
  readonly surroundings?: Surroundings;
  /** Documents to send with every request. `loadAttachments` reads files, pages and command output. */
  readonly attachments?: readonly Attachment[];
  /** Answers tools' questions that config assigns to the assistant; the same model if absent. */
  readonly inquiryModel?: Model | LanguageModel;
  /** The maximum number of requests to the model; 50 if absent. */
  readonly maxCycles?: number;
  /** Overrides the limits on automatic answers and on the bytes that a call adds to the record. */
  readonly limits?: Partial<CallLimits>;
  /** How old turns are shortened before the context window is full; false to disable. */
  readonly compaction?: CompactionOptions | false;
  /** For tests: a clock other than the machine's. */
  readonly clock?: Clock;
  /** Gets every update as it happens. `streamTurn` returns the same updates as a stream. */
  readonly observer?: Observer;
  /**
   * Include messages, arguments, results, answers and people's names in spans. Spans exist only if an OpenTelemetry
   * SDK is registered.
   */
  readonly tracesContent?: boolean;
  /** Ends the turn cleanly. */
  readonly signal?: AbortSignal;
}

/** The options for resuming a turn. */
export interface ResumeOptions<
  Data = Json,
  Name extends string = string,
  Servers extends TurnServers = TurnServers,
> extends Omit<TurnOptions<Name, Servers>, "conversation"> {
  /**
   * The schema that the turn was started with, if it is from a library such as zod. The record has only its JSON
   * Schema: without this, `data` is what the model wrote, without further checks or conversion.
   */
  readonly schema?: StandardSchema<Data>;
}

/** Options for leaving a turn to workers. */
export interface EnqueueOptions {
  /**
   * The workers' queue: see `WorkerOptions.queue`. Defaults to the conversation's last queue, which starts as
   * `default`.
   */
  readonly queue?: string;
  /** See `TurnOptions.discardsPending`. */
  readonly discardsPending?: boolean;
  /** See `TurnOptions.directory`. */
  readonly directory?: Directory;
  /** See `TurnOptions.startedBy`. */
  readonly startedBy?: string;
  readonly clock?: Clock;
}

/** How a turn ended, in `type`, and its results. */
export type TurnResult<Data = unknown> = TurnEnd & {
  /** Set if the message has a schema and the answer matches it. */
  readonly data?: Data;
  /** The assistant's last message, without reasoning; JSON if a schema was given. */
  readonly text: string;
  /** Everything that the turn added to the record. */
  readonly events: readonly ConversationEvent[];
  /** Everything that was denied only because no prompt was available. */
  readonly denials: readonly DetachedDenial[];
  /** The tokens of all the turn's requests: replies, answers to questions, summaries. */
  readonly usage: Usage;
};
