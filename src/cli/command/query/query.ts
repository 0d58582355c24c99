/** `jp query`: runs one turn and shows it. */
import type { DetachedDenial, TurnEnd, TurnMessage } from "../../../agent/index.ts";
import {
  type AssistantSettings,
  type PartialConfig,
  resolveLimits,
} from "../../../config/index.ts";
import { findSchema } from "../../../conversation/index.ts";
import type { McpServers } from "../../../mcp/index.ts";
import type { Model, Providers } from "../../../provider/index.ts";
import {
  type AnswersFile,
  configuredCompaction,
  configuredInquiryModels,
  createTurn,
  openProviders,
  openTools,
  serversForTurn,
  switchServerTools,
  type Tools,
} from "../../../runtime/index.ts";
import type { Conversation, ConversationWriter } from "../../../storage/index.ts";
import { createStatusLine, showsHyperlinks } from "../../../terminal/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import {
  type Attached,
  type AttachmentFlags,
  attachmentNames,
  attachToTurn,
  withUntrusted,
} from "../../attachments.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { wantsPlainText } from "../../host.ts";
import { machineOf } from "../../load-config.ts";
import { findPrompter, noTerminal } from "../../prompter.ts";
import { trustRecord } from "../../trust.ts";
import {
  type AssistantFlags,
  findModel,
  loadAssistant,
  type LoadedAssistant,
  requestParts,
} from "./assistant.ts";
import { compactByFlag } from "./compact.ts";
import {
  activate,
  type ConversationFlags,
  forgetWrongModel,
  loadConversation,
  openConversation,
  type OpenedConversation,
  recordChange,
} from "./conversation.ts";
import { assertData, checkAnswers, readAnswers, readSchema } from "./expectations.ts";
import { menuFor, watchSignals } from "./interrupt.ts";
import { type Message, type MessageFlags, readMessage, savedDraft } from "./message.ts";
import { reportDenials, reportNoMessage, reportTurnEnd } from "./report.ts";
import {
  chooseReplay,
  chooseStart,
  type DeferFlags,
  type IncompleteTurnFlags,
  isIncomplete,
  openCalls,
  printPending,
  type Start,
  startReplay,
} from "./start.ts";
import { TextView } from "./text-view.ts";
import { generateTitle } from "./title.ts";
import { createJsonView, menuWithScreen, type TurnView, withScreen } from "./view.ts";
import { viewSettings } from "./view-settings.ts";

export interface QueryFlags
  extends
    AssistantFlags,
    AttachmentFlags,
    ConversationFlags,
    DeferFlags,
    IncompleteTurnFlags,
    MessageFlags {
  readonly schema?: string;
  /** A file. */
  readonly answers?: string;
  readonly format?: "text" | "json";
  readonly hideReasoning?: boolean;
  readonly showPrompt?: boolean;
  readonly verbose?: boolean;
  /** How to undo a compaction, as the user is told. */
  readonly undo?: string;
}

export async function query({ args: words, options, context }: Call<QueryFlags>): Promise<void> {
  await runQuery({
    options,
    context,
    hasMessage: words.length > 0,
    readMessage: async (start, config) => {
      if (start.type !== "new" && start.type !== "replay") return { text: "" };
      const { continueTurn = false, discardTurn = false, showPrompt = false } = options;
      const before = start.type === "replay" ? start.request.content : start.text;
      const isEdited = start.type === "new" && start.text !== undefined;
      const edit = showPrompt || continueTurn ? false : isEdited ? true : options.edit;
      const flags = {
        ...options,
        ...(before !== undefined && { before }),
        isBeforeTyped: isEdited && start.isForeign !== true,
        isOptional: showPrompt || continueTurn || discardTurn,
        ...(edit !== undefined && { edit }),
      };
      return readMessage(isEdited ? [] : words, flags, { ...context, config });
    },
    onNoMessage: (wasIncomplete) => reportNoMessage(options, wasIncomplete, context),
  });
}

/** One message and its turn: of `jp query`, or one of many in a session. */
export interface Query {
  readonly options: QueryFlags;
  readonly context: CommandContext;
  readonly hasMessage: boolean;
  /** Undefined if there is none. A turn that is continued needs none: an empty one. */
  readonly readMessage: (start: Start, config: PartialConfig) => Promise<Message | undefined>;
  readonly onNoMessage: (wasIncomplete: boolean) => void | Promise<void>;
  /** Those of a session. Without them, the turn starts and closes its own. */
  readonly servers?: McpServers;
  /** Called before the turn starts, which it does unless this returns false. */
  readonly onOpen?: (conversation: ConversationWriter) => boolean;
}

/** Throws `ExitStatus` unless the turn succeeded. */
export async function runQuery({
  options: given,
  context,
  hasMessage,
  readMessage: read,
  onNoMessage,
  onOpen,
  servers: shared,
}: Query): Promise<void> {
  const answers = await readAnswers(given.answers, context);
  // The file stands in for the person.
  const isDetached = answers !== undefined || given.defer === true;
  const options = isDetached ? { ...given, nonInteractive: true } : given;
  const { schema: schemaText, directives = [] } = options;
  const schema = schemaText === undefined ? undefined : await readSchema(schemaText, context);
  const found = await loadConversation(context, options);
  const loaded = await loadAssistant(context, options, found);
  const { config } = loaded;
  if (options.showPrompt === true) {
    const { previewPrompt } = await import("./show-prompt.ts");
    return previewPrompt({ context, options, loaded, found, schema, readMessage: read });
  }
  // Fail on an unavailable model before anything is written.
  const { promise: requestSent, resolve: onSent } = Promise.withResolvers<void>();
  const providers = openProviders(machineOf(context), config, { onSent });
  const isNew = found === undefined;
  const chosen = await findModel(providers, loaded, { ...options, isNew });
  const toRecord = { config: withUntrusted(loaded), message: "", flags: options };
  await using left = await openIncomplete(context, found, toRecord);
  const asking = { ...context, config };
  const start = await findStart({ left, found }, { ...options, hasMessage }, asking);
  if (start.type === "quit") return;
  // Report problems before the user writes a message in the editor.
  const message = await read(start, config);
  if (message === undefined) return await onNoMessage(left !== undefined);
  using draft = savedDraft(message, context);
  await using open = await serversForTurn(machineOf(context), config, shared);
  const { servers } = open;
  // What cannot be attached is not recorded either.
  const names = attachmentNames(options, message.mentions);
  const switched = await switchServerTools(config, { directives, servers });
  const attaching = { ...loaded, ...chosen, config: switched, servers };
  const attached = await attachToTurn(attaching, names, context);
  const changed = { ...toRecord, config: withUntrusted(attached.loaded), message: message.text };
  await using conversation = left ?? (await openConversation(context, found, changed));
  if (left !== undefined) await recordChange(left, changed.config, context);
  const replay = startReplay(start, conversation, { ...options, output: context.output });
  if (onOpen?.(conversation) === false) return;
  await using tools = openTools(machineOf(context), attached.loaded.config, {
    conversation: conversation.id,
    servers,
  });
  await compactByFlag(conversation, options, { config, providers, context });
  await draft.discard();
  const environment = { context, options, ...attached, providers, tools, conversation };
  const isResumed = start.type === "resume";
  const wanted = isResumed ? findSchema(conversation.stream) : (schema ?? replay?.schema);
  const parts = { ...environment, ...chosen, answers, schema: wanted, requestSent, isNew };
  await runToEnd(parts, isResumed ? undefined : { content: message.text, ...replay });
}

interface LastTurn {
  readonly found: Conversation | undefined;
  /** The same, locked, if its last turn is incomplete. */
  readonly left: ConversationWriter | undefined;
}

/** Throws what `chooseStart` and `chooseReplay` throw. */
async function findStart(
  { found, left }: LastTurn,
  flags: QueryFlags & { readonly hasMessage: boolean },
  context: Parameters<typeof chooseStart>[2],
): Promise<Start> {
  const start: Start =
    left === undefined || found === undefined
      ? { type: "new" }
      : await chooseStart(left, { ...flags, conversationId: found.id }, context);
  return flags.replay === true && start.type !== "quit" ? chooseReplay(left ?? found) : start;
}

/** Runs the turn, meanwhile writes what the next command needs, and reports how it ended. */
async function runToEnd(parts: TurnContext, message: TurnMessage | undefined): Promise<void> {
  const { context, options, loaded, providers, conversation } = parts;
  const { answers, schema, requestSent, isNew } = parts;
  const turn = runTurn(parts, message).then(
    async (end) => {
      await forgetWrongModel(parts);
      return end;
    },
    async (error: unknown) => {
      await forgetWrongModel(parts, error);
      throw error;
    },
  );
  const after = Promise.race([requestSent, turn.catch(() => {})]);
  const { config } = loaded;
  const { clock } = context;
  const asked = { config, providers, clock, message: message?.content ?? "", after };
  using title = isNew ? generateTitle(asked, options) : undefined; // Stopped if the turn fails.
  const saved = saveForNextCommand(parts, after);
  saved.catch(() => {}); // Thrown below, when the turn is over.
  const { end, denials } = await turn.finally(() => saved);
  await title?.save(conversation);
  if (answers !== undefined) checkAnswers(answers, end, conversation);
  if (schema !== undefined) assertData(end);
  if (end.type === "waiting") printPending(conversation.stream, context);
  reportTurnEnd(end, isIncomplete(conversation.stream), context);
  reportDenials(denials, context);
}

/** Locks the conversation if its last turn is incomplete. Perhaps another process is about to end it. */
async function openIncomplete(
  context: CommandContext,
  found: Conversation | undefined,
  opened: OpenedConversation,
): Promise<ConversationWriter | undefined> {
  // A fork copies only complete turns.
  if (found === undefined || opened.flags.fork !== undefined) return undefined;
  if (!isIncomplete(found.stream)) return undefined;
  const conversation = await openConversation(context, found, opened);
  if (isIncomplete(conversation.stream)) return conversation;
  await conversation.release();
  return undefined;
}

/** Writes what only the next command needs. What takes time waits until the model has the request. */
async function saveForNextCommand(
  { context, options, loaded, providers, conversation }: TurnContext,
  modelIsThinking: Promise<unknown>,
): Promise<void> {
  if (options.persist !== false) await activate(context, conversation.id);
  await modelIsThinking;
  const { provider, name } = loaded.assistant.model;
  await providers.warmUp(provider, name);
  if (options.persist !== false) await trustRecord(context, loaded, conversation);
}

interface TurnContext {
  readonly context: CommandContext;
  readonly options: QueryFlags;
  readonly loaded: LoadedAssistant;
  readonly providers: Providers;
  readonly model: Model;
  readonly isNameInDoubt: boolean;
  readonly tools: Tools;
  readonly conversation: ConversationWriter;
  readonly answers: AnswersFile | undefined;
  readonly schema: JsonObject | undefined;
  readonly requestSent: Promise<void>;
  /** The conversation starts with this turn. */
  readonly isNew: boolean;
  readonly attachments: Attached<unknown>["attachments"];
  /** Of the message. */
  readonly files: Attached<unknown>["files"];
}

interface EndedTurn {
  readonly end: TurnEnd;
  readonly denials: readonly DetachedDenial[];
}

/** Without a message, the incomplete turn is continued. */
async function runTurn(parts: TurnContext, message: TurnMessage | undefined): Promise<EndedTurn> {
  const { context, options, loaded, providers, model, conversation } = parts;
  const { answers, schema } = parts;
  const { config } = loaded;
  const view = createView(parts);
  const person = findPrompter(context, config, options);
  const turn = createTurn({
    conversation,
    model,
    ...(await requestParts(parts)),
    defer: options.defer === true || options.onlyCall !== undefined,
    ...(answers !== undefined && { answers }),
    allowsForeignTurn: true, // The user was asked about it.
    prompter: withScreen(person ?? noTerminal, view, options.onlyCall),
    ...(person?.canAsk() === true && {
      menu: menuWithScreen(menuFor(person, config, context), view),
    }),
    inquiryModels: configuredInquiryModels(config, providers),
    ...(config.user?.name !== undefined && { userName: config.user.name }),
    clock: context.clock,
    maxCycles: config.conversation?.max_cycles ?? 1,
    limits: resolveLimits(config),
    compaction: configuredCompaction(config, providers),
    observer: view,
  });
  const signals = watchSignals(turn, view, context);
  let end: TurnEnd | undefined;
  try {
    const author = config.user?.name;
    if (message === undefined) view.resume(openCalls(conversation.stream));
    end =
      message === undefined
        ? await turn.resume()
        : await turn.run({
            ...message,
            ...(schema !== undefined && { schema }),
            ...(author !== undefined && { author }),
            files: [...(message.files ?? []), ...parts.files],
          });
    return { end, denials: turn.denials };
  } finally {
    signals[Symbol.dispose]();
    await view.end(end);
  }
}

function createView(parts: TurnContext): TurnView {
  const { context, options, loaded, model, tools, schema, requestSent } = parts;
  const { output, clock } = context;
  if (options.format === "json") return createJsonView(output);
  const { style = {} } = loaded.config;
  const { reasoning } = loaded.assistant.parameters;
  // Not every provider can leave it out.
  const isExcluded = reasoning?.type !== "off" && reasoning?.isHidden === true;
  const hideReasoning = isExcluded || options.hideReasoning === true;
  const wantsText = wantsPlainText(context, loaded.config);
  const now = () => clock.now().getTime();
  return new TextView({
    output,
    status: createStatusLine({ stream: context.host.stderr, isPlain: wantsText, now }),
    isPlain: wantsText,
    hasHyperlinks: showsHyperlinks(context.environment.variables),
    clock,
    model: assistantName(loaded.assistant, model),
    requestSent,
    tools: { get: (name) => tools.settings.get(name) },
    ...viewSettings(style, { hideReasoning }),
    isStructured: schema !== undefined,
    isVerbose: options.verbose ?? false,
    ...(options.undo !== undefined && { undo: options.undo }),
  });
}

/** The name in the config, or else the model. */
function assistantName({ name }: AssistantSettings, { id }: Model): string {
  return name === DEFAULT_NAME ? id : name;
}

const DEFAULT_NAME = "jp";
