/** `jp query`: one turn, from what is asked to what is on record. */
import type { DetachedDenial, Turn, TurnEnd } from "../../../agent/index.ts";
import {
  type AssistantSettings,
  mergeConfig,
  resolveAssistant,
  resolveInquiryAssistant,
  resolveLimits,
} from "../../../config/index.ts";
import type { ConversationId } from "../../../conversation/index.ts";
import { type Model, ProviderError, type Providers } from "../../../provider/index.ts";
import { createTurn, openProviders, openTools, type Tools } from "../../../runtime/index.ts";
import type { ConversationWriter } from "../../../storage/index.ts";
import { createStatusLine } from "../../../terminal/index.ts";
import { assertNever, isCodedError, type JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import { findDefaultModel } from "../../default-model.ts";
import type { Call } from "../../define.ts";
import { DENIED, ExitStatus, INTERRUPTED } from "../../exit-status.ts";
import { type ConfigFlags, machineOf } from "../../load-config.ts";
import { isPlain } from "../../plain.ts";
import { findPrompter, type InteractionFlags } from "../../prompter.ts";
import { tellWithheld, type TrustedConfig, trustedConfig, trustRecord } from "../../trust.ts";
import { warn } from "../../warnings.ts";
import { type ConversationFlags, findConversation, openConversation } from "./conversation.ts";
import { checkStructured, keeping, type MessageFlags, readMessage, readSchema } from "./message.ts";
import { TextView } from "./text-view.ts";
import { createJsonView, menuWithScreen, type TurnView, withScreen } from "./view.ts";

export interface QueryFlags
  extends AssistantFlags, ConversationFlags, InteractionFlags, MessageFlags {
  readonly schema?: string;
  readonly format?: "text" | "json";
  readonly hideReasoning?: boolean;
  readonly verbose?: boolean;
}

export async function query({ words, options, context }: Call<QueryFlags>): Promise<void> {
  const { schema: schemaText } = options;
  const schema = schemaText === undefined ? undefined : await readSchema(schemaText, context);
  const id = await findConversation(context, options);
  const loaded = await loadAssistant(context, options, id);
  const { config } = loaded;
  // Whether it can be had is found out before anything is written.
  const providers = openProviders(machineOf(context), config);
  const model = await findModel(providers, loaded, id !== undefined && options.model === undefined);
  // Nobody writes a message for nothing: what is wrong is told before.
  const message = await readMessage(words, options, context);
  if (message === undefined) return context.output.notice("There is nothing to ask.");
  // Where things are reached holds for this command: another machine may continue the conversation.
  const opened = { config, message: message.text, flags: options };
  await using conversation = await keeping(message, context, () =>
    openConversation(context, id, opened),
  );
  if (options.persist !== false) await trustRecord(context, loaded, conversation);
  await using tools = openTools(machineOf(context), config, conversation.id);
  const parts = { context, options, loaded, providers, tools, conversation, schema };
  const { end, denials } = await runTurn({ ...parts, model }, message.text);
  if (schema !== undefined && end.type === "done")
    await checkStructured(conversation.stream, schema);
  tellEnd(end, context);
  tellDenials(denials, context);
}

/** Throws `ProviderError`. A conversation may go on with a model that was given for one call. */
async function findModel(
  providers: Providers,
  { assistant: { model } }: LoadedAssistant,
  isGoingOn: boolean,
): Promise<Model> {
  try {
    return await providers.model(model.provider, model.name);
  } catch (error) {
    if (!isGoingOn || !(error instanceof ProviderError)) throw error;
    const { kind, message, isRetryable } = error;
    const hint =
      `${error.hint ?? ""} The conversation goes on with ${model.provider}/${model.name}: ` +
      "-m names another model, -n begins a new conversation.";
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
  readonly schema: JsonObject | undefined;
}

interface EndedTurn {
  readonly end: TurnEnd;
  readonly denials: readonly DetachedDenial[];
}

async function runTurn(parts: TurnContext, message: string): Promise<EndedTurn> {
  const { context, options, loaded, providers, model, tools, conversation, schema } = parts;
  const { config, assistant } = loaded;
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
    ...(person !== undefined && { prompter: withScreen(person, view) }),
    ...(person?.canAsk() === true && { menu: menuWithScreen(person, view) }),
    inquiryModel: {
      assistant: (target) => resolveInquiryAssistant(config, target),
      model: ({ model: wanted }) => providers.model(wanted.provider, wanted.name),
      schemaMode: config.conversation?.inquiry?.schema ?? "stable",
    },
    clock: context.clock,
    maxCycles: config.conversation?.max_cycles ?? 1,
    limits: resolveLimits(config),
    observer: view,
  });
  const signals = watchSignals(turn, view, context);
  let end: TurnEnd | undefined;
  try {
    const author = config.user?.name;
    end = await turn.run({
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

function createView({ context, options, loaded, model, tools, schema }: TurnContext): TurnView {
  const { output, clock } = context;
  if (options.format === "json") return createJsonView(output);
  const { style = {} } = loaded.config;
  const wantsText = isPlain(context, loaded.config);
  const now = () => clock.now().getTime();
  return new TextView({
    output,
    status: createStatusLine({ stream: context.host.stderr, isPlain: wantsText, now }),
    isPlain: wantsText,
    clock,
    model: model.id,
    tools: tools.settings,
    showsReasoning: options.hideReasoning !== true && style.reasoning?.display !== "hidden",
    showsCalls: style.tool_call?.show ?? true,
    isStructured: schema !== undefined,
    isVerbose: options.verbose ?? false,
  });
}

/** Throws the exit status, if it is not that of success. */
function tellEnd(end: TurnEnd, { output }: CommandContext): void {
  switch (end.type) {
    case "stopped":
      return;
    case "interrupted":
      output.notice("Interrupted. What there is so far is kept.");
      throw new ExitStatus(INTERRUPTED);
    case "cycle_limit":
      warn(
        `The turn was ended after ${end.cycles} requests (conversation.max_cycles). ` +
          "Ask to continue, and it goes on.",
        output,
      );
      throw new ExitStatus(1);
    case "done":
      if (end.reason === "length") warn("The reply reached the limit of its length.", output);
      if (end.reason !== "refused") return;
      warn("The model refused to answer.", output);
      throw new ExitStatus(1);
    default:
      assertNever(end);
  }
}

/** Throws the exit status, if anything was denied only because no one could be asked. */
function tellDenials(denials: readonly DetachedDenial[], { output }: CommandContext): void {
  if (denials.length === 0) return;
  const named = denials.map(({ tool, what }) => `${tool} (${what})`).join(", ");
  warn(`jp could not ask you, so it denied: ${named}.`, output);
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
  id: ConversationId | undefined,
): Promise<LoadedAssistant> {
  const settings = [
    ...cfg,
    ...(model === undefined ? [] : [`assistant.model.id=${model}`]),
    ...param.map((words) => `assistant.model.parameters.${words}`),
  ];
  const flags = { cfg: settings, directives, ...(id !== undefined && { id }) };
  const trusted = await trustedConfig(context, flags, interaction);
  tellWithheld(trusted, context);
  const { config } = trusted;
  try {
    return { ...trusted, assistant: resolveAssistant(config) };
  } catch (error) {
    if (!isCodedError(error) || error.code !== "no_model") throw error;
  }
  const found = await findDefaultModel(context, config);
  // From now on it is the model of this conversation.
  const withModel = mergeConfig(config, { assistant: { model: { id: found } } });
  return { ...trusted, config: withModel, assistant: resolveAssistant(withModel) };
}

/** Until it is disposed of. */
function watchSignals(turn: Turn, view: TurnView, context: CommandContext): Disposable {
  const { host } = context;
  const leave = () => {
    view.noteStop();
    turn.leave();
  };
  const onInterrupt = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    turn.interrupt();
    if (turn.isLeaving) view.noteStop(); // Else there is a menu, which tells by itself.
  };
  const onEnd = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    leave();
  };
  // Comes in many ways at once, and more than once: nobody is in a hurry.
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
