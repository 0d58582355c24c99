/**
 * One server: starts it when it is needed, and restarts it when it has ended.
 *
 *   idle --start--> starting --> up --ends--> ended --next call--> starting
 *                      |                        |
 *                    fails                   a program: the second time
 *                      v                        v
 *                   failed                    down
 */
import type { McpServerSettings } from "../../settings/config/index.ts";
import {
  abortable,
  type Clock,
  isJsonObject,
  type JsonObject,
  systemClock,
} from "../../util/index.ts";
import {
  CallRejected,
  type Connection,
  ConnectionLost,
  InvalidResult,
  type ToolRequest,
} from "./connection.ts";
import {
  type Failure,
  McpError,
  type McpErrorCode,
  reasonOf,
  resourceFailed,
  serverDown,
  serversClosed,
  withLastLines,
} from "./mcp-error.ts";
import { openConnection } from "./open-connection.ts";
import type { InputRequest, InputResponse, SharedServerQuestion } from "./pending-calls.ts";
import type {
  AskingServer,
  CallIds,
  ConnectionContext,
  RemoteTool,
  ResourceContent,
  ServerAddress,
} from "./port.ts";
import { truncateResult } from "./remote-tool.ts";
import { type RequestEnd, ServerCall } from "./server-call.ts";

/** Shared by all servers. */
export interface McpContext extends ConnectionContext {
  /** Defaults to the system's clock. */
  readonly clock?: Clock;
  /** Called for a question that was refused because it is outside any call in progress. Must not throw. */
  readonly onUnscopedQuestion?: (question: UnscopedQuestion) => void;
  /**
   * Called when a server refuses to start, or the first call in a turn, for lack of a login or a permission. Must not
   * throw.
   */
  readonly onRefusal?: (refusal: ServerRefusal) => void;
}

/** A server that wants the user to log in. */
export interface ServerRefusal {
  readonly server: string;
  readonly error: McpError;
  /** It has refused a call, and not the start, which the caller reports. */
  readonly isCall: boolean;
}

/** How a server is connected to the turns that use it. */
export interface ServerContext extends McpContext {
  /**
   * Called for a question that any of several calls may have asked. Returns whether someone will respond to it. Must not
   * throw.
   */
  readonly onSharedQuestion?: (question: SharedQuestion) => boolean;
}

/** A server's question that any of several calls may have asked: the protocol of 2025 does not say which. */
export interface SharedQuestion {
  readonly server: AskingServer;
  readonly request: InputRequest;
  /** The calls in progress. */
  readonly calls: readonly CallIds[];
  /** Aborted when the server withdraws the question, and when all the calls have ended. */
  readonly closed: AbortSignal;
  /** Only the first response counts. */
  readonly respond: (response: InputResponse) => void;
}

/** A server's question outside any call in progress. It was refused without asking anyone. */
export interface UnscopedQuestion {
  /** The server's name in the config. */
  readonly server: string;
  readonly request: InputRequest;
  /** The server's text, or else the method of the request. */
  readonly message: string;
  /** The tool whose call asked, by its name in the config. That call was cancelled or has ended. */
  readonly tool?: string;
  /** The caller of that tool. */
  readonly caller?: object;
}

export interface CallRequest extends CallIds {
  readonly tool: RemoteTool;
  readonly arguments: JsonObject;
  /** No limit if absent or zero. Time spent on questions does not count. */
  readonly timeoutMs?: number;
  /** Does not change when the call is repeated. */
  readonly idempotencyKey?: string;
}

/** How many of the server's last lines to show a model. */
const LINES_FOR_MODEL = 8;
const MAX_QUESTION_LENGTH = 500;
/** Each is shown and recorded. A server that asks more between two calls is stopped. */
const MAX_UNSCOPED_QUESTIONS = 50;
/** The user can do something about these. */
const REFUSALS: ReadonlySet<McpErrorCode> = new Set([
  "mcp_login_required",
  "mcp_login_failed",
  "mcp_scope_missing",
]);
const CANCEL: InputResponse = { action: "cancel" };

/** One configured server. */
export class McpServer {
  readonly #settings: McpServerSettings;
  readonly #context: ServerContext;
  readonly #closing = new AbortController();
  readonly #connections = new Set<Connection>();
  #opened: Promise<Connection> | undefined;
  /** Why the connection can no longer be used. */
  #endedBy: Failure | undefined;
  /** It did not start. */
  #hasFailed = false;
  /** It has refused a call in this turn, and the user was told. */
  #hasRefused = false;
  #restartsLeft: number;
  /** Counted since the last call started. */
  #unscopedQuestions = 0;

  constructor(settings: McpServerSettings, context: ServerContext) {
    this.#settings = settings;
    this.#context = context;
    this.#restartsLeft = maxRestarts(settings);
  }

  get name(): string {
    return this.#settings.name;
  }

  get address(): ServerAddress {
    return addressOf(this.#settings);
  }

  get isOptional(): boolean {
    return this.#settings.isOptional;
  }

  /** Prefixes the names of its tools where all of them are offered. */
  get toolPrefix(): string {
    return this.#settings.toolPrefix ?? "";
  }

  /** Whether its forms may ask for secrets. */
  get allowsSecrets(): boolean {
    return this.#settings.allowsSecrets;
  }

  /** Whether it may prompt a model. */
  get allowsSampling(): boolean {
    return this.#settings.allowsSampling;
  }

  /** Starts in the background; `tools` reports a failure. */
  start(): void {
    void this.tools(this.#closing.signal).catch(() => undefined);
  }

  /** Starts it if necessary. Throws `McpError`; on abort throws the signal's reason, but the start continues. */
  async tools(signal: AbortSignal): Promise<readonly RemoteTool[]> {
    const connection = await abortable(this.#connected(), signal);
    return abortable(connection.tools(), signal);
  }

  /** Starts it if necessary. Throws `McpError`; on abort throws the signal's reason. */
  async readResource(uri: string, signal: AbortSignal): Promise<readonly ResourceContent[]> {
    const connection = await abortable(this.#connected(), signal);
    try {
      return await abortable(connection.readResource(uri, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw resourceFailed(this.name, uri, error);
    }
  }

  /** Forgets earlier failures, so that it may start again. */
  allowRestart(): void {
    this.#restartsLeft = maxRestarts(this.#settings);
    this.#hasRefused = false;
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#opened = undefined;
    this.#endedBy = undefined;
  }

  /** Sends nothing before the first step. */
  call(request: CallRequest): ServerCall {
    const { tool, name, arguments: given, timeoutMs, idempotencyKey: key } = request;
    const keyed = key !== undefined && { idempotencyKey: key };
    this.#unscopedQuestions = 0;
    return new ServerCall({
      failure: this.#notRun(tool),
      limitKey: `conversation.tools.${name}.timeout_secs`,
      clock: this.#context.clock ?? systemClock,
      ...(timeoutMs !== undefined && { timeoutMs }),
      send: (outgoing) =>
        this.#send({ tool, arguments: given, call: request, ...keyed, ...outgoing }),
      onUnscoped: (question) => this.#reportUnscoped(question, request),
    });
  }

  /** Stops everything that was started. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(serversClosed(this.name));
    await this.#opened?.catch(() => undefined);
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }

  /** Failures are results for the model; throws only the signal's reason. */
  async #send(request: ToolRequest): Promise<RequestEnd> {
    try {
      const connection = await abortable(this.#connected(), request.signal);
      return await connection.call(request);
    } catch (error) {
      request.signal.throwIfAborted();
      this.#reportRefusal(error, true);
      return { type: "error", content: truncateResult(this.#explain(request.tool, error)) };
    }
  }

  async #connected(): Promise<Connection> {
    this.#closing.signal.throwIfAborted();
    if (this.#opened === undefined) return this.#open();
    if (this.#endedBy === undefined) return this.#opened;
    if (this.#restartsLeft === 0) throw serverDown(this.name, this.#endedBy);
    this.#restartsLeft -= 1;
    this.#endedBy = undefined;
    return this.#open();
  }

  #open(): Promise<Connection> {
    const isRestart = this.#opened !== undefined;
    const opened = openConnection({
      settings: this.#settings,
      context: this.#context,
      signal: this.#closing.signal,
      onEnd: (failure) => {
        if (this.#opened === opened) this.#endedBy = failure;
      },
      onClosed: (connection) => this.#connections.delete(connection),
      onUnscoped: (request) => this.#reportUnscoped(request),
      onShared: (question) => this.#shareQuestion(question),
    });
    this.#opened = opened;
    opened.then(
      (connection) => this.#connections.add(connection),
      (error: unknown) => {
        if (this.#opened === opened) this.#hasFailed = true;
        this.#reportRefusal(error, false);
        const mayRetry = isRestart && this.#settings.type === "http";
        if (mayRetry) this.#endedBy = { reason: reasonOf(error), lastLines: [] };
      },
    );
    return opened;
  }

  /** The time of the calls does not run meanwhile. Refused if no one listens. */
  #shareQuestion({
    calls,
    ended,
    withdrawn,
    respond,
    ...request
  }: SharedServerQuestion<ToolRequest>): void {
    const closed = AbortSignal.any([withdrawn, ended]);
    const resume = calls.map(({ pause }) => pause());
    const settle = (response: InputResponse) => {
      closed.removeEventListener("abort", cancel);
      for (const each of resume) each();
      respond(response);
    };
    const cancel = () => settle(CANCEL);
    closed.addEventListener("abort", cancel, { once: true });
    if (closed.aborted) cancel();
    const shared = { server: this, request, calls: calls.map(({ call }) => call), closed };
    if (this.#context.onSharedQuestion?.({ ...shared, respond: settle }) === true) {
      this.#countUnscoped();
      return;
    }
    cancel();
    this.#reportUnscoped(request);
  }

  #reportUnscoped({ key, method, params }: InputRequest, call?: CallRequest): void {
    if (!this.#countUnscoped()) return;
    const { message } = isJsonObject(params) ? params : {};
    this.#context.onUnscopedQuestion?.({
      server: this.name,
      request: { key, method, params },
      message: (typeof message === "string" ? message : method).slice(0, MAX_QUESTION_LENGTH),
      ...(call !== undefined && { tool: call.name }),
      ...(call?.caller !== undefined && { caller: call.caller }),
    });
  }

  /** Returns false if there are too many: then the server is stopped. */
  #countUnscoped(): boolean {
    this.#unscopedQuestions += 1;
    if (this.#unscopedQuestions <= MAX_UNSCOPED_QUESTIONS) return true;
    for (const connection of this.#connections) connection.fail("it keeps asking outside of calls");
    return false;
  }

  #reportRefusal(error: unknown, isCall: boolean): void {
    if (!(error instanceof McpError) || this.#hasRefused || !REFUSALS.has(error.code)) return;
    this.#hasRefused = true;
    this.#context.onRefusal?.({ server: this.name, error, isCall });
  }

  #explain(tool: RemoteTool, error: unknown): string {
    if (error instanceof McpError) return error.message;
    if (error instanceof ConnectionLost) return this.#explainLoss(tool, error.failure);
    const reason = reasonOf(error);
    if (error instanceof InvalidResult) {
      return (
        `The MCP server "${this.name}" ran "${tool.name}", and its result is invalid: ${reason}. ` +
        "Its effects may have taken place."
      );
    }
    if (error instanceof CallRejected) {
      return `The MCP server "${this.name}" answered the call of "${tool.name}" with an error: ${reason}.`;
    }
    return `${this.#notRun(tool)}: ${reason}.`;
  }

  #notRun(tool: RemoteTool): string {
    return `The MCP server "${this.name}" did not run "${tool.name}"`;
  }

  #explainLoss(tool: RemoteTool, { reason, lastLines }: Failure): string {
    const isProgram = this.#settings.type === "stdio";
    const what = isProgram ? "exited" : "disconnected";
    const next = isProgram ? "The next call restarts it." : "The next call reconnects.";
    const message =
      `The MCP server "${this.name}" ${what} while it ran "${tool.name}": ${reason}. ` +
      (this.#restartsLeft === 0 ? "It will not be restarted." : next);
    return withLastLines(message, lastLines.slice(-LINES_FOR_MODEL));
  }
}

function addressOf(settings: McpServerSettings): ServerAddress {
  if (settings.type === "http") return { type: "http", url: settings.url };
  return { type: "stdio", command: settings.command, arguments: settings.arguments };
}

/** Only programs have a limit: reconnecting over HTTP starts nothing. */
function maxRestarts({ type }: McpServerSettings): number {
  return type === "stdio" ? 1 : Number.POSITIVE_INFINITY;
}
