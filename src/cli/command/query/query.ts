/** `jp query`: runs one turn and shows it. */
import type { DetachedDenial, Turn, TurnEnd } from "../../../agent/index.ts";
import {
  type AssistantSettings,
  mergeConfig,
  resolveAssistant,
  resolveInquiryAssistant,
  resolveLimits,
} from "../../../config/index.ts";
import { findSchema } from "../../../conversation/index.ts";
import { type Model, ProviderError, type Providers } from "../../../provider/index.ts";
import {
  type AnswersFile,
  createTurn,
  openProviders,
  openTools,
  type Tools,
} from "../../../runtime/index.ts";
import type { Conversation, ConversationWriter } from "../../../storage/index.ts";
import { createStatusLine } from "../../../terminal/index.ts";
import { assertNever, isJpError, type JsonObject } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { findDefaultModel } from "../../detect-models.ts";
import { DENIED, ExitStatus, INTERRUPTED, WAITING } from "../../exit-status.ts";
import { type ConfigFlags, machineOf } from "../../load-config.ts";
import { findPrompter, type InteractionFlags, noTerminal, wantsPlainText } from "../../prompter.ts";
import type { TrustedConfig } from "../../../trust/index.ts";
import { trustedConfig, trustRecord, warnWithheld } from "../../trust.ts";
import { checkAnswers, readAnswers } from "./answers.ts";
import {
  activate,
  type ConversationFlags,
  loadConversation,
  openConversation,
  type OpenedConversation,
} from "./conversation.ts";
import {
  chooseStart,
  type DeferFlags,
  type IncompleteTurnFlags,
  isIncomplete,
  openCalls,
  printPending,
  type Start,
} from "./incomplete.ts";
import { withSavedDraft, type Message, type MessageFlags, readMessage } from "./message.ts";
import { assertData, readSchema } from "./structured.ts";
import { TextView } from "./text-view.ts";
import { createJsonView, menuWithScreen, type TurnView, withScreen } from "./view.ts";

export interface QueryFlags
  extends AssistantFlags, ConversationFlags, DeferFlags, IncompleteTurnFlags, MessageFlags {
  readonly schema?: string;
  /** A file. */
  readonly answers?: string;
  readonly format?: "text" | "json";
  readonly hideReasoning?: boolean;
  readonly verbose?: boolean;
}

export async function query({
  args: words,
  options: given,
  context,
}: Call<QueryFlags>): Promise<void> {
  const answers = await readAnswers(given.answers, context);
  // The file stands in for the person.
  const isDetached = answers !== undefined || given.defer === true;
  const options = isDetached ? { ...given, nonInteractive: true } : given;
  const { schema: schemaText } = options;
  const schema = schemaText === undefined ? undefined : await readSchema(schemaText, context);
  const found = await loadConversation(context, options);
  const loaded = await loadAssistant(context, options, found);
  const { config } = loaded;
  // Fail on an unavailable model before anything is written.
  const { promise: requestSent, resolve: onSent } = Promise.withResolvers<void>();
  const providers = openProviders(machineOf(context), config, { onSent });
  const model = await findModel(
    providers,
    loaded,
    found !== undefined && options.model === undefined,
  );
  await using left = await openIncomplete(context, found, { config, message: "", flags: options });
  const hasMessage = words.length > 0;
  const start: Start =
    left === undefined || found === undefined
      ? { type: "new" }
      : await chooseStart(
          left,
          { ...options, hasMessage, conversationId: found.id },
          { ...context, config },
        );
  if (start.type === "quit") return;
  // Report problems before the user writes a message in the editor.
  const message = await readMessageFor(start, () => readMessage(words, options, context), context);
  if (message === undefined) return reportNoMessage(options, left !== undefined, context);
  const opened = { config, message: message.text, flags: options };
  await using conversation =
    left ??
    (await withSavedDraft(message, context, () => openConversation(context, found, opened)));
  await using tools = openTools(machineOf(context), config, conversation.id);
  const environment = { context, options, loaded, providers, tools, conversation };
  const isResumed = start.type === "resume";
  const wanted = isResumed ? findSchema(conversation.stream) : schema;
  const parts = { ...environment, answers, schema: wanted, requestSent };
  const turn = runTurn({ ...parts, model }, isResumed ? undefined : message.text);
  const saved = saveForNextCommand(parts, Promise.race([requestSent, turn.catch(() => {})]));
  saved.catch(() => {}); // Thrown below, when the turn is over.
  const { end, denials } = await turn.finally(() => saved);
  if (answers !== undefined) checkAnswers(answers, end, conversation);
  if (wanted !== undefined) assertData(end);
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
  if (found === undefined || !isIncomplete(found.stream)) return undefined;
  const conversation = await openConversation(context, found, opened);
  if (isIncomplete(conversation.stream)) return conversation;
  await conversation.release();
  return undefined;
}

/** A turn that is continued needs none. */
async function readMessageFor(
  start: Start,
  read: () => Promise<Message | undefined>,
  context: CommandContext,
): Promise<Message | undefined> {
  if (start.type === "resume") return { text: "" };
  const isEdited = start.type === "new" && start.text !== undefined;
  return isEdited ? readMessage([start.text ?? ""], { edit: true }, context) : read();
}

function reportNoMessage(
  { continueTurn = false, discardTurn = false }: QueryFlags,
  wasIncomplete: boolean,
  { output }: CommandContext,
): void {
  if (discardTurn && wasIncomplete) return output.notice("The incomplete turn is closed.");
  output.notice(
    continueTurn
      ? "The last turn is complete: nothing to continue."
      : "The message is empty: nothing to ask.",
  );
}

/** Writes what only the next command needs. What takes time waits until the model has the request. */
async function saveForNextCommand(
  { context, options, loaded, providers, conversation }: Omit<TurnContext, "model">,
  modelIsThinking: Promise<unknown>,
): Promise<void> {
  if (options.persist !== false) await activate(context, conversation.id);
  await modelIsThinking;
  const { provider, name } = loaded.assistant.model;
  await providers.warmUp(provider, name);
  if (options.persist !== false) await trustRecord(context, loaded, conversation);
}

/** Throws `ProviderError`. The hint helps where a conversation remembers a model that is gone. */
async function findModel(
  providers: Providers,
  { assistant: { model } }: LoadedAssistant,
  isContinuing: boolean,
): Promise<Model> {
  try {
    return await providers.model(model.provider, model.name);
  } catch (error) {
    if (!isContinuing || !(error instanceof ProviderError)) throw error;
    const { kind, message, isRetryable } = error;
    const hint =
      `${error.hint ?? ""} This conversation uses ${model.provider}/${model.name}. ` +
      "Choose another model with -m, or start a new conversation with -n.";
    throw new ProviderError(kind, message, { isRetryable, hint, cause: error });
  }
}

interface TurnContext {
  readonly context: CommandContext;
  readonly options: QueryFlags;
  readonly loaded: LoadedAssistant;
  readonly providers: Providers;
  readonly model: Model;
  readonly tools: Tools;
  readonly conversation: ConversationWriter;
  readonly answers: AnswersFile | undefined;
  readonly schema: JsonObject | undefined;
  readonly requestSent: Promise<void>;
}

interface EndedTurn {
  readonly end: TurnEnd;
  readonly denials: readonly DetachedDenial[];
}

/** Without a message, the incomplete turn is continued. */
async function runTurn(parts: TurnContext, message: string | undefined): Promise<EndedTurn> {
  const { context, options, loaded, providers, model, tools, conversation } = parts;
  const { answers, schema } = parts;
  const { config, assistant } = loaded;
  const { inquiry } = config.conversation ?? {};
  const view = createView(parts);
  const person = findPrompter(context, config, options);
  const turn = createTurn({
    conversation,
    model,
    assistant: {
      ...assistant,
      isChained:
        assistant.model.provider === "anthropic" &&
        (config.providers?.llm?.anthropic?.chain_on_max_tokens ?? false),
    },
    toolbox: tools.toolbox,
    defer: options.defer === true || options.onlyCall !== undefined,
    ...(answers !== undefined && { answers }),
    allowsForeignTurn: true, // The user was asked about it.
    prompter: withScreen(person ?? noTerminal, view, options.onlyCall),
    ...(person?.canAsk() === true && { menu: menuWithScreen(person, view) }),
    inquiryModels: {
      assistant: (target) => resolveInquiryAssistant(config, target),
      model: ({ model: wanted }) => providers.model(wanted.provider, wanted.name),
      schemaMode: inquiry?.schema ?? "stable",
      ...(inquiry?.max_parallel !== undefined && { maxParallel: inquiry.max_parallel }),
    },
    ...(config.user?.name !== undefined && { userName: config.user.name }),
    clock: context.clock,
    maxCycles: config.conversation?.max_cycles ?? 1,
    limits: resolveLimits(config),
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
            content: message,
            ...(schema !== undefined && { schema }),
            ...(author !== undefined && { author }),
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
  const wantsText = wantsPlainText(context, loaded.config);
  const now = () => clock.now().getTime();
  return new TextView({
    output,
    status: createStatusLine({ stream: context.host.stderr, isPlain: wantsText, now }),
    isPlain: wantsText,
    clock,
    model: model.id,
    requestSent,
    tools: tools.settings,
    showsReasoning: options.hideReasoning !== true && style.reasoning?.display !== "hidden",
    showsCalls: style.tool_call?.show ?? true,
    isStructured: schema !== undefined,
    isVerbose: options.verbose ?? false,
  });
}

/** Throws `ExitStatus` unless the turn succeeded. */
function reportTurnEnd(end: TurnEnd, canBeContinued: boolean, { output }: CommandContext): void {
  switch (end.type) {
    case "stopped":
    case "invalid_data": // Reported already.
      return;
    case "waiting":
      throw new ExitStatus(WAITING);
    case "interrupted":
      output.notice(
        canBeContinued
          ? "Interrupted. To continue the turn: jp query --continue-turn"
          : "Interrupted. Everything up to here is saved.",
      );
      throw new ExitStatus(INTERRUPTED);
    case "cycle_limit":
      warn(
        `jp ended the turn after ${end.cycles} requests (conversation.max_cycles). ` +
          "To continue it: jp query --continue-turn",
        output,
      );
      throw new ExitStatus(1);
    case "done":
      if (end.reason === "length")
        warn("The reply was cut off: it reached its maximum length.", output);
      if (end.reason !== "refused") return;
      warn("The model refused to answer.", output);
      throw new ExitStatus(1);
    default:
      assertNever(end);
  }
}

/** Throws `ExitStatus` if something was denied only because no one could be asked. */
function reportDenials(denials: readonly DetachedDenial[], { output }: CommandContext): void {
  if (denials.length === 0) return;
  const named = denials.map(({ tool, what }) => `${tool} (${what})`).join(", ");
  warn(`denied, because no terminal was available to ask you: ${named}.`, output);
  throw new ExitStatus(DENIED);
}

interface AssistantFlags extends Omit<ConfigFlags, "id">, InteractionFlags {
  readonly model?: string;
  /** `key=value` or `key:=JSON`. */
  readonly param?: readonly string[];
}

interface LoadedAssistant extends TrustedConfig {
  readonly assistant: AssistantSettings;
}

/** Throws what is wrong with the config, and `no_model`. */
async function loadAssistant(
  context: CommandContext,
  { cfg = [], directives = [], model, param = [], ...interaction }: AssistantFlags,
  conversation: Conversation | undefined,
): Promise<LoadedAssistant> {
  const settings = [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
  const flags = {
    cfg: settings,
    directives,
    ...(conversation !== undefined && { id: conversation.id, conversation }),
  };
  const trusted = await trustedConfig(context, flags, interaction);
  warnWithheld(trusted, context);
  const { config } = trusted;
  try {
    return { ...trusted, assistant: resolveAssistant(config) };
  } catch (error) {
    if (!isJpError(error) || error.code !== "no_model") throw error;
  }
  const found = await findDefaultModel(context, config);
  // The conversation keeps this model.
  const withModel = mergeConfig(config, { assistant: { model: { id: found } } });
  return { ...trusted, config: withModel, assistant: resolveAssistant(withModel) };
}

/**
 * Ctrl-C asks the user what to do, where that is possible; while the turn is ending, another one exits at
 * once. SIGTERM, SIGHUP and a closed output end the turn in good order.
 */
function watchSignals(turn: Turn, view: TurnView, context: CommandContext): Disposable {
  const { host } = context;
  const leave = () => {
    view.noteStop();
    turn.leave();
  };
  const onInterrupt = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    turn.interrupt();
    if (turn.isLeaving) view.noteStop(); // Otherwise the menu shows it.
  };
  const onEnd = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    leave();
  };
  // A closed terminal is reported in several ways at once: do not take the second for impatience.
  const onGone = leave;
  const gone = context.onOutputGone(onGone);
  const watches = [
    gone,
    host.onSignal(["SIGINT"], onInterrupt),
    host.onSignal(["SIGTERM"], onEnd),
    host.onSignal(["SIGHUP"], onGone),
  ];
  return {
    [Symbol.dispose]: () => {
      for (const watch of watches) watch[Symbol.dispose]();
    },
  };
}
