/**
 * Puts a turn together. The command, embedding programs and servers all go through `createTurn`, so that
 * they cannot drift apart.
 */
import {
  type AnswerSource,
  type Assistant,
  type DataValidator,
  type DetachedDenial,
  guardObserver,
  guardPrompter,
  type InterruptMenu,
  isBesideReply,
  noPrompter,
  type Observer,
  type Prompter,
  type Toolbox,
  Turn,
  type TurnEnd,
  type TurnUpdate,
} from "../agent/index.ts";
import { type CallLimits, DEFAULT_LIMITS, resolveAssistant } from "../config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  type Usage,
  usageOf,
} from "../conversation/index.ts";
import { createInquiryBackend, type InquiryBackend } from "../answer-model/index.ts";
import type { LanguageModel, Model, ToolSchema } from "../provider/index.ts";
import type { McpServerConfigs, McpServers, SharedMcpServers, Variables } from "../mcp/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { StandardSchema, Tool } from "../tool/index.ts";
import { assertNever, type Clock, type Json, systemClock } from "../util/index.ts";
import { type CompactionOptions, toCompactionSetup } from "./compaction.ts";
import {
  type DataOf,
  type DataSchema,
  type Message,
  toCheckedMessage,
  toDataCheck,
} from "./data.ts";
import { inquiryModelsOf, type InquiryModels } from "./inquiry-models.ts";
import { toModel } from "./model.ts";
import { type Surroundings, withSurroundings } from "./surroundings.ts";
import { createOwnToolbox, openServers, type ToolConfigs } from "./own-tools.ts";
import { deferring } from "./tools.ts";

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

/** More parts for programs that build a turn themselves, as the command does. */
export interface CreateTurnOptions extends TurnOptions {
  /** Open, because a turn does not close them. */
  readonly mcpServers?: McpServers;
  /** Tools that are open already, in place of `tools`, `mcpServers`, `askUser`, `tellUser` and `toolConfig`. */
  readonly toolbox?: Toolbox;
  /** Lets the user choose what to do about an interrupted turn. */
  readonly menu?: InterruptMenu;
  /** Chooses the model for each question by its `target`, in place of `inquiryModel`. */
  readonly inquiryModels?: InquiryModels;
  /** Answers in place of any model. */
  readonly inquiries?: InquiryBackend;
  /** Checks data that fits the JSON Schema of the message, and may convert it. */
  readonly validateData?: DataValidator;
  /** Do not start while the last turn waits for a person. */
  readonly protectsPending?: boolean;
}

const MAX_CYCLES = 50;

/**
 * Runs one turn: a message, the assistant's replies, and every tool they call. With a `schema` in the message,
 * the result has `data`. Throws `ProviderError`, `McpError`, `write_failed`; `config_invalid`, `unknown_tool` and
 * `tool_name_clash` for the tools and their config; `invalid_message`, `invalid_file`, `invalid_schema` and
 * `schema_unsupported` for the message. What happened until then is on record. Throws `turn_running` if another turn
 * runs on the same `conversation`, and `turn_waiting` if its last turn waits for a decision.
 */
export async function runTurn<
  Schema extends DataSchema | undefined = undefined,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  options: TurnOptions<Name, Servers>,
  message: string | Message<Schema>,
): Promise<TurnResult<DataOf<Schema>>> {
  const { message: request, check } = await toCheckedMessage(message);
  const protectsPending = options.discardsPending !== true;
  const parts = options as TurnOptions; // For the parts of a turn, names are any texts.
  return untilEnd({ ...parts, ...check, protectsPending }, (turn) => turn.run(request));
}

/**
 * Continues the turn that the conversation ends with, in this process or any other: finished calls are not run
 * again, and what is still pending is asked again. Ends at once if nothing is missing. Throws like `runTurn`.
 */
export async function resumeTurn<
  Data = Json,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  conversation: ConversationWriter,
  options: ResumeOptions<Data, Name, Servers>,
): Promise<TurnResult<Data>> {
  const { schema, ...others } = options as ResumeOptions<Data>;
  return untilEnd({ ...others, conversation, ...toDataCheck(schema) }, (turn) => turn.resume());
}

async function untilEnd<Data>(
  options: TurnOptions & Pick<CreateTurnOptions, "validateData" | "protectsPending">,
  start: (turn: Turn) => Promise<TurnEnd>,
): Promise<TurnResult<Data>> {
  const { conversation, signal, mcpServers } = options;
  await using opened = openServers(mcpServers, options);
  const turn = createTurn({ ...options, mcpServers: opened.servers });
  const onAbort = () => turn.leave();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    const end = await start(turn);
    const result = createResult(end, conversation.stream, turn.denials);
    return result as TurnResult<Data>; // The schema that checked the data has this type.
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/**
 * Runs one turn as `runTurn` does, and yields what happens as it happens. A reader who stops early ends
 * the turn in good order.
 */
export async function* streamTurn<
  Schema extends DataSchema | undefined = undefined,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  options: TurnOptions<Name, Servers>,
  message: string | Message<Schema>,
): AsyncGenerator<TurnUpdate, TurnResult<DataOf<Schema>>, undefined> {
  const updates = new UpdateQueue();
  const stopped = new AbortController();
  const { signal = stopped.signal, observer } = options;
  const ended = runTurn(
    {
      ...options,
      signal: AbortSignal.any([signal, stopped.signal]),
      observer: {
        observe: (update) => {
          updates.add(update); // First, because the program's observer may throw.
          return observer?.observe(update);
        },
      },
    },
    message,
  );
  ended.catch(() => undefined).finally(() => updates.end());
  try {
    yield* updates;
    return await ended;
  } finally {
    stopped.abort();
    await ended.catch(() => undefined);
  }
}

/** A turn that has not begun. Its `signal` is the caller's to pass on. Throws `config_invalid`. */
export function createTurn(options: CreateTurnOptions): Turn {
  const { clock = systemClock, attachments = [], prompter = noPrompter } = options;
  const { answers, menu, observer, validateData } = options;
  const model = toModel(options.model);
  const assistant = withSurroundings(createAssistant(options), options.surroundings);
  const { toolbox = createOwnToolbox(options) } = options;
  const tools = options.defer === true ? deferring(toolbox) : toolbox;
  let schemas: readonly ToolSchema[] = [];
  const { inquiryModel = model } = options;
  const inquiryModels = inquiryModelsOf(options, toModel(inquiryModel), assistant);
  return new Turn({
    conversation: options.conversation,
    model,
    assistant,
    tools: { ...tools, schemas: async (signal) => (schemas = await tools.schemas(signal)) },
    prompter: guardPrompter(prompter, clock),
    ...(options.userName !== undefined && { userName: options.userName }),
    allowsForeignTurn: options.allowsForeignTurn ?? false,
    protectsPending: options.protectsPending ?? false,
    ...(answers !== undefined && { answers }),
    ...(menu !== undefined && { menu }),
    // The inquiry model is told of the same tools, so that a cache can serve both.
    inquiries:
      options.inquiries ??
      createInquiryBackend({
        ...inquiryModels,
        tools: () => schemas,
        attachments: () => attachments,
        clock,
      }),
    clock,
    maxCycles: options.maxCycles ?? MAX_CYCLES,
    attachments,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    compaction: toCompactionSetup(options.compaction),
    ...(validateData !== undefined && { validateData }),
    ...(observer !== undefined && { observer: guardObserver(observer) }),
  });
}

/** The model is the program's own; the rest is what the command uses by default. */
function createAssistant({ systemPrompt, assistant }: TurnOptions): Assistant {
  const { parameters, toolChoice, cache, request, sections } = resolveAssistant({
    assistant: { model: { id: { provider: "own", name: "own" } } },
  });
  return {
    sections,
    parameters,
    toolChoice,
    cache,
    request,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...assistant,
  };
}

/** Updates that were not read yet. */
class UpdateQueue implements AsyncIterable<TurnUpdate> {
  #updates: TurnUpdate[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  add(update: TurnUpdate): void {
    this.#updates.push(update);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnUpdate, void, undefined> {
    for (;;) {
      const updates = this.#updates;
      this.#updates = [];
      yield* updates;
      if (this.#updates.length > 0) continue;
      if (this.#isEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
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

/** The result of the last turn in the stream. */
function createResult(
  end: TurnEnd,
  { entries }: ConversationStream,
  denials: readonly DetachedDenial[],
): TurnResult {
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  const events = [...eventsOf(entries.slice(start))];
  const turn = events.filter(({ type }) => !isBesideReply(type));
  const reply = turn.slice(turn.findLastIndex(({ type }) => type !== "chat_response") + 1);
  const text = reply.flatMap(saidIn).join("\n\n");
  return { ...end, text, events, denials, usage: usageOf(events) };
}

function saidIn(event: ConversationEvent): readonly string[] {
  if (event.type !== "chat_response") return [];
  const { content } = event;
  switch (content.type) {
    case "message":
      return [content.text];
    case "structured":
      return [JSON.stringify(content.data)];
    case "reasoning":
      return [];
    default:
      return assertNever(content);
  }
}
