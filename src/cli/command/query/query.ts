/** `jp query`: prepares a turn, runs it and shows it. */
import type { DetachedDenial, Observer, Turn, TurnEnd } from "../../../agent/index.ts";
import { findSchema } from "../../../conversation/index.ts";
import { createConfiguredTurn, loadTurnParts } from "../../../runtime/index.ts";
import { loadModule } from "../../../util/index.ts";
import type { CompactFlag } from "../../compact-rules.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { findPrompter, type InteractionFlags, noTerminal } from "../../prompter.ts";
import { trustRecord } from "../../trust.ts";
import { compactByFlag } from "./compact.ts";
import { activate, type ConversationFlags, forgetWrongModel } from "./conversation.ts";
import { assertData, checkAnswers, readAnswers, readSchema } from "./expectations.ts";
import { menuFor, watchSignals } from "./interrupt.ts";
import { readMessage, savedDraft } from "./message.ts";
import {
  loadTurn,
  openTurn,
  prepareTurn,
  type ReadyTurn,
  type SettingFlags,
  type TurnRequest,
} from "./prepare.ts";
import { reportDenials, reportNoMessage, reportTurnEnd } from "./report.ts";
import { announceReplay, isIncomplete, openCalls, printPending, type StartFlags } from "./start.ts";
import { generateTitle } from "./title.ts";
import { menuWithScreen, type TurnView, withScreen } from "./view.ts";
import { createView, type ViewFlags } from "./view-settings.ts";

export interface QueryFlags
  extends
    CompactFlag,
    ConversationFlags,
    InteractionFlags,
    SettingFlags,
    Omit<StartFlags, "hasMessage">,
    Omit<ViewFlags, "undo"> {
  /** `-a`, in their order. */
  readonly attach?: readonly string[];
  /** The same by the name that the Rust original has for it. */
  readonly attachment?: readonly string[];
  /** `true`: always open the editor. `false`: never. */
  readonly edit?: boolean;
  readonly schema?: string;
  /** A file. */
  readonly answers?: string;
  readonly defer?: boolean;
  readonly showPrompt?: boolean;
}

/** Throws `ExitStatus` unless the turn succeeded. */
export async function query({ args: words, options, context }: Call<QueryFlags>): Promise<void> {
  const request = await toRequest(words, options, context);
  const loaded = await loadTurn(context, request);
  const { config } = loaded.trusted;
  if (options.showPrompt === true) {
    const { showPrompt } = await loadModule(() => import("./show-prompt.ts"));
    return showPrompt(context, { request, loaded, words });
  }
  await using prepared = await prepareTurn(context, request, loaded);
  const { start, left, reached } = prepared;
  if (start.type === "quit") return;
  const { edit, continueTurn: isContinued = false, discardTurn = false, id, compact } = options;
  const { nonInteractive } = request;
  const isOptional = isContinued || discardTurn;
  const source = { words, edit: isContinued ? false : edit, isOptional, nonInteractive };
  // Problems so far are reported before the user writes a message in the editor.
  const message =
    start.type === "resume" ? undefined : await readMessage({ ...source, start }, context, config);
  if (message === undefined && start.type !== "resume") {
    const wasIncomplete = left !== undefined;
    return await reportNoMessage({ isContinued, discardTurn, wasIncomplete, id }, context);
  }
  using draft = message && savedDraft(message, context);
  const turn = await openTurn(context, prepared, message);
  if (start.type === "replay") {
    const isSaved = options.persist !== false;
    announceReplay(start.request, turn.conversation, { output: context.output, isSaved });
  }
  const { providers } = reached;
  await compactByFlag(turn.conversation, { compact }, { config, providers, context });
  await draft?.discard();
  await send(context, turn);
}

/** The incomplete turn of a conversation, and what may be asked. */
interface ContinuedTurn extends Pick<TurnRequest, "opened" | "defer" | "onlyCall"> {
  readonly id: string;
}

/** Like `jp query --continue-turn`. Throws `ExitStatus` unless the turn succeeded. */
export async function continueTurn(
  context: CommandContext,
  { id, opened, defer = false, onlyCall }: ContinuedTurn,
): Promise<void> {
  const request: TurnRequest = {
    conversation: { id },
    opened,
    settings: {},
    start: { continueTurn: true },
    nonInteractive: defer,
    defer,
    onlyCall,
  };
  const loaded = await loadTurn(context, request);
  await using prepared = await prepareTurn(context, request, loaded);
  const { start } = prepared;
  if (start.type === "resume") await send(context, await openTurn(context, prepared));
  // Another process may have ended it.
  else if (start.type !== "quit") await reportNoMessage({ isContinued: true, id }, context);
}

/** Throws `usage` and `file_not_read`, and what reading the answers throws. */
async function toRequest(
  words: readonly string[],
  options: QueryFlags,
  context: CommandContext,
): Promise<TurnRequest> {
  const { new: isNew, id, fork, label, title, local, persist } = options;
  const { cfg, model, param, directives } = options;
  const { continueTurn: isContinued, discardTurn, replay, defer = false } = options;
  const { attach = [], attachment = [], format, hideReasoning, verbose } = options;
  const answers = await readAnswers(options.answers, context);
  const schema =
    options.schema === undefined ? undefined : await readSchema(options.schema, context);
  assertCompatible(options);
  return {
    conversation: { new: isNew, id, fork, label, title, local, persist },
    settings: { cfg, model, param, directives },
    start: { continueTurn: isContinued, discardTurn, replay, hasMessage: words.length > 0 },
    attach: [...attach, ...attachment],
    schema,
    answers,
    // The file stands in for the person.
    nonInteractive: options.nonInteractive === true || answers !== undefined || defer,
    defer,
    view: { format, hideReasoning, verbose },
  };
}

/** Throws `usage`. */
function assertCompatible({ new: isNew = false, id, fork, replay, compact }: QueryFlags): void {
  if (isNew && id !== undefined) {
    throw usageError("-n and --id cannot be used together: a new conversation has no id yet.");
  }
  if (isNew && (fork !== undefined || replay === true)) {
    const flag = fork === undefined ? "--replay" : "--fork";
    throw usageError(`-n and ${flag} cannot be used together.`);
  }
  if (replay === true && compact !== undefined) {
    throw usageError(
      "--replay and --compact cannot be used together: a summary would keep what the new turn replaces.",
    );
  }
}

/**
 * Runs the turn, meanwhile writes what the next command needs, and reports how it ended. Throws `ExitStatus` unless it
 * succeeded.
 */
export async function send(context: CommandContext, turn: ReadyTurn): Promise<void> {
  const { conversation, trusted, prepared } = turn;
  const { request, loaded, reached } = prepared;
  const { providers, requestSent, isNameInDoubt } = reached;
  const ended = { trusted, conversation, isNameInDoubt };
  const running = run(context, turn).then(
    async (end) => {
      await forgetWrongModel(context, ended);
      return end;
    },
    async (error: unknown) => {
      await forgetWrongModel(context, ended, error);
      throw error;
    },
  );
  const after = Promise.race([requestSent, running.catch(() => {})]);
  const { title: given, persist = true } = request.conversation;
  const wantsTitle = loaded.found === undefined && given === undefined && persist;
  const { config } = trusted;
  const { clock } = context;
  using title = wantsTitle
    ? generateTitle({ config, providers, clock, conversation, after })
    : undefined; // Stopped if the turn fails.
  const saved = saveForNextCommand(context, turn, after);
  saved.catch(() => {}); // Thrown below, when the turn is over.
  const { end, denials } = await running.finally(() => saved);
  await title?.save();
  if (request.answers !== undefined) checkAnswers(request.answers, end, conversation);
  if (schemaOf(turn) !== undefined) assertData(end);
  if (end.type === "waiting") printPending(conversation.stream, context);
  reportTurnEnd(end, isIncomplete(conversation.stream), context);
  reportDenials(denials, context);
}

/** Writes what only the next command needs, once the model has the request. */
async function saveForNextCommand(
  context: CommandContext,
  { prepared: { request }, trusted, conversation }: ReadyTurn,
  modelIsThinking: Promise<unknown>,
): Promise<void> {
  const { persist = true } = request.conversation;
  await modelIsThinking;
  if (!persist) return;
  await activate(context, conversation.id);
  await trustRecord(context, trusted, conversation);
}

interface EndedTurn {
  readonly end: TurnEnd;
  readonly denials: readonly DetachedDenial[];
}

async function run(context: CommandContext, ready: ReadyTurn): Promise<EndedTurn> {
  const { prepared, trusted, tools, conversation, message } = ready;
  const { request, loaded, reached } = prepared;
  const { model } = reached;
  const { config } = trusted;
  const view = createView(context, request.view ?? {}, {
    config,
    assistant: loaded.assistant,
    model,
    tools,
    isStructured: schemaOf(ready) !== undefined,
  });
  const turn = await assembleTurn(context, ready, view);
  const signals = watchSignals(turn, view, context);
  let end: TurnEnd | undefined;
  try {
    if (message === undefined) view.resume(openCalls(conversation.stream));
    const { name: author } = config.user ?? {};
    end =
      message === undefined
        ? await turn.resume()
        : await turn.run({ ...message, ...(author !== undefined && { author }) });
    return { end, denials: turn.denials };
  } finally {
    signals[Symbol.dispose]();
    await view.end(end);
  }
}

async function assembleTurn(
  context: CommandContext,
  { prepared, trusted: { config }, tools, conversation, attachments, message }: ReadyTurn,
  view: TurnView,
): Promise<Turn> {
  const { request, loaded, reached } = prepared;
  const { nonInteractive, answers, defer = false, onlyCall } = request;
  const { model, providers, requestSent } = reached;
  const person = findPrompter(context, config, { nonInteractive });
  const canAsk = person?.canAsk() === true;
  // Whatever needs a part that is missing says so.
  const load = () =>
    Promise.allSettled([
      view.load(),
      loadTurnParts(config, providers),
      ...(canAsk ? [person.load()] : []),
    ]);
  // A turn that is continued may wait for a person before it sends anything, or for a tool that it runs again.
  const isContinued = message === undefined;
  if (isContinued && canAsk) await load();
  else if (!isContinued) void requestSent.then(load);
  return createConfiguredTurn(config, {
    conversation,
    model,
    providers,
    tools,
    attachments,
    surroundings: loaded.surroundings.take(),
    defer: defer || onlyCall !== undefined,
    ...(answers !== undefined && { answers }),
    allowsForeignTurn: true, // The user was asked about it.
    prompter: withScreen(person ?? noTerminal, view, onlyCall),
    ...(canAsk && {
      menu: menuWithScreen(menuFor(person, config, context), view),
    }),
    clock: context.clock,
    observer: isContinued && !canAsk ? afterFirstEvent(view, load) : view,
  });
}

/** Calls the action once something is recorded, and the tool or the request that follows has started. */
function afterFirstEvent(view: TurnView, action: () => Promise<unknown>): Observer {
  let hasBegun = false;
  return {
    observe: (update) => {
      if (update.type === "event" && !hasBegun) {
        hasBegun = true;
        setImmediate(() => setImmediate(action));
      }
      view.observe(update);
    },
  };
}

/** The schema that the answer has to fit. A turn that is continued has it on record. */
function schemaOf({ message, conversation }: ReadyTurn) {
  return message === undefined ? findSchema(conversation.stream) : message.schema;
}
