/**
 * Opens a turn of a workspace, filled in this order: config, trust, model, conversation, servers, attachments, tools.
 * Queries, sessions and workers all go through `openTurn`; a surface decides only what it passes. Nothing is recorded
 * before the model and the message are known to be usable.
 */
import type { Assistant, Turn, TurnMessage } from "../core/agent/index.ts";
import {
  type AssistantSettings,
  mergeConfig,
  type Mode,
  type PartialConfig,
  resolveAssistant,
  resolveLimits,
  type ToolDirective,
} from "../settings/config/index.ts";
import {
  type Attachment,
  type ChatRequest,
  endOf,
  findRequest,
  findSchema,
  isIncomplete,
  lastTurnOf,
} from "../record/conversation/index.ts";
import type { McpServers } from "../reach/mcp/index.ts";
import type { Model, Providers } from "../reach/provider/index.ts";
import type { Conversation, ConversationWriter } from "../stores/index.ts";
import type { TrustedConfig } from "../settings/trust/index.ts";
import type { ChangeKeeper } from "../reach/undo/index.ts";
import { isJpError, JpError, type JsonObject } from "../util/index.ts";
import { type AttachingTurn, attachToTurn, withUntrusted } from "./attachments.ts";
import { configuredChanges } from "./changes.ts";
import { configuredCompaction } from "./compaction.ts";
import { createTurn, type CreateTurnOptions } from "./create-turn.ts";
import { findDefaultModel } from "./detect-models.ts";
import { directoryOf } from "./directory.ts";
import { findModel, isNameInDoubt } from "./find-model.ts";
import { configuredInquiryModels } from "./inquiry-models.ts";
import {
  type ConversationStorage,
  openConversation,
  recordChange,
  type WaitForLock,
} from "./open-conversation.ts";
import { machineOf, type Place } from "./place.ts";
import { openProviders } from "./providers.ts";
import { switchServerTools } from "./server-tools.ts";
import { wantsContent } from "./telemetry/index.ts";
import { configuredSurroundings, type SurroundingsSearch } from "./surroundings.ts";
import { openTools, serversForTurn, type Tools } from "./tools.ts";
import {
  readTrustedConfig,
  type TrustedConfigRequest,
  type UntrustedConfig,
  warnWithheld,
} from "./trusted-config.ts";

/** The turn that a surface wants. Every function is called in the order given here. */
export interface OpenTurnOptions {
  /** The conversation to continue; undefined for a new one. */
  readonly found?: Conversation | undefined;
  /** This conversation, if the caller already has it open. */
  readonly opened?: ConversationWriter | undefined;
  /** The caller will release `opened`. */
  readonly keepsOpen?: boolean | undefined;
  readonly storage?: ConversationStorage | undefined;
  readonly settings?: TurnSettings | undefined;
  /** Attachments of the message, besides its mentions. */
  readonly attach?: readonly string[] | undefined;
  /** The answer has to match it. */
  readonly schema?: JsonObject | undefined;
  /** Hints name the commands of a session. */
  readonly isSession?: boolean | undefined;
  /** The session's servers. Without them, the turn starts and closes its own. */
  readonly servers?: McpServers | undefined;
  /** The current mode, which the user may change during the turn. Defaults to the configured one. */
  readonly mode?: (() => Mode) | undefined;
  /** Asks the user to trust what the workspace adds. Without it, that is left out. */
  readonly findTruster?: TrustedConfigRequest["findTruster"];
  /** Called once the config is known, and again when the user changes it in this turn. */
  readonly onConfig?: ((config: PartialConfig) => void) | undefined;
  /** Makes the model, if no request leaves from here. By default, the configured one is reached. */
  readonly createModel?: ((settings: AssistantSettings) => Model) | undefined;
  /** Waits for a conversation that another process has locked. */
  readonly waitForLock?: WaitForLock | undefined;
  /** Decides about the last turn. By default, an incomplete one continues, and nothing starts. */
  readonly chooseStart?: ((last: LastTurn) => Promise<Start>) | undefined;
  /** Reads the message of a turn that does not continue the last one. Undefined if there is none after all. */
  readonly readMessage?:
    | ((start: NewStart, last: LastTurn) => Promise<WrittenMessage | undefined>)
    | undefined;
  /** Lets the user decide about tools before the message is sent: a changed config, or `quit` to send nothing. */
  readonly decideTools?:
    | ((trusted: TrustedConfig) => Promise<PartialConfig | "quit" | undefined>)
    | undefined;
  /** Shows that attachments are being read; undefined when they are. */
  readonly onProgress?: AttachingTurn["onProgress"];
  /** The title of a new conversation that was given none. */
  readonly titleOf?: ((message: string, config: PartialConfig) => string) | undefined;
  /** Called when all that was opened for the turn is closed, even if it could not be opened. Must not throw. */
  readonly onClosed?: ((config: PartialConfig) => Promise<void>) | undefined;
}

/** Settings that the conversation remembers from this turn on. */
export interface TurnSettings {
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

/** These settings as values of `--cfg`, after those that were given as such. */
export function toCfg({ cfg = [], model, mode, param = [] }: TurnSettings): readonly string[] {
  return [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...(mode === undefined ? [] : [`conversation.mode=${mode}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
}

/** The last turn of the conversation. */
export interface LastTurn {
  /** Undefined if the conversation is new. */
  readonly found: Conversation | undefined;
  /** The conversation, locked, if its last turn is incomplete. */
  readonly left: ConversationWriter | undefined;
  readonly config: PartialConfig;
}

/** How to proceed: continue the turn, start a new one (perhaps with this text to edit), or quit. */
export type Start =
  | { readonly type: "resume" }
  /** A new turn that replaces the one with this request. */
  | { readonly type: "replay"; readonly request: ChatRequest }
  | {
      readonly type: "new";
      readonly text?: string;
      /** The text may be someone else's, so its mentions are not attached. */
      readonly isForeign?: boolean;
    }
  | { readonly type: "quit" };

/** A start that needs a message. */
export type NewStart = Extract<Start, { readonly type: "new" | "replay" }>;

export interface WrittenMessage {
  readonly text: string;
  /** Paths mentioned as `@path` in what the user typed. */
  readonly mentions?: readonly string[];
}

/** Everything a turn needs apart from its message. The conversation is locked, and has the config on record. */
export interface TurnParts {
  readonly storage: ConversationStorage;
  /** Includes the message's attachments. */
  readonly trusted: TrustedConfig;
  readonly assistant: AssistantSettings;
  readonly surroundings: SurroundingsSearch;
  readonly model: Model;
  readonly providers: Providers;
  /** The server could not confirm a model name that the user typed. */
  readonly isNameInDoubt: boolean;
  /** Resolves when the first request to a model has left. */
  readonly requestSent: Promise<void>;
  readonly conversation: ConversationWriter;
  /** The turn is the first one of its conversation. */
  readonly isNew: boolean;
  /** Keeps the tools' file changes, for undo. */
  readonly changes: ChangeKeeper | undefined;
  readonly tools: Tools;
  readonly servers: McpServers;
  readonly attachments: readonly Attachment[];
  /** From `-t` and `-T`. */
  readonly directives: readonly ToolDirective[];
  /** See `OpenTurnOptions`. */
  readonly mode: OpenTurnOptions["mode"];
  readonly onConfig: OpenTurnOptions["onConfig"];
  /** The answer has to match it. A continued turn has it on record. */
  readonly schema: JsonObject | undefined;
}

/** A turn ready to run. Disposing closes everything. */
export interface OpenTurn extends TurnParts, AsyncDisposable {
  /** Undefined to continue the incomplete turn. */
  readonly message: TurnMessage | undefined;
}

/**
 * Undefined if there is nothing to run. Throws what is wrong with the config, `no_model`, `ProviderError`,
 * `unknown_tool`, `tool_locked`, `record_changed`, `McpError`, and what the attachments, the store and the functions of
 * the options throw.
 */
export async function openTurn(
  place: Place,
  options: OpenTurnOptions,
): Promise<OpenTurn | undefined> {
  const settled = await settleConfig(place, options);
  const { onClosed, keepsOpen = false } = options;
  const { config } = settled.trusted;
  options.onConfig?.(config);
  // Fail on an unavailable model before anything is written.
  const reached = await reachModel(place, options, settled);
  const resources = new Resources();
  const close = () => resources[Symbol.asyncDispose]();
  if (onClosed !== undefined) resources.add({ [Symbol.asyncDispose]: () => onClosed(config) });
  try {
    const left = await openIncomplete(place, options, settled);
    if (left !== undefined && !keepsOpen) resources.add(left);
    const { chooseStart = continueOnly, readMessage } = options;
    const last = { found: options.found, left, config };
    const start = await chooseStart(last);
    const isNew = start.type === "new" || start.type === "replay";
    const message = isNew ? await readMessage?.(start, last) : undefined;
    if (start.type === "quit" || (isNew && message === undefined)) {
      await close();
      return undefined;
    }
    const decided = isNew ? await options.decideTools?.(settled.trusted) : undefined;
    if (decided === "quit") {
      await close();
      return undefined;
    }
    const found = {
      settled: withConfig(settled, decided),
      reached,
      left,
      start,
      message,
      resources,
    };
    if (decided !== undefined) options.onConfig?.(decided);
    return { ...(await openParts(place, options, found)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function continueOnly({ left }: LastTurn): Promise<Start> {
  return { type: left === undefined ? "quit" : "resume" };
}

type SettledConfig = Pick<OpenTurn, "trusted" | "assistant" | "surroundings">;

function withConfig(settled: SettledConfig, config = settled.trusted.config): SettledConfig {
  return { ...settled, trusted: { ...settled.trusted, config } };
}

/** Throws what is wrong with the config, and `no_model`. */
export async function settleConfig(
  place: Place,
  { found, settings = {}, findTruster, isSession = false }: OpenTurnOptions,
): Promise<SettledConfig> {
  const models = new FoundModels(place, isSession);
  // Without a model, there is no point in asking for trust, unless the untrusted config may provide one.
  const beforeAsking = async ({ wanted, config: without, withheld }: UntrustedConfig) => {
    const mayLeadToModel = withheld.some(({ kind }) => kind === "llm" || kind === "inherit");
    if (!mayLeadToModel && !hasModel(wanted)) await models.complete(without);
  };
  const trusted = await readTrustedConfig(place, {
    cfg: toCfg(settings),
    conversation: found,
    directives: settings.directives,
    usesInstructions: true,
    findTruster,
    beforeAsking,
  });
  warnWithheld(trusted, place);
  const { root, variables } = machineOf(place);
  const { cwd: folder, clock } = place;
  const { instructions } = trusted;
  // Starts asking git meanwhile.
  const surroundings = configuredSurroundings(trusted.config, {
    folder,
    root,
    instructions,
    variables,
    clock,
  });
  const config = await models.complete(trusted.config);
  return { trusted: { ...trusted, config }, assistant: resolveAssistant(config), surroundings };
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
  readonly #place: Place;
  readonly #isSession: boolean;
  #found: ReturnType<typeof findDefaultModel> | undefined;

  constructor(place: Place, isSession: boolean) {
    this.#place = place;
    this.#isSession = isSession;
  }

  /** Throws `no_model`. */
  async complete(config: PartialConfig): Promise<PartialConfig> {
    if (hasModel(config)) return config;
    this.#found ??= findDefaultModel(this.#place, config, { isSession: this.#isSession });
    return mergeConfig(config, { assistant: { model: { id: await this.#found } } });
  }
}

type ReachedModel = Pick<OpenTurn, "model" | "providers" | "isNameInDoubt" | "requestSent">;

/** Throws `ProviderError`. */
export async function reachModel(
  place: Place,
  { found, settings = {}, createModel, isSession = false }: OpenTurnOptions,
  { trusted: { config }, assistant }: SettledConfig,
): Promise<ReachedModel> {
  const { promise: requestSent, resolve: onSent } = Promise.withResolvers<void>();
  const providers = openProviders(machineOf(place), config, { onSent });
  if (createModel !== undefined)
    return { model: createModel(assistant), providers, isNameInDoubt: false, requestSent };
  const { model: typed } = settings;
  const isRemembered = found !== undefined && typed === undefined;
  const model = await findModel(providers, assistant.model, { isRemembered, isSession });
  const { aliases = {} } = config.providers?.llm ?? {};
  const isSpelledOut = typed !== undefined && !Object.hasOwn(aliases, typed);
  const isInDoubt = isSpelledOut && (await isNameInDoubt(providers, assistant.model));
  return { model, providers, isNameInDoubt: isInDoubt, requestSent };
}

/**
 * Locks the conversation if its last turn is incomplete, or may be: opening repairs it or fails. Another process may
 * be about to end the turn.
 */
async function openIncomplete(
  place: Place,
  { found, opened, storage = {}, waitForLock }: OpenTurnOptions,
  { trusted }: SettledConfig,
): Promise<ConversationWriter | undefined> {
  // A fork copies only complete turns.
  if (found === undefined || storage.fork !== undefined) return undefined;
  const isWhole = (found.problems ?? []).length === 0;
  if (isWhole && !isIncomplete(found.stream)) return undefined;
  const config = withUntrusted(trusted);
  const options = { config, storage, opened, waitForLock };
  const conversation = await openConversation(place, found, options);
  if (isIncomplete(conversation.stream)) return conversation;
  await conversation.release();
  return undefined;
}

/** All that is known before the parts are opened. */
interface FoundTurn {
  readonly settled: SettledConfig;
  readonly reached: ReachedModel;
  readonly left: ConversationWriter | undefined;
  readonly start: Start;
  readonly message: WrittenMessage | undefined;
  readonly resources: Resources;
}

/** An attachment that cannot be used is not recorded. */
async function openParts(
  place: Place,
  options: OpenTurnOptions,
  { settled, reached, left, start, message, resources }: FoundTurn,
): Promise<Omit<OpenTurn, keyof AsyncDisposable>> {
  const { found, storage = {}, settings = {}, opened, waitForLock, titleOf, mode } = options;
  const { assistant } = settled;
  const { model } = reached;
  const machine = machineOf(place);
  const { config: before } = settled.trusted;
  const { servers } = resources.add(await serversForTurn(machine, before, options.servers));
  const { directives = [] } = settings;
  const switched = await switchServerTools(before, { directives, servers });
  const names = [...(options.attach ?? []), ...(message?.mentions ?? [])];
  const { onProgress } = options;
  const attaching = { config: switched, servers, model, assistant, onProgress };
  const { config, attachments, files } = await attachToTurn(attaching, names, place);
  const trusted = { ...settled.trusted, config };
  const recorded = withUntrusted(trusted);
  const title = titleOf?.(message?.text ?? "", recorded);
  const opening = { config: recorded, storage, title, opened, waitForLock };
  const conversation = left ?? resources.add(await openConversation(place, found, opening));
  if (left !== undefined) await recordChange(left, recorded, place);
  if (start.type === "replay") assertLastRequest(start.request, conversation);
  const changes = configuredChanges(machine, config, conversation);
  const tools = resources.add(
    openTools(machine, config, {
      conversation: conversation.id,
      servers,
      changes,
      ...(mode !== undefined && { mode }),
    }),
  );
  const said = message && toTurnMessage(message.text, files, { start, schema: options.schema });
  const { name: author } = config.user ?? {};
  return {
    storage,
    ...settled,
    ...reached,
    trusted,
    conversation,
    isNew: found === undefined,
    changes,
    tools,
    servers,
    attachments,
    directives,
    mode,
    onConfig: options.onConfig,
    message: said && { ...said, ...(author !== undefined && { author }) },
    schema: said === undefined ? findSchema(conversation.stream) : said.schema,
  };
}

/** Throws `record_changed` if another process has used the conversation since the request was read. */
function assertLastRequest(request: ChatRequest, { stream }: ConversationWriter): void {
  const last = findRequest(lastTurnOf(endOf(stream)));
  if (last?.timestamp === request.timestamp && last.content === request.content) return;
  throw new JpError(
    "record_changed",
    "Another process has used the conversation in the meantime.",
    { commandHint: "Look at it with `jp conversation print`, and try again." },
  );
}

function toTurnMessage(
  content: string,
  files: NonNullable<TurnMessage["files"]>,
  { start, schema }: Pick<FoundTurn, "start"> & Pick<OpenTurnOptions, "schema">,
): TurnMessage {
  const replaced = start.type === "replay" ? start.request : undefined;
  const { files: earlier = [] } = replaced ?? {};
  const wanted = schema ?? replaced?.schema;
  return {
    ...(replaced !== undefined && { replacesTurn: true }),
    ...(wanted !== undefined && { schema: wanted }),
    content,
    files: [...earlier, ...files],
  };
}

/** The parts of a turn that config decides. */
type ConfiguredParts = Pick<OpenTurn, "conversation" | "model" | "providers" | "attachments"> & {
  readonly trusted: Pick<OpenTurn["trusted"], "config">;
  readonly tools: Pick<OpenTurn["tools"], "toolbox" | "policy">;
  readonly surroundings: Pick<OpenTurn["surroundings"], "take">;
};

/**
 * The turn itself, which has not started. Every setting that affects it is applied here. Throws `no_model`, and what
 * opening the directory throws.
 */
export async function createConfiguredTurn(
  place: Pick<Place, "environment" | "findTenant" | "clock">,
  opened: ConfiguredParts,
  options: Partial<CreateTurnOptions>,
): Promise<Turn> {
  const { trusted, conversation, model, providers, tools, attachments, surroundings } = opened;
  const { config } = trusted;
  const { user: { name: userName } = {}, conversation: { max_cycles: maxCycles = 1 } = {} } =
    config;
  return createTurn({
    conversation,
    model,
    attachments,
    surroundings: surroundings.take(),
    toolbox: tools.toolbox,
    policy: tools.policy,
    assistant: configuredAssistant(config),
    inquiryModels: configuredInquiryModels(config, providers),
    compaction: configuredCompaction(config, providers),
    limits: resolveLimits(config),
    maxCycles,
    directory: await directoryOf(place, config),
    clock: conversation.clock ?? place.clock,
    tracesContent: wantsContent(place.environment.variables),
    ...(userName !== undefined && { userName }),
    ...options,
  });
}

function configuredAssistant(config: PartialConfig): Assistant {
  const assistant = resolveAssistant(config);
  const { anthropic: { chain_on_max_tokens: isChained = false } = {} } =
    config.providers?.llm ?? {};
  return { ...assistant, isChained: isChained && assistant.model.provider === "anthropic" };
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
