/**
 * Prepares a turn: gathers everything it runs with from the request, the config and the workspace. Nothing is
 * recorded before the model and the message are known to be usable.
 */
import type { TurnMessage } from "../../../core/agent/index.ts";
import {
  type AssistantSettings,
  mergeConfig,
  type Mode,
  type PartialConfig,
  resolveAssistant,
  type ToolDirective,
} from "../../../settings/config/index.ts";
import type { Attachment } from "../../../record/conversation/index.ts";
import type { McpServers } from "../../../reach/mcp/index.ts";
import type { Model, Providers } from "../../../reach/provider/index.ts";
import {
  type AnswersFile,
  configuredChanges,
  configuredSurroundings,
  openProviders,
  openTools,
  serversForTurn,
  type SurroundingsSearch,
  switchServerTools,
  type Tools,
} from "../../../assemble/index.ts";
import type { Conversation, ConversationWriter } from "../../../stores/index.ts";
import type { TurnKeyboard } from "../../../surfaces/terminal/index.ts";
import type { TrustedConfig } from "../../../settings/trust/index.ts";
import type { ChangeKeeper } from "../../../reach/undo/index.ts";
import { isJpError, type JsonObject, loadModule } from "../../../util/index.ts";
import { attachToTurn, withUntrusted } from "../../attachments.ts";
import type { CommandContext } from "../../context.ts";
import { findDefaultModel } from "../../detect-models.ts";
import { machineOf } from "../../load-config.ts";
import { findQuietPrompter, type InteractionFlags } from "../../prompter.ts";
import { trustedConfig, type UntrustedConfig, warnWithheld } from "../../trust.ts";
import {
  type ConversationFlags,
  loadConversation,
  openConversation,
  recordChange,
} from "./conversation.ts";
import { findModel, isNameInDoubt } from "./find-model.ts";
import type { QueryMessage } from "./message.ts";
import {
  assertLastRequest,
  chooseStart,
  isIncomplete,
  type NewStart,
  replayed,
  type Start,
  type StartFlags,
} from "./start.ts";
import { titleOf } from "./title.ts";
import type { UnsentText } from "./unsent-text.ts";
import type { ViewFlags } from "./view-settings.ts";

/** The turn the user wants, from the flags of `jp query` or the settings of a session. */
export interface TurnRequest extends InteractionFlags {
  readonly conversation: ConversationFlags;
  /** The conversation, if the command already has it open. */
  readonly opened?: ConversationWriter | undefined;
  /** The caller opened it and will release it. */
  readonly keepsOpen?: boolean | undefined;
  readonly settings: SettingFlags;
  readonly start: StartFlags;
  /** Attachments of the message, besides its mentions. */
  readonly attach?: readonly string[] | undefined;
  /** The answer has to match it. */
  readonly schema?: JsonObject | undefined;
  /** Answers to everything the turn asks. */
  readonly answers?: AnswersFile | undefined;
  /** Leave the turn to a worker. */
  readonly isEnqueued?: boolean | undefined;
  /** Defer everything that needs a person. */
  readonly defer?: boolean | undefined;
  /** Defer everything except decisions about this call. */
  readonly onlyCall?: string | undefined;
  readonly view?: ViewFlags | undefined;
  /** Hints name the commands of a session. */
  readonly isSession?: boolean | undefined;
  /** The session's servers. Without them, the turn starts and closes its own. */
  readonly servers?: McpServers | undefined;
  /** The session's keyboard. Without it, the turn takes the keyboard itself. */
  readonly keyboard?: TurnKeyboard | undefined;
  /** The current mode, which the user may change during the turn. Defaults to the configured one. */
  readonly mode?: (() => Mode) | undefined;
  /** Receives text typed during the turn but not sent. Without it, that text is printed. */
  readonly unsent?: UnsentText | undefined;
  /** Called with what the user says to the assistant during the turn. */
  readonly onSaid?: ((text: string) => void) | undefined;
  /** Ends the session. */
  readonly signal?: AbortSignal | undefined;
}

/** Settings that the conversation remembers from this turn on. */
export interface SettingFlags {
  /** The values of `--cfg`, in their order. */
  readonly cfg?: readonly string[] | undefined;
  readonly model?: string | undefined;
  /** Overrides `conversation.mode`, which decides what runs without asking. */
  readonly mode?: string | undefined;
  /** `key=value` or `key:=JSON`. */
  readonly param?: readonly string[] | undefined;
  /** From `-t` and `-T`, in their order. */
  readonly directives?: readonly ToolDirective[] | undefined;
}

/** The conversation that a turn continues, and its config. */
export interface LoadedTurn {
  /** Undefined for a new one. */
  readonly found: Conversation | undefined;
  readonly trusted: TrustedConfig;
  readonly assistant: AssistantSettings;
  readonly surroundings: SurroundingsSearch;
}

/** Throws what is wrong with the config, `no_model`, and what `loadConversation` throws. */
export async function loadTurn(
  context: CommandContext,
  { conversation, opened, settings, start, nonInteractive, isSession = false }: TurnRequest,
): Promise<LoadedTurn> {
  // A continued turn may run a tool first. The rest is read once a model is asked.
  const onlyEnd = start.continueTurn === true;
  const found = opened ?? (await loadConversation(context, conversation, { onlyEnd }));
  const { cfg = [], model, mode, param = [], directives = [] } = settings;
  const flags = {
    cfg: [
      ...cfg,
      ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
      ...(mode === undefined ? [] : [`conversation.mode=${mode}`]),
      ...param.map((words) => `assistant.model.parameters.${words}`),
    ],
    directives,
    usesInstructions: true,
    ...(found !== undefined && { id: found.id, conversation: found }),
  };
  const models = new FoundModels(context, { isSession });
  // Without a model, there is no point in asking for trust, unless the untrusted config may provide one.
  const beforeAsking = async ({ wanted, config: without, withheld }: UntrustedConfig) => {
    const mayLeadToModel = withheld.some(({ kind }) => kind === "llm" || kind === "inherit");
    if (!mayLeadToModel && !hasModel(wanted)) await models.complete(without);
  };
  const trusted = await trustedConfig(context, { ...flags, beforeAsking }, { nonInteractive });
  warnWithheld(trusted, context);
  const { root, variables } = machineOf(context);
  const { cwd: folder, clock } = context;
  const { instructions } = trusted;
  // Starts asking git meanwhile.
  const place = { folder, root, instructions, variables, clock };
  const surroundings = configuredSurroundings(trusted.config, place);
  const config = await models.complete(trusted.config);
  const assistant = resolveAssistant(config);
  return { found, trusted: { ...trusted, config }, assistant, surroundings };
}

function hasModel(config: PartialConfig): boolean {
  try {
    resolveAssistant(config);
    return true;
  } catch (error) {
    if (!isJpError(error) || error.code !== "no_model") throw error;
    return false;
  }
}

/** Detects a model if none is configured, which the conversation then remembers. Detects only once. */
class FoundModels {
  readonly #context: CommandContext;
  readonly #place: Parameters<typeof findDefaultModel>[2];
  #found: ReturnType<typeof findDefaultModel> | undefined;

  constructor(context: CommandContext, place: Parameters<typeof findDefaultModel>[2]) {
    this.#context = context;
    this.#place = place;
  }

  /** Throws `no_model`. */
  async complete(config: PartialConfig): Promise<PartialConfig> {
    if (hasModel(config)) return config;
    this.#found ??= findDefaultModel(this.#context, config, this.#place);
    return mergeConfig(config, { assistant: { model: { id: await this.#found } } });
  }
}

/** A model, and its providers. */
interface ReachedModel {
  readonly model: Model;
  readonly providers: Providers;
  /** The server could not confirm a model name that the user typed. */
  readonly isNameInDoubt: boolean;
  /** Resolves when the first request to a model has left. */
  readonly requestSent: Promise<void>;
}

/** A turn that only lacks its message. Disposing closes everything opened for it. */
export interface PreparedTurn extends AsyncDisposable {
  readonly request: TurnRequest;
  readonly loaded: LoadedTurn;
  readonly reached: ReachedModel;
  /** The conversation, locked, if its last turn is incomplete. */
  readonly left: ConversationWriter | undefined;
  readonly start: Start;
  readonly resources: Resources;
}

/** Throws `ProviderError`, and what the store and `chooseStart` throw. */
export async function prepareTurn(
  context: CommandContext,
  request: TurnRequest,
  loaded: LoadedTurn,
): Promise<PreparedTurn> {
  const { found, trusted } = loaded;
  const { nonInteractive, signal = new AbortController().signal } = request;
  // Fail on an unavailable model before anything is written.
  const reached = await reachModel(context, request, loaded);
  const resources = new Resources();
  const close = () => resources[Symbol.asyncDispose]();
  // Closed last, once the log has the turn's decisions.
  if (trusted.config.proof?.anchor?.every === "daily") resources.add(dailyAnchor(context));
  try {
    const left = await openIncomplete(context, request, loaded);
    if (left !== undefined && request.keepsOpen !== true) resources.add(left);
    const isSaved = request.conversation.persist !== false;
    const prompter = left && findQuietPrompter(context, trusted.config, { nonInteractive });
    const person = { context, prompter, signal };
    const start = await chooseStart({ found, left, isSaved }, request.start, person);
    return { request, loaded, reached, left, start, resources, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Never fails: `jp doctor` reports problems with anchoring. */
function dailyAnchor(context: CommandContext): AsyncDisposable {
  const anchor = async () => {
    const { anchorIfDue } = await loadModule(() => import("../evidence/daily-anchor.ts"));
    anchorIfDue(context);
  };
  return { [Symbol.asyncDispose]: () => anchor().catch(() => undefined) };
}

/** Prepares the turn on an in-memory copy, for a model that only captures the request. */
export function prepareCopy(
  context: CommandContext,
  { conversation, ...request }: TurnRequest,
  { loaded, model, start }: Pick<PreparedTurn, "loaded"> & { model: Model; start: NewStart },
): PreparedTurn {
  const resources = new Resources();
  const providers = openProviders(machineOf(context), loaded.trusted.config);
  return {
    request: { ...request, conversation: { ...conversation, persist: false } },
    loaded,
    reached: { model, providers, isNameInDoubt: false, requestSent: Promise.resolve() },
    left: undefined,
    start,
    resources,
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  };
}

async function reachModel(
  context: CommandContext,
  { settings: { model: typed }, isSession = false, isEnqueued = false }: TurnRequest,
  { found, trusted: { config }, assistant }: LoadedTurn,
): Promise<ReachedModel> {
  const { promise: requestSent, resolve: onSent } = Promise.withResolvers<void>();
  const providers = openProviders(machineOf(context), config, { onSent });
  if (isEnqueued) {
    const model = unreachedModel(assistant.model);
    return { model, providers, isNameInDoubt: false, requestSent };
  }
  const isRemembered = found !== undefined && typed === undefined;
  const model = await findModel(providers, assistant.model, { isRemembered, isSession });
  const { aliases = {} } = config.providers?.llm ?? {};
  const isSpelledOut = typed !== undefined && !Object.hasOwn(aliases, typed);
  const isInDoubt = isSpelledOut && (await isNameInDoubt(providers, assistant.model));
  return { model, providers, isNameInDoubt: isInDoubt, requestSent };
}

/** The model of an enqueued turn: a worker asks it, so this machine may not have its key. */
function unreachedModel({ provider, name }: AssistantSettings["model"]): Model {
  return {
    id: `${provider}/${name}`,
    stream: () => {
      throw new TypeError("the turn was left to a worker");
    },
  };
}

/**
 * Locks the conversation if its last turn is incomplete, or may be: opening repairs it or fails. Another process may
 * be about to end the turn.
 */
async function openIncomplete(
  context: CommandContext,
  { conversation: flags, opened }: TurnRequest,
  { found, trusted }: LoadedTurn,
): Promise<ConversationWriter | undefined> {
  // A fork copies only complete turns.
  if (found === undefined || flags.fork !== undefined) return undefined;
  const isWhole = (found.problems ?? []).length === 0;
  if (isWhole && !isIncomplete(found.stream)) return undefined;
  const config = withUntrusted(trusted);
  const conversation = await openConversation(context, found, { config, flags, opened });
  if (isIncomplete(conversation.stream)) return conversation;
  await conversation.release();
  return undefined;
}

/** A turn ready to run. The conversation is locked, and has the config on record. */
export interface ReadyTurn {
  readonly prepared: PreparedTurn;
  /** Includes the message's attachments. */
  readonly trusted: TrustedConfig;
  readonly conversation: ConversationWriter;
  /** Keeps the tools' file changes, for undo. */
  readonly changes: ChangeKeeper | undefined;
  readonly tools: Tools;
  readonly servers: McpServers;
  readonly attachments: readonly Attachment[];
  /** Undefined to continue the incomplete turn. */
  readonly message: TurnMessage | undefined;
}

/**
 * Without a message, continues the incomplete turn. An attachment that cannot be used is not recorded. Throws
 * `unknown_tool`, `tool_locked`, `record_changed`, `McpError`, and what the attachments and the store throw.
 */
export async function openTurn(
  context: CommandContext,
  prepared: PreparedTurn,
  message?: QueryMessage,
): Promise<ReadyTurn> {
  const { request, loaded, reached, left, start, resources } = prepared;
  const { found, assistant } = loaded;
  const { model } = reached;
  const machine = machineOf(context);
  const { config: before } = loaded.trusted;
  const { servers } = resources.add(await serversForTurn(machine, before, request.servers));
  const { directives = [] } = request.settings;
  const switched = await switchServerTools(before, { directives, servers });
  const names = [...(request.attach ?? []), ...(message?.mentions ?? [])];
  const attaching = { config: switched, servers, model, assistant };
  const { config, attachments, files } = await attachToTurn(attaching, names, context);
  const trusted = { ...loaded.trusted, config };
  const recorded = withUntrusted(trusted);
  const conversation =
    left ??
    resources.add(
      await openConversation(context, found, {
        config: recorded,
        flags: request.conversation,
        title: titleOf(message?.text ?? "", recorded),
        opened: request.opened,
      }),
    );
  if (left !== undefined) await recordChange(left, recorded, context);
  if (start.type === "replay") assertLastRequest(start.request, conversation);
  const changes = configuredChanges(machine, config, conversation);
  const tools = resources.add(
    openTools(machine, config, {
      conversation: conversation.id,
      servers,
      changes,
      ...(request.mode !== undefined && { mode: request.mode }),
    }),
  );
  return {
    prepared,
    trusted,
    conversation,
    changes,
    tools,
    servers,
    attachments,
    message: message && toTurnMessage(message, files, prepared),
  };
}

function toTurnMessage(
  { text }: QueryMessage,
  files: NonNullable<TurnMessage["files"]>,
  { request, start }: PreparedTurn,
): TurnMessage {
  const again = start.type === "replay" ? replayed(start.request) : {};
  const { schema } = request;
  return {
    ...again,
    content: text,
    files: [...(again.files ?? []), ...files],
    ...(schema !== undefined && { schema }),
  };
}

/** Everything opened for a turn. Closed in reverse order. */
class Resources implements AsyncDisposable {
  readonly #all: AsyncDisposable[] = [];

  add<Kind extends AsyncDisposable>(one: Kind): Kind {
    this.#all.push(one);
    return one;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const first = this.#all.shift();
    if (first === undefined) return;
    await using _ = first; // Runs even if one of the others fails to close.
    await this[Symbol.asyncDispose]();
  }
}
