/** Runs an open turn at the terminal: shows it, asks its questions, and reports how it ended. */
import {
  type AnswersFile,
  createConfiguredTurn,
  forgetWrongModel,
  loadTurnParts,
  onceBegun,
  type OpenTurn,
  trustRecord,
  type TurnParts,
} from "../../../assemble/index.ts";
import type {
  DetachedDenial,
  Observer,
  SteeringSource,
  Turn,
  TurnEnd,
} from "../../../core/agent/index.ts";
import {
  type ConversationEvent,
  isIncomplete,
  openCalls,
} from "../../../record/conversation/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import { takeUnsent, type TurnKeyboard } from "../../../surfaces/terminal/index.ts";
import { loadModule } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { wantsPlainText } from "../../host.ts";
import { findPrompter, type InteractionFlags, noTerminal } from "../../prompter.ts";
import type { EditTrust } from "../../trust-edits.ts";
import { activate } from "./conversation.ts";
import { assertData, checkAnswers } from "./expectations.ts";
import { menuFor, watchSignals } from "./interrupt.ts";
import { OfferedTools } from "./offered-tools.ts";
import { reportDenials, reportTurnEnd } from "./report.ts";
import { reportPending } from "./start.ts";
import { generateTitle } from "./title.ts";
import { TurnKeys } from "./turn-keys.ts";
import type { TurnUse } from "./turn-use.ts";
import { UnsentText } from "./unsent-text.ts";
import { menuWithScreen, type TurnView, withScreen } from "./view.ts";
import { createView, modeToShow, type ViewFlags } from "./view-settings.ts";

/** How a turn is shown, and who answers its questions. */
export interface SendOptions extends Pick<InteractionFlags, "nonInteractive" | "onSaid"> {
  /** Answers to everything the turn asks. */
  readonly answers?: AnswersFile | undefined;
  /** Defer everything that needs a person. */
  readonly defer?: boolean | undefined;
  /** Defer everything except decisions about this call. */
  readonly onlyCall?: string | undefined;
  readonly view?: ViewFlags | undefined;
  readonly isSession?: boolean | undefined;
  /** The session's keyboard. Without it, the turn takes the keyboard itself. */
  readonly keyboard?: TurnKeyboard | undefined;
  /** Messages that are typed for the running turn. Without it, the turn takes none. */
  readonly steering?: TypedSteering | undefined;
  /** Receives text typed during the turn but not sent. Without it, that text is printed. */
  readonly unsent?: UnsentText | undefined;
}

/** Messages that the user types for the running turn. */
export interface TypedSteering {
  /** Whether a turn takes this text. Otherwise it is queued for when the turn ends. */
  readonly takes: (text: string) => boolean;
  /** See `SteeringSource`. */
  readonly take: () => readonly string[];
  readonly onRecorded: () => void;
}

/**
 * Runs the turn, meanwhile saves state for the next command, and reports how the turn ended. Throws `ExitStatus`
 * unless it succeeded.
 */
export async function send(
  context: CommandContext,
  turn: OpenTurn,
  options: SendOptions,
): Promise<TurnEnd["type"]> {
  const { conversation, trusted, providers, requestSent, storage } = turn;
  // Before its first turn begins: if jp is killed, the next command has to find it.
  if (turn.isNew && storage.persist !== false) await activate(context, conversation.id);
  const running = run(context, turn, options).then(
    async (end) => {
      await forgetWrongModel(context, turn);
      return end;
    },
    async (error: unknown) => {
      await forgetWrongModel(context, turn, error);
      throw error;
    },
  );
  const after = Promise.race([requestSent, running.catch(() => {})]);
  const wantsTitle = turn.isNew && storage.title === undefined && storage.persist !== false;
  const { config } = trusted;
  const { clock } = context;
  using title = wantsTitle
    ? generateTitle({ config, providers, clock, conversation, after })
    : undefined; // Stopped if the turn fails.
  const saved = saveForNextCommand(context, turn, after);
  saved.catch(() => {}); // Rethrown below, after the turn.
  const { end, denials } = await running.finally(() => saved);
  await title?.save();
  if (options.answers !== undefined) checkAnswers(options.answers, end, conversation);
  if (turn.schema !== undefined) assertData(end);
  if (end.type === "waiting") await reportPending(conversation.stream, context, config);
  reportTurnEnd(end, isIncomplete(conversation.stream), context);
  reportDenials(denials, context);
  return end.type;
}

/** Saves state for the next command, once the model has the request. */
async function saveForNextCommand(
  context: CommandContext,
  { storage, trusted, conversation, isNew }: OpenTurn,
  modelIsThinking: Promise<unknown>,
): Promise<void> {
  await modelIsThinking;
  if (storage.persist === false) return;
  if (!isNew) await activate(context, conversation.id);
  await trustRecord(context, trusted, conversation);
}

interface EndedTurn {
  readonly end: TurnEnd;
  readonly denials: readonly DetachedDenial[];
}

async function run(
  context: CommandContext,
  opened: OpenTurn,
  options: SendOptions,
): Promise<EndedTurn> {
  const { message, ...parts } = opened;
  const { conversation, trusted } = parts;
  const { config } = trusted;
  const { unsent = new UnsentText(), keyboard, nonInteractive = false, view: flags = {} } = options;
  const { takes } = options.steering ?? {};
  const isUnattended = nonInteractive || flags.format === "json";
  const keys = new TurnKeys(context, { keyboard, isUnattended, config, unsent, takes });
  const use = flags.format === "json" ? undefined : await openUse(context, parts);
  const view = createView(context, flags, {
    turn: parts,
    keyboard: () => keys.keyboard,
    sessionKeyboard: keyboard,
    use,
  });
  sayMode(context, config, options);
  const edits = watchEdits(context, parts);
  const offers = new OfferedTools(context, parts, view);
  const shown = { ...options, view, use, unsent, edits, offers };
  const turn = await createShownTurn(context, opened, shown);
  const signals = watchSignals(turn, view, { context, unsent });
  // A session's prompt is already loaded. A query sends its request first.
  const isFirst = message !== undefined && keyboard === undefined;
  const taken = keys.take(turn, view, isFirst ? opened.requestSent : undefined);
  let end: TurnEnd | undefined;
  try {
    if (message === undefined) view.resume(openCalls(conversation.stream));
    end = message === undefined ? await turn.resume() : await turn.run(message);
    return { end, denials: turn.denials };
  } finally {
    signals[Symbol.dispose]();
    await view.end(end);
    keys.end();
    await taken;
    await edits.settled();
    await offers.record();
    unsent.keep(takeUnsent(context.host.terminal) ?? "");
    if (options.unsent === undefined) unsent.print(context.output);
  }
}

/** Undefined if there is no status line to show it in. The turn works without it. */
async function openUse(context: CommandContext, turn: TurnParts): Promise<TurnUse | undefined> {
  if (!context.host.notices.isTTY || wantsPlainText(context, turn.trusted.config)) return undefined;
  const code = await loadModule(() => import("./turn-use.ts")).catch(() => undefined);
  return code && new code.TurnUse(turn);
}

/** Only in plain mode, which has no status line. A session announces it before the message. */
function sayMode(
  context: CommandContext,
  config: PartialConfig,
  { isSession = false, view }: SendOptions,
): void {
  const mode = modeToShow(config);
  const isSaid = !isSession && view?.format !== "json";
  if (mode !== undefined && isSaid && wantsPlainText(context, config))
    context.output.notice(`Mode: ${mode.name}.`);
}

interface ShownParts extends Omit<SendOptions, "view" | "unsent"> {
  readonly view: TurnView;
  readonly use: TurnUse | undefined;
  readonly unsent: UnsentText;
  readonly edits: Observer;
  readonly offers: OfferedTools;
}

/** The turn, with the person at this terminal as the one to ask. */
async function createShownTurn(
  context: CommandContext,
  opened: OpenTurn,
  { view, use, unsent, edits, offers, nonInteractive, onSaid, onlyCall, ...options }: ShownParts,
): Promise<Turn> {
  const { trusted, tools, conversation, providers, message, requestSent } = opened;
  const { config } = trusted;
  const { answers, defer = false, steering } = options;
  const onUnsent = (text: string) => unsent.keep(text);
  const person = findPrompter(context, config, { nonInteractive, onUnsent, onSaid });
  const canAsk = person?.canAsk() === true;
  // A part that fails to load is reported where it is needed.
  const load = () =>
    Promise.allSettled([
      view.load(),
      use?.load(),
      loadTurnParts(config, providers),
      ...(canAsk ? [person.load()] : []),
    ]);
  // A continued turn may wait for a person, or for a tool it reruns, before it sends anything.
  const isContinued = message === undefined;
  if (isContinued && canAsk) await load();
  else if (!isContinued) void requestSent.then(load);
  return createConfiguredTurn(context, opened, {
    toolbox: canAsk && answers === undefined ? offers.toolbox(person) : tools.toolbox,
    defer: defer || onlyCall !== undefined,
    ...(steering !== undefined && { steering: steeringFrom(steering, config) }),
    ...(answers !== undefined && { answers }),
    allowsForeignTurn: true, // The user has confirmed it.
    prompter: offers.besides(withScreen(person ?? noTerminal, view, onlyCall)),
    ...(canAsk && {
      menu: menuWithScreen(menuFor(person, config, { context, unsent, conversation }), view),
    }),
    observer: allOf(
      view,
      edits,
      ...(use === undefined ? [] : [use]),
      ...(isContinued && !canAsk ? [onceBegun(load)] : []),
    ),
  });
}

/** The messages as the user's own. Files that they mention are not attached: the model can read them with its tools. */
function steeringFrom(
  { take, onRecorded }: TypedSteering,
  { user: { name: author } = {} }: PartialConfig,
): SteeringSource {
  const named = author !== undefined && { author };
  return { take: () => take().map((text) => ({ content: text.trim(), ...named })), onRecorded };
}

/** Edits that a person approves may become trusted. */
function watchEdits(
  context: CommandContext,
  turn: TurnParts,
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

function allOf(...observers: readonly Observer[]): Observer {
  return {
    observe: (update) => {
      for (const observer of observers) observer.observe(update);
    },
  };
}
