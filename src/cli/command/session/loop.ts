/** The loop of a session: reads a message or a command, runs it, and returns to the prompt. */
import type { PartialConfig } from "../../../settings/config/index.ts";
import type { TrustedConfig } from "../../../settings/trust/index.ts";
import type { ConversationId } from "../../../record/conversation/index.ts";
import { ScopeMissing, type ServerRefusal } from "../../../reach/mcp/index.ts";
import { ProviderError } from "../../../reach/provider/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import {
  machineOf,
  openConfiguredServers,
  type OpenTurn,
  type OpenTurnOptions,
} from "../../../assemble/index.ts";
import {
  type Completion,
  type EditText,
  type EnteredMessage,
  type KeptTerminal,
  leaveTerminal,
  openKeyboard,
  type OpenMessage,
  type ShownMode,
  takeUnsent,
  type TerminalPrompter,
  type TextBuffer,
  type TurnKeyboard,
} from "../../../surfaces/terminal/index.ts";
import { isJpError, loadModule, neutralize } from "../../../util/index.ts";
import { type CommandContext, createContext, warn, withOutput } from "../../context.ts";
import { findEditor } from "../../editor.ts";
import {
  describeError,
  ExitStatus,
  INTERRUPTED,
  reportError,
  usageError,
} from "../../exit-status.ts";
import { type Host, wantsPlainText } from "../../host.ts";
import { editWith, findQuietPrompter } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import { whyNotAsked } from "../../decide-tools.ts";
import { loadMessageParts, type QueryMessage, withMentions } from "../query/message.ts";
import { loadConversation } from "../query/conversation.ts";
import { openHere } from "../query/query.ts";
import { send } from "../query/run-turn.ts";
import { announceReplay, type StartFlags } from "../query/start.ts";
import { sentLines, UnsentText } from "../query/unsent-text.ts";
import {
  completedCommands,
  findCommand,
  LEFT,
  type MessageToSend,
  UNDO_COMPACTION,
} from "./commands.ts";
import { completeInput, isOwnCommand } from "./completion.ts";
import { FileSearch } from "./file-search.ts";
import { InputHistory } from "./history.ts";
import type { SessionFlags } from "./open-session.ts";
import { describeEnd, nameCommand, runOwnCommand, toBlock } from "./own-command.ts";
import { describeCurrent, findCurrent } from "./picker.ts";
import { MODES, SessionMode } from "./session-mode.ts";
import { SessionState } from "./session-state.ts";
import { textOf, type Typed, TypedAhead } from "./typed-ahead.ts";
import { describeWhere } from "./where.ts";

/** The prompt's history and completion. The prompt is open before they are loaded. */
export interface SessionInput {
  history: readonly string[];
  complete: (buffer: TextBuffer) => Completion | undefined;
  /** From the config. */
  editText?: EditText;
  hasEditor: boolean;
  mode: () => ShownMode | undefined;
  nextMode: () => Promise<void>;
  /** The text at the first prompt until `onTyped` is replaced. */
  typed: string;
  onTyped: (text: string) => void;
}

export interface SessionParts {
  readonly host: Host;
  readonly options: SessionFlags;
  readonly input: SessionInput;
  /** Ends the session. */
  readonly signal: AbortSignal;
  readonly first: FirstPrompt;
  /** The terminal, kept from echoing. Undefined in plain mode, where it reads whole lines. */
  readonly kept: KeptTerminal | undefined;
  /** Already on the screen. Defaults to this terminal's active conversation. */
  readonly conversationId?: ConversationId;
}

/** The prompt that was drawn before anything else was loaded. */
interface FirstPrompt {
  readonly entered: Promise<EnteredMessage>;
  /** Undefined if it closed at once. */
  readonly open: OpenMessage | undefined;
  readonly close: () => void;
}

interface Entered extends Pick<EnteredMessage, "ending"> {
  readonly state: Typed;
}

type StartParts = Omit<SessionParts, "host">;

interface Loaded {
  readonly prompter: TerminalPrompter;
  readonly history: InputHistory;
  readonly isPlain: boolean;
  readonly isPlainByConfig: boolean;
  readonly mode: SessionMode;
  /** Absent in plain mode, where the terminal reads whole lines. */
  readonly keyboard: TurnKeyboard | undefined;
}

/** Returns when the user leaves. Throws `ExitStatus` if the session was interrupted, and `no_workspace`. */
export async function runSession({ host, ...parts }: SessionParts): Promise<void> {
  const { first } = parts;
  let context: CommandContext | undefined;
  try {
    context = await createContext(host, parts.options);
    await using session = await Session.start(context, parts);
    await session.run(first, parts.kept);
  } catch (error) {
    first.close();
    await first.entered.catch(() => {}); // It owns the screen until then.
    throw error;
  } finally {
    context?.output.flush();
    await context?.close();
  }
}

const NO_HISTORY = { position: undefined, edits: {}, menu: undefined };
const HELP_AFTER_UNKNOWN = "/help lists the commands. To send it as a message, start with a space.";
/** Also applies while a message is being edited. */
function isCommandLine(text: string): boolean {
  return isOwnCommand(text) || /^\/[a-z][\w-]*(?:\s|$)/.test(text);
}
const EDIT_DRAWN = "Edit the message. Enter sends it again, Esc goes back.";
/** In plain mode, text can only be appended. */
const EDIT_PLAIN = "Add to the message, or send it again. Ctrl-D goes back.";
const EDIT_LEFT = "Nothing was sent: you are back at the prompt.";
const EDIT_KEPT = "Nothing was sent: you are back at the prompt. ↑ brings your edit back.";
const NEW_CONVERSATION = "New conversation. /resume lists earlier ones, /help all commands.";

class Session implements AsyncDisposable {
  readonly #state: SessionState;
  readonly #input: SessionInput;
  readonly #history: InputHistory;
  /** The prompt opened last, which may be closed by now. */
  #prompt: OpenMessage | undefined;
  /** Text at the prompt from someone else's record, so its mentions are not attached. */
  #foreignText = "";
  /** The first prompt was drawn anyway, because the config was not loaded yet. */
  readonly #isPlainByConfig: boolean;
  /** Ctrl-C presses since the last message or command. */
  #interrupts = 0;
  /** The turn handles Ctrl-C itself. */
  #isTurnOpen = false;
  readonly #keyboard: TurnKeyboard | undefined;
  readonly #typed: TypedAhead;
  /** Set while a command has the terminal in the shell's mode. */
  #left: Disposable | undefined;
  /** A command typed while editing a message. */
  #nextCommand: string | undefined;

  /** The command for a server that wants the user to log in. It is offered at the next empty prompt. */
  #login: string | undefined;

  private constructor(context: CommandContext, parts: StartParts, loaded: Loaded) {
    const onWarning = (message: string) => this.#warn(message);
    const onRefusal = (refusal: ServerRefusal) => {
      this.#login ??= loginCommand(refusal);
    };
    this.#state = new SessionState({
      context,
      signal: parts.signal,
      prompter: loaded.prompter,
      isPlain: loaded.isPlain,
      mode: loaded.mode,
      replay: (added, isEdited) => this.#replay(added, isEdited),
      servers: openConfiguredServers({ ...machineOf(context), onWarning, onRefusal }, {}),
    });
    this.#input = parts.input;
    this.#history = loaded.history;
    this.#isPlainByConfig = loaded.isPlainByConfig;
    this.#keyboard = loaded.keyboard;
    const onProblem = (problem: string) => this.#warn(problem);
    this.#typed = new TypedAhead({ context, keyboard: loaded.keyboard, onProblem });
    this.#input.onTyped = (text) => this.#typed.noteDraft(text);
    this.#typed.noteDraft(this.#input.typed);
    parts.signal.addEventListener("abort", () => this.#typed.save(), { once: true });
    this.#prompt = parts.first.open;
    this.#input.history = this.#history.entries;
    const search = new FileSearch({
      root: machineOf(context).root,
      folder: context.cwd,
      clock: context.clock,
      signal: this.#state.signal,
      onListed: () => this.#redraw(),
    });
    this.#input.complete = (buffer) =>
      completeInput(buffer, completedCommands(this.#state), { folder: context.cwd, search });
  }

  /** Only the prompt may print while it is open. Throws `no_workspace`. */
  static async start(context: CommandContext, parts: StartParts): Promise<Session> {
    const notices: string[] = [];
    const output = { ...context.output, notice: (line: string) => void notices.push(line) };
    const { conversations } = context.workspace;
    const history = await InputHistory.load(context.environment);
    const id = parts.conversationId ?? (await findCurrent(context));
    const flags = id === undefined ? {} : { id };
    // The session opens anyway: each message needs the config, and fails until it is fixed.
    const trusted = await trustedConfig(withOutput(context, output), flags).catch(
      (error: unknown) => {
        if (isJpError(error)) notices.push(neutralize(describeError(error)));
        return undefined;
      },
    );
    const config: PartialConfig = trusted?.config ?? {};
    const prompter = findQuietPrompter(context, config, {});
    if (prompter === undefined) throw usageError("A session needs a terminal.");
    parts.input.editText = editWith(context, config.editor);
    parts.input.hasEditor = findEditor(context.environment.variables, config.editor) !== undefined;
    const isPlain = wantsPlainText(context, config);
    const isPlainByConfig = isPlain && !wantsPlainText(context, {});
    const mode = openMode(context, parts);
    mode.configure(config);
    const keyboard = isPlain ? undefined : await takeKeyboard(context, parts, history);
    const loaded = { prompter, history, isPlain, isPlainByConfig, mode, keyboard };
    const session = new Session(context, parts, loaded);
    await session.#state.loadCustom();
    const summary = id && (await conversations.find(id));
    if (summary !== undefined) session.#state.continue(summary);
    if (summary === undefined) notices.push(NEW_CONVERSATION);
    else if (parts.conversationId === undefined) notices.push(describeCurrent(summary, context));
    notices.push(...(await session.#findUnsent()));
    if (isPlain && mode.shown !== undefined)
      notices.push(`Mode ${mode.current}: ${MODES[mode.current]}.`);
    const width = context.output.noticeWidth;
    const where = trusted && (await session.#describeWhere(trusted, width));
    const lines = notices.flatMap((line) => wrapProse(line, width));
    session.#print([...(where === undefined ? [] : [where]), ...lines]);
    session.#state.findNames(config);
    void loadMessageParts();
    return session;
  }

  async #describeWhere({ config, layers }: TrustedConfig, width: number): Promise<string> {
    const { context, mode } = this.#state;
    const { host, environment, workspace } = context;
    const { root } = workspace;
    const first = { isInteractive: host.isInteractive(), flags: {}, layers, environment, root };
    const isUndecided = whyNotAsked(first) === undefined;
    const { home } = environment;
    return describeWhere({ folder: root, home, config, mode: mode.current, isUndecided }, width);
  }

  async run(first: FirstPrompt, kept: KeptTerminal | undefined): Promise<void> {
    try {
      await this.#run(first, kept);
    } finally {
      await this.#printUnsent();
    }
  }

  async #run({ entered, close }: FirstPrompt, kept: KeptTerminal | undefined): Promise<void> {
    // An incomplete turn, and text that was not sent, come before a new message. Typed text is kept.
    let isClosed = this.#state.isIncomplete || this.#isPlainByConfig || this.#typed.isHolding;
    if (isClosed) close();
    let { state, ending }: Entered = await entered;
    if (this.#state.isPlain) kept?.[Symbol.dispose](); // From now on, lines are read.
    for (;;) {
      if (ending.type === "left") return;
      if (ending.type === "aborted" && (!isClosed || this.#state.signal.aborted))
        throw new ExitStatus(INTERRUPTED);
      isClosed = false;
      if (ending.type === "sent")
        this.#typed.startSending(isCommandLine(ending.text) ? "" : ending.text);
      const next: Typed | typeof LEFT =
        ending.type === "sent" ? await this.#take(ending.text) : state;
      if (next === LEFT) return;
      // An unsent message comes back as it was, with its pastes folded.
      const shown = ending.type === "sent" && next === ending.text ? ending.shown : undefined;
      const back =
        shown === undefined || typeof state === "string"
          ? next
          : { ...state, ...NO_HISTORY, buffer: shown };
      ({ state, ending } = await this.#next((await this.#offerIncomplete()) || back));
    }
  }

  /** Text typed while jp worked is sent first, or put back at the prompt. */
  async #next(given: Typed): Promise<Entered> {
    const command = this.#nextCommand;
    this.#nextCommand = undefined;
    const text = command ?? (textOf(given) === "" ? this.#typed.takeQueued() : undefined);
    if (text === undefined) {
      await this.#typed.follow(this.#state.conversationId);
      const { state, lines } = this.#typed.giveBack(given);
      for (const line of lines) this.#say(line);
      return await this.#read(textOf(state) === "" ? this.#takeLogin() : state);
    }
    if (command === undefined)
      for (const line of sentLines(text)) this.#state.context.output.notice(line);
    return { state: given, ending: { type: "sent", text } };
  }

  /** The offered command, ready to be sent with Enter, or an empty text. */
  #takeLogin(): string {
    const command = this.#login;
    this.#login = undefined;
    if (command === undefined) return "";
    this.#say("Press Enter to log in now.");
    return command;
  }

  /** Text that earlier sessions have left for this conversation is held for the prompt. Returns lines about other text. */
  async #findUnsent(): Promise<readonly string[]> {
    const { conversationId: id, context } = this.#state;
    const { conversations } = context.workspace;
    await this.#typed.follow(id);
    const others = await this.#typed.findOthers(
      async (other) => (await conversations.find(other)) !== undefined,
    );
    const list = others.join(", ");
    return others.length === 0 ? [] : [`Text that was not sent is in other conversations: ${list}`];
  }

  /** Prints unsent text when the session ends, and saves it in the history and for the next session. */
  async #printUnsent(): Promise<void> {
    await this.#typed.end();
    const unsent = new UnsentText();
    const late = takeUnsent(this.#state.context.host.terminal) ?? [];
    for (const text of [this.#typed.takeAll(), late].flat()) {
      unsent.keep(text);
      await this.#history.add(text);
    }
    unsent.print(this.#state.context.output);
  }

  /** Takes the terminal back: messages are typed, and turns run, without echo. */
  #takeTerminal(): void {
    this.#left?.[Symbol.dispose]();
    this.#left = undefined;
  }

  #read(state: Typed, hasWayBack = false): Promise<EnteredMessage> {
    this.#state.context.output.flush();
    void this.#state.loadCustom(); // They may have changed.
    return this.#state.prompter.enterMessage({
      state,
      hasCommands: true,
      hasWayBack,
      history: () => this.#history.entries,
      complete: (buffer) => this.#input.complete(buffer),
      mode: () => this.#state.mode.shown,
      onNextMode: this.#state.mode.next,
      expand: () => this.#keyboard?.takeShortened() ?? [],
      onTyped: (typed) => this.#typed.noteDraft(hasWayBack && typed === textOf(state) ? "" : typed),
      signal: this.#state.signal,
      onOpen: (open) => (this.#prompt = open),
    });
  }

  /** Returns the text to continue with at the prompt. */
  async #take(text: string): Promise<string | typeof LEFT> {
    // A command gets the terminal in the shell's mode.
    if (isCommandLine(text)) this.#left = leaveTerminal(this.#state.context.host.terminal);
    try {
      return await this.#do(text);
    } finally {
      this.#takeTerminal();
    }
  }

  async #do(text: string): Promise<string | typeof LEFT> {
    await this.#history.add(text);
    if (isOwnCommand(text)) return await this.#runOwn(text.slice(1).trim());
    const [, name, argument = ""] = /^\/([a-z][\w-]*)(?:\s+(.*))?$/s.exec(text.trimEnd()) ?? [];
    if (name === undefined) return await this.#send(text);
    await this.#state.loadCustom(); // They may have changed.
    const found = findCommand(name, this.#state);
    if ("run" in found) {
      const result = (await this.#guard(() => found.run(argument.trim(), this.#state))) ?? "";
      return typeof result === "object" ? await this.#sendFor(result, text) : result;
    }
    const meant = found.map((one) => `/${one}`).join(", ");
    const hint = meant === "" ? HELP_AFTER_UNKNOWN : `Did you mean ${meant}? ${HELP_AFTER_UNKNOWN}`;
    this.#say(`Unknown command: /${name}. ${hint}`);
    return this.#state.isPlain ? "" : text; // A plain-mode draft can be appended to, but not corrected.
  }

  /** Sends the message that the command produced. If it is not sent, returns the typed text. */
  async #sendFor({ message }: MessageToSend, typed: string): Promise<string> {
    this.#takeTerminal();
    this.#typed.startSending(typed);
    await this.#state.loadCustom(); // It is trusted now.
    const draft = await this.#send(message);
    return draft === message ? typed : draft;
  }

  /** Ctrl-C goes to the command. */
  async #runOwn(line: string): Promise<string> {
    const { host, output } = this.#state.context;
    if (line === "") this.#say("Type a command after the exclamation mark: !npm test");
    else {
      try {
        this.#state.ran = await runOwnCommand(line, this.#state.context, this.#state.signal);
        const ended = describeEnd(this.#state.ran);
        this.#say(`${ended}. /share shows it to the model.`);
      } catch (error) {
        reportError(error, host);
      }
    }
    output.flush();
    return "";
  }

  /** Asks what to do about an incomplete turn. Returns text to edit, or an empty string. */
  async #offerIncomplete(): Promise<string> {
    if (!this.#state.isIncomplete) return "";
    this.#state.isIncomplete = false;
    return await this.#send();
  }

  /** Without text, handles an incomplete turn. Returns the text to continue with at the prompt. */
  async #send(text = ""): Promise<string> {
    let draft = text;
    const unsent = new UnsentText();
    const sendText = async () => {
      await using turn = await this.#open({ hasMessage: text !== "" }, async (start) => {
        if (start.type === "new" && start.text !== undefined) {
          draft = start.text;
          this.#foreignText = start.isForeign === true ? start.text : "";
        }
        if (draft === text && text !== "")
          return this.#withShared(
            await withMentions(text.trim(), this.#state.context, this.#foreignText),
          );
        this.#say("The incomplete turn is closed.");
        return undefined;
      });
      if (turn === undefined || !this.#startTurn(turn)) return false;
      if (turn.message !== undefined) {
        draft = "";
        this.#foreignText = "";
        this.#state.shared = undefined;
      }
      return await this.#runTurn(turn, unsent);
    };
    let isDone: boolean | undefined;
    try {
      isDone = await this.#guard(() => this.#withoutUnknown(sendText));
    } finally {
      if (isDone !== true || unsent.texts.length > 0) this.#typed.hold(unsent.texts);
    }
    return draft;
  }

  /** Appends the output of the shared command. Mentions in it are not attached. */
  #withShared(message: QueryMessage): QueryMessage {
    if (this.#state.shared === undefined) return message;
    this.#say(`Shown to the model: ${nameCommand(this.#state.shared)}`);
    return { ...message, text: `${message.text}\n\n${toBlock(this.#state.shared)}` };
  }

  /** Whether it ended normally: only then are queued messages sent automatically. */
  async #runTurn(turn: OpenTurn, unsent: UnsentText): Promise<boolean> {
    if (turn.message !== undefined) void turn.requestSent.then(() => this.#typed.noteSent());
    const end = await send(this.#state.context, turn, {
      isSession: true,
      view: { undo: UNDO_COMPACTION },
      keyboard: this.#keyboard,
      steering: {
        takes: (text) => !isCommandLine(text),
        take: () => this.#typed.takeForTurn(),
        onRecorded: () => {
          for (const text of this.#typed.noteTaken()) void this.#history.add(text);
        },
      },
      unsent,
      onSaid: (text) => void this.#history.add(text),
    });
    return end === "done";
  }

  async #replay(added: string, isEdited = false): Promise<void> {
    const unsent = new UnsentText();
    let isDone = false;
    const replayed = this.#withoutUnknown(async () => {
      await using turn = await this.#open({ replay: true }, async (start) => {
        if (start.type !== "replay") return undefined;
        this.#takeTerminal();
        const { content } = start.request;
        return isEdited ? await this.#edit(content) : await this.#addTo(content, added);
      });
      if (turn === undefined) return;
      announceReplay(turn.conversation, { output: this.#state.context.output, isSaved: true });
      isDone = this.#startTurn(turn) && (await this.#runTurn(turn, unsent));
    });
    await replayed.finally(() => {
      if (!isDone || unsent.texts.length > 0) this.#typed.hold(unsent.texts);
    });
  }

  async #open(
    start: StartFlags,
    readMessage: NonNullable<OpenTurnOptions["readMessage"]>,
  ): Promise<OpenTurn | undefined> {
    const { conversationId: id, model, directives, title, attach, fork, mode } = this.#state;
    const isNew = id === undefined;
    return openHere(this.#state.context, {
      found: await loadConversation(this.#state.context, { new: isNew, id, fork }),
      storage: { fork, title: isNew ? title : undefined },
      settings: { model, mode: mode.chosen, directives },
      attach,
      isSession: true,
      servers: this.#state.servers,
      mode: mode.forCall,
      start,
      signal: this.#state.signal,
      onConfig: (config) => {
        mode.configure(config);
        mode.settle();
      },
      readMessage,
    });
  }

  /** A nonexistent model or tool is not used for the next message either. */
  async #withoutUnknown<Value>(action: () => Promise<Value>): Promise<Value> {
    try {
      return await action();
    } catch (error) {
      // The conversation does not remember it either.
      if (error instanceof ProviderError && error.kind === "unknown_model")
        this.#state.model = undefined;
      // One of them names a tool that no server offers.
      if (isJpError(error) && error.code === "unknown_tool") this.#state.directives = [];
      throw error;
    }
  }

  /** The message with words appended. */
  async #addTo(content: string, added: string): Promise<QueryMessage> {
    const { text, ...more } = await withMentions(added, this.#state.context);
    return { ...more, text: text === "" ? content : `${content}\n\n${text}` };
  }

  async #edit(text: string): Promise<QueryMessage | undefined> {
    this.#say(this.#state.isPlain ? EDIT_PLAIN : EDIT_DRAWN);
    const { state, ending } = await this.#read(text, true);
    const isCommand = ending.type === "sent" && isCommandLine(ending.text);
    if (ending.type !== "sent" || isCommand) {
      const isEdited = !isCommand && ![text.trim(), ""].includes(textOf(state).trim());
      if (isEdited) await this.#history.add(textOf(state));
      this.#say(isEdited ? EDIT_KEPT : EDIT_LEFT);
      if (isCommand) this.#nextCommand = ending.text;
      return undefined;
    }
    await this.#history.add(ending.text);
    return withMentions(ending.text.trim(), this.#state.context, text);
  }

  /** False if it was stopped before it started. */
  #startTurn({ conversation: { id } }: OpenTurn): boolean {
    this.#state.conversationId = id;
    this.#typed.moveTo(id);
    this.#state.fork = undefined;
    this.#isTurnOpen = this.#interrupts === 0 && !this.#state.signal.aborted;
    if (this.#isTurnOpen) this.#state.attach = []; // The conversation remembers it.
    else this.#say("Stopped.");
    return this.#isTurnOpen;
  }

  /**
   * Reports errors, after which the session continues. Ctrl-C goes to the turn while there is one; otherwise the
   * second one ends the process. Throws `ExitStatus` if the user leaves the turn.
   */
  async #guard<Value>(action: () => Promise<Value>): Promise<Value | undefined> {
    const { host, output } = this.#state.context;
    this.#interrupts = 0;
    const watch = host.onSignal(["SIGINT"], () => {
      this.#interrupts += 1;
      if (!this.#isTurnOpen && this.#interrupts > 1) host.exit(INTERRUPTED);
    });
    try {
      return await action();
    } catch (error) {
      if (error instanceof ExitStatus && error.status === INTERRUPTED) throw error;
      reportError(error, host);
      return undefined;
    } finally {
      watch[Symbol.dispose]();
      this.#isTurnOpen = false;
      output.flush();
    }
  }

  /** Servers may ask, and be refused, at any time. */
  #warn(message: string): void {
    const lines: string[] = [];
    warn(message, { ...this.#state.context.output, notice: (line) => void lines.push(line) });
    this.#print(lines);
  }

  /** Redraws the prompt after a change. In plain mode, lines already read aloud stay. */
  #redraw(): void {
    if (!this.#state.isPlain) this.#prompt?.print([]);
  }

  /** Prints above an open prompt. */
  #print(lines: readonly string[]): void {
    if (this.#prompt?.print(lines) === true) return;
    for (const line of lines) this.#state.context.output.notice(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keyboard?.[Symbol.dispose]();
    await this.#state.servers.close();
  }

  #say(text: string): void {
    const { output } = this.#state.context;
    for (const row of wrapProse(text, output.noticeWidth)) output.notice(row);
  }
}

/** Takes the keyboard for input while jp works. */
async function takeKeyboard(
  { host: { terminal: device } }: CommandContext,
  { kept, input }: StartParts,
  history: InputHistory,
): Promise<TurnKeyboard | undefined> {
  if (kept === undefined) return undefined;
  const complete = (buffer: TextBuffer) => input.complete(buffer);
  return await openKeyboard({
    device,
    kept,
    line: { history: () => history.entries, complete },
    mode: () => input.mode(),
    onNextMode: () => input.nextMode(),
  });
}

function openMode(context: CommandContext, { options, input }: StartParts): SessionMode {
  const mode = new SessionMode({
    chosen: options.mode,
    now: () => context.clock.now().getTime(),
    hasSandbox: async () => {
      const { checkSandbox } = await loadModule(() => import("../doctor/check-sandbox.ts"));
      const { state } = await checkSandbox(context, machineOf(context)).catch(() => NO_SANDBOX);
      return state === "ok";
    },
  });
  input.mode = () => mode.shown;
  input.nextMode = mode.next;
  return mode;
}

const NO_SANDBOX = { state: "warning" } as const;

function loginCommand({ server, error }: ServerRefusal): string {
  const scopes = error instanceof ScopeMissing ? error.scopes : [];
  return ["/login", server, ...scopes].join(" ");
}
