/** `jp query`: prepares a turn, runs it and shows it. */
import type {
  DetachedDenial,
  Observer,
  Prompter,
  Toolbox,
  Turn,
  TurnEnd,
} from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import { type ConversationEvent, findSchema } from "../../../record/conversation/index.ts";
import { createConfiguredTurn, loadTurnParts, openTools } from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import { wantsContent } from "../../../assemble/telemetry/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { JpError, loadModule, oneLine } from "../../../util/index.ts";
import type { CompactFlag } from "../../compact-rules.ts";
import { withUntrusted } from "../../attachments.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { directoryOf } from "../../directory.ts";
import { usageError } from "../../exit-status.ts";
import { wantsPlainText } from "../../host.ts";
import { machineOf } from "../../load-config.ts";
import { findPrompter, type InteractionFlags, noTerminal } from "../../prompter.ts";
import { trustRecord } from "../../trust.ts";
import type { EditTrust, WatchedTurn } from "../../trust-edits.ts";
import { compactByFlag } from "./compact.ts";
import {
  activate,
  type ConversationFlags,
  forgetWrongModel,
  recordChange,
} from "./conversation.ts";
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
import {
  announceReplay,
  isIncomplete,
  openCalls,
  reportPending,
  type StartFlags,
} from "./start.ts";
import { generateTitle } from "./title.ts";
import { TurnKeys } from "./turn-keys.ts";
import { UnsentText } from "./unsent-text.ts";
import { menuWithScreen, type TurnView, withScreen } from "./view.ts";
import { createView, modeToShow, type ViewFlags } from "./view-settings.ts";

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
  /** The Rust original's name for `attach`. */
  readonly attachment?: readonly string[];
  /** `true`: always open the editor. `false`: never. */
  readonly edit?: boolean;
  readonly schema?: string;
  /** The path of an answers file. */
  readonly answers?: string;
  readonly defer?: boolean;
  readonly showPrompt?: boolean;
  /** Leave the turn to a worker. */
  readonly enqueue?: boolean;
  /** Only for workers of this queue. */
  readonly queue?: string;
  /** Show the worker's progress. */
  readonly follow?: boolean;
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
  // Reports problems before the user writes a message in the editor.
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
  if (options.enqueue !== true) return void (await send(context, turn));
  const { enqueue, follow } = await loadModule(() => import("./enqueue.ts"));
  await enqueue(context, turn, options);
  await turn.conversation.release();
  if (options.follow === true) await follow(context, turn);
}

/** The incomplete turn of a conversation, and which decisions may prompt. */
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

/**
 * Continues a turn that a worker has picked up, without a terminal, and returns how it ended instead of printing it.
 * Undefined if nothing was left to do. Throws for problems with the config, the workspace or the model.
 */
export async function continueUnattended(
  context: CommandContext,
  opened: ConversationWriter,
): Promise<TurnEnd | undefined> {
  const request: TurnRequest = {
    conversation: { id: opened.id },
    opened,
    keepsOpen: true,
    settings: {},
    start: { continueTurn: true },
    nonInteractive: true,
    defer: true,
    view: { format: "json" },
  };
  const loaded = await loadTurn(context, request);
  await using prepared = await prepareTurn(context, request, loaded);
  if (prepared.start.type !== "resume") return undefined;
  const turn = await openTurn(context, prepared);
  await assertHasTools(turn);
  const { end } = await run(context, turn);
  return end;
}

/** Otherwise the model would be told that the tool does not exist. Throws `tool_not_here`. */
async function assertHasTools({ tools, conversation }: ReadyTurn): Promise<void> {
  const { signal } = new AbortController();
  for (const { request } of openCalls(conversation.stream)) {
    if ((await tools.toolbox.find(request.name, signal)) !== undefined) continue;
    throw new JpError("tool_not_here", `This machine has no tool ${oneLine(request.name)}.`, {
      hint: "Another worker may have it: leave turns to workers of one name with --queue.",
    });
  }
}

/** Throws `usage` and `file_not_read`, and what reading the answers throws. */
async function toRequest(
  words: readonly string[],
  options: QueryFlags,
  context: CommandContext,
): Promise<TurnRequest> {
  const { new: isNew, id, fork, label, title, local, persist } = options;
  const { cfg, model, mode, param, directives } = options;
  const { continueTurn: isContinued, discardTurn, replay, defer = false } = options;
  const { attach = [], attachment = [], format, hideReasoning, verbose } = options;
  const answers = await readAnswers(options.answers, context);
  const schema =
    options.schema === undefined ? undefined : await readSchema(options.schema, context);
  assertCompatible(options, context);
  return {
    isEnqueued: options.enqueue === true,
    conversation: { new: isNew, id, fork, label, title, local, persist },
    settings: { cfg, model, mode, param, directives },
    start: { continueTurn: isContinued, discardTurn, replay, hasMessage: words.length > 0 },
    attach: [...attach, ...attachment],
    schema,
    answers,
    // The answers file replaces the person.
    nonInteractive: options.nonInteractive === true || answers !== undefined || defer,
    defer,
    view: { format, hideReasoning, verbose },
  };
}

/** Throws `usage`. */
function assertCompatible(options: QueryFlags, { database }: CommandContext): void {
  const { new: isNew = false, id, fork, replay, compact } = options;
  const { enqueue = false, queue, follow = false, continueTurn: isContinued = false } = options;
  if (!enqueue && follow) throw usageError("--follow needs --enqueue.");
  if (!enqueue && queue !== undefined) throw usageError("--queue needs --enqueue.");
  if (enqueue && database === undefined) {
    throw usageError(
      "--enqueue needs a store in a database: workers find the turn there.",
      "Name one with --store postgres://… or JP_STORE, or set storage.url in your own config.",
    );
  }
  if (enqueue && isContinued) {
    throw usageError(
      "--enqueue takes a message.",
      "Workers continue an incomplete turn by themselves, once it can go on.",
    );
  }
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
 * Runs the turn, meanwhile saves state for the next command, and reports how the turn ended. Throws `ExitStatus`
 * unless it succeeded.
 */
export async function send(context: CommandContext, turn: ReadyTurn): Promise<TurnEnd["type"]> {
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
  saved.catch(() => {}); // Rethrown below, after the turn.
  const { end, denials } = await running.finally(() => saved);
  await title?.save();
  if (request.answers !== undefined) checkAnswers(request.answers, end, conversation);
  if (schemaOf(turn) !== undefined) assertData(end);
  if (end.type === "waiting") await reportPending(conversation.stream, context, config);
  reportTurnEnd(end, isIncomplete(conversation.stream), context);
  reportDenials(denials, context);
  return end.type;
}

/** Saves state for the next command, once the model has the request. */
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
  const { model, requestSent } = reached;
  const { config } = trusted;
  const { unsent = new UnsentText() } = request;
  const { keyboard, nonInteractive = false } = request;
  const isUnattended = nonInteractive || request.view?.format === "json";
  const keys = new TurnKeys(context, { keyboard, isUnattended, config, unsent });
  const view = createView(context, request.view ?? {}, {
    config,
    assistant: loaded.assistant,
    model,
    tools,
    isStructured: schemaOf(ready) !== undefined,
    keyboard: () => keys.keyboard,
    sessionKeyboard: keyboard,
  });
  sayMode(context, config, request);
  const { instructions } = loaded.trusted;
  const edits = watchEdits(context, { instructions, tools, conversation });
  const offers = new OfferedTools(context, ready, view);
  const turn = await assembleTurn(context, ready, { view, unsent, edits, offers });
  const signals = watchSignals(turn, view, { context, unsent });
  // A session's prompt is already loaded. A query sends its request first.
  const isFirst = message !== undefined && keyboard === undefined;
  const taken = keys.take(turn, view, isFirst ? requestSent : undefined);
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
    keys.end();
    await taken;
    await edits.settled();
    await offers.record();
    if (request.unsent === undefined) unsent.print(context.output);
  }
}

/** Only in plain mode, which has no status line. A session announces it before the message. */
function sayMode(context: CommandContext, config: PartialConfig, request: TurnRequest): void {
  const mode = modeToShow(config);
  const isSaid = request.isSession !== true && request.view?.format !== "json";
  if (mode !== undefined && isSaid && wantsPlainText(context, config))
    context.output.notice(`Mode: ${mode.name}.`);
}

interface TurnParts {
  readonly view: TurnView;
  readonly unsent: UnsentText;
  readonly edits: Observer;
  readonly offers: OfferedTools;
}

async function assembleTurn(
  context: CommandContext,
  { prepared, trusted: { config }, tools, conversation, attachments, message }: ReadyTurn,
  { view, unsent, edits, offers }: TurnParts,
): Promise<Turn> {
  const { request, loaded, reached } = prepared;
  const { nonInteractive, answers, defer = false, onlyCall, onSaid } = request;
  const { model, providers, requestSent } = reached;
  const onUnsent = (text: string) => unsent.keep(text);
  const person = findPrompter(context, config, { nonInteractive, onUnsent, onSaid });
  const canAsk = person?.canAsk() === true;
  // A part that fails to load is reported where it is needed.
  const load = () =>
    Promise.allSettled([
      view.load(),
      loadTurnParts(config, providers),
      ...(canAsk ? [person.load()] : []),
    ]);
  // A continued turn may wait for a person, or for a tool it reruns, before it sends anything.
  const isContinued = message === undefined;
  if (isContinued && canAsk) await load();
  else if (!isContinued) void requestSent.then(load);
  return createConfiguredTurn(config, {
    conversation,
    model,
    providers,
    tools: canAsk && answers === undefined ? { ...tools, toolbox: offers.toolbox(person) } : tools,
    attachments,
    surroundings: loaded.surroundings.take(),
    defer: defer || onlyCall !== undefined,
    ...(answers !== undefined && { answers }),
    allowsForeignTurn: true, // The user has confirmed it.
    prompter: offers.besides(withScreen(person ?? noTerminal, view, onlyCall)),
    directory: await directoryOf(context, config),
    ...(canAsk && {
      menu: menuWithScreen(menuFor(person, config, { context, unsent, conversation }), view),
    }),
    clock: conversation.clock ?? context.clock,
    tracesContent: wantsContent(context.environment.variables),
    observer: both(isContinued && !canAsk ? afterFirstEvent(view, load) : view, edits),
  });
}

/** The turn's tools. The user may enable more of them when a model calls one. */
class OfferedTools {
  readonly #context: CommandContext;
  readonly #ready: ReadyTurn;
  readonly #view: TurnView;
  #config: PartialConfig | undefined;
  #toolbox: Toolbox;
  /** One prompt at a time. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(context: CommandContext, ready: ReadyTurn, view: TurnView) {
    this.#context = context;
    this.#ready = ready;
    this.#view = view;
    this.#toolbox = ready.tools.toolbox;
  }

  toolbox(person: TerminalPrompter): Toolbox {
    const { tools } = this.#ready;
    const find: Toolbox["find"] = async (name, signal) => {
      const found = await this.#toolbox.find(name, signal);
      const isOff = found === undefined && tools.settings.get(name)?.isEnabled === false;
      if (!isOff || signal.aborted) return found;
      await this.#alone(() => this.#offer(name, person, signal));
      return this.#toolbox.find(name, signal);
    };
    return { ...tools.toolbox, find };
  }

  /** Wraps the prompter, so that it waits while the user is asked about a tool. */
  besides(prompter: Prompter): Prompter {
    return { ...prompter, ask: (request) => this.#alone(() => prompter.ask(request)) };
  }

  /** Records the enabled tools in the conversation. */
  async record(): Promise<void> {
    const { conversation, trusted } = this.#ready;
    if (this.#config === undefined) return;
    const config = withUntrusted({ ...trusted, config: this.#config });
    await recordChange(conversation, config, this.#context);
  }

  async #offer(name: string, person: TerminalPrompter, signal: AbortSignal): Promise<void> {
    const { trusted, conversation, prepared } = this.#ready;
    const { directives = [] } = prepared.request.settings;
    const { offerTool } = await loadModule(() => import("../../offer-tools.ts"));
    const { layers, config: before } = trusted;
    const called = { name, config: this.#config ?? before, layers, directives, signal };
    const config = await offerTool(this.#context, called, (question) =>
      this.#view.aside(() => person.ask(question)),
    );
    if (config === undefined) return;
    this.#config = config;
    const { servers, changes } = this.#ready;
    const machine = machineOf(this.#context);
    const parts = { conversation: conversation.id, servers, changes };
    // Opens nothing: it uses the turn's servers.
    this.#toolbox = openTools(machine, config, parts).toolbox;
  }

  async #alone<Value>(action: () => Promise<Value>): Promise<Value> {
    const before = this.#asking;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#asking = promise;
    try {
      await before;
      return await action();
    } finally {
      resolve();
    }
  }
}

/** Edits that a person approves may become trusted. */
function watchEdits(
  context: CommandContext,
  turn: WatchedTurn,
): Observer & { readonly settled: () => Promise<void> } {
  let unread: ConversationEvent[] = [];
  let isNeeded = false;
  let settled: Promise<EditTrust | undefined> = Promise.resolve(undefined);
  const read = async (trust: EditTrust | undefined, events: readonly ConversationEvent[]) => {
    const { EditTrust } = await loadModule(() => import("../../trust-edits.ts"));
    const reader = trust ?? new EditTrust(context, turn);
    await reader.read(events);
    return reader;
  };
  return {
    observe: (update) => {
      if (update.type !== "event") return;
      const { event } = update;
      unread.push(event);
      isNeeded ||= event.type === "inquiry_request" && event.question.binding !== undefined;
      if (!isNeeded || event.type !== "tool_call_response") return;
      const events = unread;
      unread = [];
      // If it cannot be loaded, jp asks again.
      settled = settled.then((trust) => read(trust, events)).catch(() => undefined);
    },
    settled: async () => {
      await settled;
    },
  };
}

function both(first: Observer, second: Observer): Observer {
  return {
    observe: (update) => {
      first.observe(update);
      second.observe(update);
    },
  };
}

/** Runs the action once something is recorded and the next tool or request has started. */
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

/** The schema that the answer has to match. A continued turn has it on record. */
function schemaOf({ message, conversation }: ReadyTurn) {
  return message === undefined ? findSchema(conversation.stream) : message.schema;
}
