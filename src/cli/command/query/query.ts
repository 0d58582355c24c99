/** `jp query`: one turn, from what is asked to what is on record. */
import { type DetachedDenial, NOBODY, Turn, type TurnEnd } from "../../../agent/index.ts";
import { resolveInquiryAssistant, resolveLimits } from "../../../config/index.ts";
import { createInquiryBackend, type InquiryBackend } from "../../../inquiry/index.ts";
import {
  type Model,
  ProviderError,
  type Providers,
  type ToolSchema,
} from "../../../provider/index.ts";
import type { ConversationWriter } from "../../../storage/index.ts";
import { createStatusLine } from "../../../terminal/index.ts";
import { assertNever, type JsonObject } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { DENIED, ExitStatus, INTERRUPTED } from "../../exit-status.ts";
import { openProviders } from "../../models.ts";
import { findPrompter, type InteractionFlags, wantsPlainText } from "../../prompter.ts";
import { openTools, type Tools } from "../../tools.ts";
import { trustRecord } from "../../trust.ts";
import { type AssistantFlags, loadAssistant, type LoadedAssistant } from "./assistant.ts";
import { keeping, type MessageFlags, readMessage } from "./message.ts";
import { type ConversationFlags, findConversation, openConversation } from "./open-conversation.ts";
import { menuWithScreen, withScreen } from "./prompter-with-screen.ts";
import { watchSignals } from "./signals.ts";
import { checkStructured, readSchema } from "./structured.ts";
import { TextView } from "./text-view.ts";
import { createJsonView, type TurnView } from "./view.ts";

export interface QueryFlags
  extends AssistantFlags, ConversationFlags, InteractionFlags, MessageFlags {
  readonly schema?: string;
  readonly format?: "text" | "json";
  readonly hideReasoning?: boolean;
  readonly verbose?: boolean;
}

export async function query({ args: words, options, context }: Call<QueryFlags>): Promise<void> {
  const { schema: schemaText } = options;
  const schema = schemaText === undefined ? undefined : await readSchema(schemaText, context);
  const id = await findConversation(context, options);
  const loaded = await loadAssistant(context, options, id);
  const { config } = loaded;
  // Whether it can be had is found out before anything is written.
  const providers = openProviders(context, config);
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
  await using tools = openTools(context, config, conversation.id);
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
  const { context, options, loaded, model, tools, conversation, schema } = parts;
  const { config, assistant } = loaded;
  const view = createView(parts);
  const person = findPrompter(context, config, options);
  let schemas: readonly ToolSchema[] = [];
  const turn = new Turn({
    conversation,
    model,
    assistant: {
      ...assistant,
      isChained:
        assistant.model.provider === "anthropic" &&
        (config.providers?.llm?.anthropic?.chain_on_max_tokens ?? false),
    },
    tools: {
      ...tools.toolbox,
      schemas: async (signal) => (schemas = await tools.toolbox.schemas(signal)),
    },
    prompter: person === undefined ? NOBODY : withScreen(person, view),
    ...(person?.canAsk() === true && { menu: menuWithScreen(person, view) }),
    inquiries: createInquiries(parts, () => schemas),
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

/** The model that answers for a person, with the same tools, so that a cache can serve both. */
function createInquiries(
  { context, loaded: { config }, providers }: TurnContext,
  tools: () => readonly ToolSchema[],
): InquiryBackend {
  return createInquiryBackend({
    assistant: (target) => resolveInquiryAssistant(config, target),
    model: ({ model }) => providers.model(model.provider, model.name),
    tools,
    attachments: () => [],
    schemaMode: config.conversation?.inquiry?.schema ?? "stable",
    clock: context.clock,
  });
}

function createView({ context, options, loaded, model, tools, schema }: TurnContext): TurnView {
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
