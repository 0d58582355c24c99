/** The loop of a session: reads a message or a command, runs it, and returns to the prompt. */
import { type PartialConfig, resolveTools, type ToolDirective } from "../../../config/index.ts";
import type { ConversationId } from "../../../conversation/index.ts";
import type { McpServers } from "../../../mcp/index.ts";
import { ProviderError } from "../../../provider/index.ts";
import { wrapProse } from "../../../render/index.ts";
import { openConfiguredServers } from "../../../runtime/index.ts";
import type { WorkspaceSummary } from "../../../storage/index.ts";
import type {
  Completion,
  EnteredMessage,
  InputState,
  OpenMessage,
  TerminalPrompter,
  TextBuffer,
} from "../../../terminal/index.ts";
import { isJpError } from "../../../util/index.ts";
import { type CommandContext, createContext, type GlobalOptions, warn } from "../../context.ts";
import { type EditorSettings, findEditor } from "../../editor.ts";
import { ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import { type Host, wantsPlainText } from "../../host.ts";
import { type ConfigFlags, effectiveConfig, machineOf } from "../../load-config.ts";
import { findQuietPrompter } from "../../prompter.ts";
import { reportError } from "../../report-error.ts";
import { trustedConfig } from "../../trust.ts";
import { loadMessageParts, type QueryMessage, withMentions } from "../query/message.ts";
import {
  loadTurn,
  openTurn,
  type PreparedTurn,
  prepareTurn,
  type ReadyTurn,
  type TurnRequest,
} from "../query/prepare.ts";
import { send } from "../query/query.ts";
import { announceReplay, type StartFlags } from "../query/start.ts";
import { COMMANDS, completedCommands, LEFT, UNDO_COMPACTION } from "./commands.ts";
import { completeInput } from "./completion.ts";
import { InputHistory } from "./history.ts";
import type { OpenSession } from "./open-session.ts";
import { describeCurrent, findCurrent } from "./picker.ts";

/** The prompt's history and completion. The prompt is open before they are loaded. */
export interface SessionInput {
  history: readonly string[];
  complete: (buffer: TextBuffer) => Completion | undefined;
  /** From the config. */
  editor?: EditorSettings;
  hasEditor: boolean;
}

export interface SessionParts {
  readonly host: Host;
  readonly options: GlobalOptions;
  readonly input: SessionInput;
  /** Ends the session. */
  readonly signal: AbortSignal;
  readonly first: FirstPrompt;
  /** By default, the active one of this terminal. */
  readonly conversationId?: ConversationId;
}

/** The prompt that was drawn before anything else was loaded. */
interface FirstPrompt {
  readonly entered: Promise<EnteredMessage>;
  /** Undefined if it was closed at once. */
  readonly open: OpenMessage | undefined;
  readonly close: () => void;
}

type StartParts = Omit<SessionParts, "host" | "options">;

interface Loaded {
  readonly prompter: TerminalPrompter;
  readonly history: InputHistory;
  readonly isPlain: boolean;
  readonly isPlainByConfig: boolean;
}

/** Returns when the user leaves. Throws `ExitStatus` if the session was interrupted, and `no_workspace`. */
export async function runSession({ host, options, ...parts }: SessionParts): Promise<void> {
  const context = createContext(host, options);
  const { first } = parts;
  try {
    await using session = await Session.start(context, parts);
    await session.run(first);
  } catch (error) {
    first.close();
    await first.entered.catch(() => {}); // It owns the screen until then.
    throw error;
  } finally {
    context.output.flush();
  }
}

/** The input typed at the prompt. */
type Typed = InputState | string;

const HELP_AFTER_UNKNOWN = "/help lists the commands. To send it as a message, start with a space.";
const EDIT_DRAWN = "Edit the message. Enter sends it again, Esc goes back.";
/** A line that is read as a whole can only be added to. */
const EDIT_PLAIN = "Add to the message, or send it again. Ctrl-D goes back.";
const NEW_CONVERSATION = "New conversation. /resume lists earlier ones, /help all commands.";

class Session implements OpenSession, AsyncDisposable {
  readonly context: CommandContext;
  readonly prompter: TerminalPrompter;
  readonly isPlain: boolean;
  readonly signal: AbortSignal;
  conversationId: ConversationId | undefined;
  model: string | undefined;
  directives: readonly ToolDirective[] = [];
  title: string | undefined;
  attach: readonly string[] = [];
  fork: number | true | undefined;
  tools: readonly string[] = [];
  models: readonly string[] = [];
  readonly #input: SessionInput;
  readonly #history: InputHistory;
  /** Each runs from the first message that needs it until the session ends. */
  readonly #servers: McpServers;
  /** The last one that was opened; it may be closed. */
  #prompt: OpenMessage | undefined;
  /** The last turn is incomplete, and the user has not been asked about it. */
  #isIncomplete = false;
  /** At the prompt, from the record of someone else: what it mentions is not attached. */
  #foreignText = "";
  /** The first prompt was drawn, because the config was not known yet. */
  readonly #isPlainByConfig: boolean;
  /** How often Ctrl-C was pressed since the last message or command. */
  #interrupts = 0;
  /** The turn takes Ctrl-C itself. */
  #isTurnOpen = false;

  private constructor(context: CommandContext, parts: StartParts, loaded: Loaded) {
    this.context = context;
    this.signal = parts.signal;
    this.prompter = loaded.prompter;
    this.isPlain = loaded.isPlain;
    this.#input = parts.input;
    this.#history = loaded.history;
    this.#isPlainByConfig = loaded.isPlainByConfig;
    this.#prompt = parts.first.open;
    const onWarning = (message: string) => this.#warn(message);
    this.#servers = openConfiguredServers({ ...machineOf(context), onWarning }, {});
    this.#input.history = this.#history.entries;
    this.#input.complete = (buffer) => completeInput(buffer, completedCommands(this), context.cwd);
  }

  /** While the prompt is open, only it may print. Throws `no_workspace`. */
  static async start(context: CommandContext, parts: StartParts): Promise<Session> {
    const notices: string[] = [];
    const output = { ...context.output, notice: (line: string) => void notices.push(line) };
    const { conversations } = context.workspace;
    const history = await InputHistory.load(context.environment);
    const id = parts.conversationId ?? (await findCurrent(context));
    const flags = id === undefined ? {} : { id };
    // The first message reports what is wrong with the config.
    const config: PartialConfig = await trustedConfig({ ...context, output }, flags).then(
      (trusted) => trusted.config,
      () => ({}),
    );
    const prompter = findQuietPrompter(context, config, {});
    if (prompter === undefined) throw usageError("A session needs a terminal.");
    if (config.editor !== undefined) parts.input.editor = config.editor;
    parts.input.hasEditor = findEditor(context.environment.variables, config.editor) !== undefined;
    const isPlain = wantsPlainText(context, config);
    const isPlainByConfig = isPlain && !wantsPlainText(context, {});
    const loaded = { prompter, history, isPlain, isPlainByConfig };
    const session = new Session(context, parts, loaded);
    const summary = id && (await conversations.find(id));
    if (summary !== undefined) session.#continue(summary);
    notices.push(summary === undefined ? NEW_CONVERSATION : describeCurrent(summary, context));
    const lines = notices.flatMap((line) => wrapProse(line, context.output.noticeWidth));
    session.#print(lines);
    session.findNames(config);
    void loadMessageParts();
    return session;
  }

  /** For completion. */
  findNames(config: PartialConfig): void {
    this.tools = [...resolveTools(config).keys()];
    this.models = Object.keys(config.providers?.llm?.aliases ?? {});
  }

  get configFlags(): ConfigFlags {
    const { conversationId: id, directives, model } = this;
    const cfg = model === undefined ? [] : [`assistant.model.id=${model}`];
    return { cfg, directives, ...(id !== undefined && { id }) };
  }

  startNew(): void {
    this.conversationId = undefined;
    this.title = undefined;
    this.fork = undefined;
    this.#isIncomplete = false;
  }

  async use(summary: WorkspaceSummary): Promise<void> {
    this.#continue(summary);
    this.fork = undefined;
    this.model = undefined;
    this.directives = [];
    this.#say(describeCurrent(summary, this.context));
    this.findNames(await effectiveConfig(this.context, this.configFlags));
  }

  async run({ entered, close }: FirstPrompt): Promise<void> {
    // An incomplete turn comes before a new message. What was typed is kept.
    let isClosed = this.#isIncomplete || this.#isPlainByConfig;
    if (isClosed) close();
    let { state, ending } = await entered;
    for (;;) {
      if (ending.type === "left") return;
      if (ending.type === "aborted" && (!isClosed || this.signal.aborted))
        throw new ExitStatus(INTERRUPTED);
      isClosed = false;
      const next: Typed | typeof LEFT =
        ending.type === "sent" ? await this.#take(ending.text) : state;
      if (next === LEFT) return;
      ({ state, ending } = await this.#read((await this.#offerIncomplete()) || next));
    }
  }

  #read(state: Typed, hasWayBack = false): Promise<EnteredMessage> {
    this.context.output.flush();
    return this.prompter.enterMessage({
      state,
      hasCommands: true,
      hasWayBack,
      history: () => this.#history.entries,
      complete: (buffer) => this.#input.complete(buffer),
      signal: this.signal,
      onOpen: (open) => (this.#prompt = open),
    });
  }

  /** Returns what to continue with at the prompt. */
  async #take(text: string): Promise<string | typeof LEFT> {
    await this.#history.add(text);
    const [, name, argument = ""] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text.trimEnd()) ?? [];
    if (name === undefined) return await this.#send(text);
    const command = COMMANDS.find((one) => one.name === name);
    if (command !== undefined) {
      return (await this.#guard(() => command.run(argument.trim(), this))) ?? "";
    }
    this.#say(`Unknown command: /${name}. ${HELP_AFTER_UNKNOWN}`);
    return this.isPlain ? "" : text; // A draft in plain mode can be continued, but not corrected.
  }

  /** Asks what to do about a turn that was left. Returns a text to edit, or an empty one. */
  async #offerIncomplete(): Promise<string> {
    if (!this.#isIncomplete) return "";
    this.#isIncomplete = false;
    return await this.#send();
  }

  /** Without a text, for an incomplete turn. Returns what to continue with at the prompt. */
  async #send(text = ""): Promise<string> {
    let draft = text;
    const sendText = async () => {
      await using prepared = await this.#prepare({ hasMessage: text !== "" });
      const { start } = prepared;
      if (start.type === "quit") return;
      if (start.type === "new" && start.text !== undefined) {
        draft = start.text;
        this.#foreignText = start.isForeign === true ? start.text : "";
      }
      const isSent = start.type !== "resume" && draft === text && text !== "";
      if (!isSent && start.type !== "resume") return this.#say("The incomplete turn is closed.");
      const message = isSent
        ? await withMentions(text.trim(), this.context, this.#foreignText)
        : undefined;
      const turn = await openTurn(this.context, prepared, message);
      if (!this.#startTurn(turn)) return;
      if (isSent) {
        draft = "";
        this.#foreignText = "";
      }
      await send(this.context, turn);
    };
    await this.#guard(() => this.#withoutUnknown(sendText));
    return draft;
  }

  async replay(added: string, isEdited = false): Promise<void> {
    await this.#withoutUnknown(async () => {
      await using prepared = await this.#prepare({ replay: true, hasMessage: true });
      const { start } = prepared;
      if (start.type !== "replay") return;
      const { request } = start;
      const message = isEdited
        ? await this.#edit(request.content)
        : await this.#addTo(request.content, added);
      if (message === undefined) return this.#say("Nothing was sent.");
      const turn = await openTurn(this.context, prepared, message);
      const { output } = this.context;
      announceReplay(request, turn.conversation, { output, isSaved: true });
      if (this.#startTurn(turn)) await send(this.context, turn);
    });
  }

  async #prepare(start: StartFlags): Promise<PreparedTurn> {
    const { conversationId: id, model, directives, title, attach, fork } = this;
    const isNew = id === undefined;
    const request: TurnRequest = {
      conversation: { new: isNew, id, fork, title: isNew ? title : undefined },
      settings: { model, directives },
      start,
      attach,
      view: { undo: UNDO_COMPACTION },
      servers: this.#servers,
    };
    return prepareTurn(this.context, request, await loadTurn(this.context, request));
  }

  /** A model or tool that turns out not to exist is not used for the next message either. */
  async #withoutUnknown(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      // The conversation does not remember it either.
      if (error instanceof ProviderError && error.kind === "unknown_model") this.model = undefined;
      // One of them is a tool that no server offers.
      if (isJpError(error) && error.code === "unknown_tool") this.directives = [];
      throw error;
    }
  }

  /** The message, with words added to it. */
  async #addTo(content: string, added: string): Promise<QueryMessage> {
    const { text, ...more } = await withMentions(added, this.context);
    return { ...more, text: text === "" ? content : `${content}\n\n${text}` };
  }

  async #edit(text: string): Promise<QueryMessage | undefined> {
    this.#say(this.isPlain ? EDIT_PLAIN : EDIT_DRAWN);
    const { ending } = await this.#read(text, true);
    if (ending.type !== "sent") return undefined;
    await this.#history.add(ending.text);
    return withMentions(ending.text.trim(), this.context, text);
  }

  /** False if it was stopped before it started. */
  #startTurn({ conversation: { id } }: ReadyTurn): boolean {
    this.conversationId = id;
    this.fork = undefined;
    this.#isTurnOpen = this.#interrupts === 0 && !this.signal.aborted;
    if (this.#isTurnOpen) this.attach = []; // The conversation remembers it.
    else this.#say("Stopped.");
    return this.#isTurnOpen;
  }

  /**
   * Reports errors, after which the session continues. Ctrl-C is for the turn while there is one; otherwise the
   * second one ends the process. Throws `ExitStatus` if the user leaves the turn.
   */
  async #guard<Value>(action: () => Promise<Value>): Promise<Value | undefined> {
    const { host, output } = this.context;
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

  #continue({ id, openTurn: left }: WorkspaceSummary): void {
    this.conversationId = id;
    this.#isIncomplete = left !== undefined;
  }

  /** A server may ask at any time, and be refused. */
  #warn(message: string): void {
    const lines: string[] = [];
    warn(message, { ...this.context.output, notice: (line) => void lines.push(line) });
    this.#print(lines);
  }

  /** Above the prompt while one is open. */
  #print(lines: readonly string[]): void {
    if (this.#prompt?.print(lines) === true) return;
    for (const line of lines) this.context.output.notice(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers.close();
  }

  #say(text: string): void {
    const { output } = this.context;
    for (const row of wrapProse(text, output.noticeWidth)) output.notice(row);
  }
}
