/**
 * One server, through its starts and ends.
 *
 *   idle --start--> starting --> up --ends--> fallen --next call--> starting
 *                      |                        |
 *                    fails                   a program: the second time
 *                      v                        v
 *                   stays so                   down
 */
import type { McpServerSettings } from "../config/index.ts";
import { abortable, isJsonObject, type JsonObject, systemClock } from "../util/index.ts";
import { capped } from "./call-result.ts";
import { type Connection, ConnectionLost, type LegRequest } from "./connection.ts";
import type { InputRequest } from "./input-request.ts";
import type { McpContext } from "./link.ts";
import type { RemoteTool } from "./list-tools.ts";
import {
  type Failure,
  McpError,
  reasonOf,
  serverDown,
  serversClosed,
  withLastLines,
} from "./mcp-error.ts";
import { openConnection } from "./open-connection.ts";
import { type LegEnd, ServerCall } from "./server-call.ts";

export interface CallRequest {
  readonly tool: RemoteTool;
  /** That of the tool in the config. */
  readonly name: string;
  readonly arguments: JsonObject;
  /** No limit if absent or zero. The time of those who answer its questions does not count. */
  readonly timeoutMs?: number;
}

/** Of what a server wrote before it ended, a model is told only so much. */
const LINES_FOR_MODEL = 8;
/** Of a question that nobody is asked. */
const LONGEST_MESSAGE = 500;
/** Each is shown and recorded. A server that asks more often than that is ended. */
const MAX_STRAYS = 50;

/** One server: started when it is needed, and again when it has fallen. */
export class McpServer {
  readonly #settings: McpServerSettings;
  readonly #context: McpContext;
  readonly #closing = new AbortController();
  readonly #connections = new Set<Connection>();
  #opened: Promise<Connection> | undefined;
  /** Why the opened connection cannot be used any more. */
  #fallen: Failure | undefined;
  #restartsLeft: number;
  /** Since the last call began. */
  #strays = 0;

  constructor(settings: McpServerSettings, context: McpContext) {
    this.#settings = settings;
    this.#context = context;
    // What is not ours to start can be reached again any number of times.
    this.#restartsLeft = settings.type === "stdio" ? 1 : Number.POSITIVE_INFINITY;
  }

  get name(): string {
    return this.#settings.name;
  }

  get isOptional(): boolean {
    return this.#settings.isOptional;
  }

  /** Whether its forms may ask for secrets. */
  get allowsSecrets(): boolean {
    return this.#settings.allowsSecrets;
  }

  /** Whether it may have a model go on with words of its own. */
  get allowsSampling(): boolean {
    return this.#settings.allowsSampling;
  }

  /** Returns at once; whoever asks for its tools learns what came of it. */
  start(): void {
    void this.tools(this.#closing.signal).catch(() => undefined);
  }

  /** Starts it if need be. Throws `McpError`; on abort the signal's reason, and the start goes on. */
  async tools(signal: AbortSignal): Promise<readonly RemoteTool[]> {
    const connection = await abortable(this.#connected(), signal);
    return abortable(connection.tools(), signal);
  }

  /** Nothing is sent before its first step. */
  call({ tool, name, arguments: given, timeoutMs }: CallRequest): ServerCall {
    this.#strays = 0;
    return new ServerCall({
      failure: this.#notRun(tool),
      limitKey: `conversation.tools.${name}.timeout_secs`,
      clock: this.#context.clock ?? systemClock,
      ...(timeoutMs !== undefined && { timeoutMs }),
      send: (leg) => this.#send({ tool, arguments: given, ...leg }),
      onStray: (request) => this.#tellStray(request, name),
    });
  }

  /** Nothing of it is left then. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(serversClosed(this.name));
    await this.#opened?.catch(() => undefined);
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }

  /** Whatever goes wrong is an error for the model; throws only the signal's reason. */
  async #send(leg: LegRequest): Promise<LegEnd> {
    try {
      const connection = await abortable(this.#connected(), leg.signal);
      return await connection.call(leg);
    } catch (error) {
      leg.signal.throwIfAborted();
      return { type: "error", content: capped(this.#explain(leg.tool, error)) };
    }
  }

  async #connected(): Promise<Connection> {
    this.#closing.signal.throwIfAborted();
    if (this.#opened === undefined) return this.#open();
    if (this.#fallen === undefined) return this.#opened;
    if (this.#restartsLeft === 0) throw serverDown(this.name, this.#fallen);
    this.#restartsLeft -= 1;
    this.#fallen = undefined;
    return this.#open();
  }

  #open(): Promise<Connection> {
    const isAgain = this.#opened !== undefined;
    const opened = openConnection({
      settings: this.#settings,
      context: this.#context,
      signal: this.#closing.signal,
      onEnd: (failure) => {
        if (this.#opened === opened) this.#fallen = failure;
      },
      onClosed: (connection) => this.#connections.delete(connection),
      onStray: (request) => this.#tellStray(request),
    });
    this.#opened = opened;
    opened.then(
      (connection) => this.#connections.add(connection),
      (error: unknown) => {
        const mayRetry = isAgain && this.#settings.type === "http";
        if (mayRetry) this.#fallen = { reason: reasonOf(error), lastLines: [] };
      },
    );
    return opened;
  }

  #tellStray({ key, method, params }: InputRequest, tool?: string): void {
    this.#strays += 1;
    if (this.#strays > MAX_STRAYS) {
      for (const connection of this.#connections) connection.fail("it keeps asking out of turn");
      return;
    }
    const { message } = isJsonObject(params) ? params : {};
    this.#context.onStrayQuestion?.({
      server: this.name,
      request: { key, method, params },
      message: (typeof message === "string" ? message : method).slice(0, LONGEST_MESSAGE),
      ...(tool !== undefined && { tool }),
    });
  }

  #explain(tool: RemoteTool, error: unknown): string {
    if (error instanceof McpError) return error.message;
    if (error instanceof ConnectionLost) return this.#explainLoss(tool, error.failure);
    return `${this.#notRun(tool)}: ${reasonOf(error)}.`;
  }

  #notRun(tool: RemoteTool): string {
    return `The MCP server "${this.name}" did not run "${tool.name}"`;
  }

  #explainLoss(tool: RemoteTool, { reason, lastLines }: Failure): string {
    const isProgram = this.#settings.type === "stdio";
    const what = isProgram ? "ended" : "was lost";
    const again = isProgram ? "The next call starts it again." : "The next call connects again.";
    const message =
      `The MCP server "${this.name}" ${what} while it ran "${tool.name}": ${reason}. ` +
      (this.#restartsLeft === 0 ? "It stays down." : again);
    return withLastLines(message, lastLines.slice(-LINES_FOR_MODEL));
  }
}
