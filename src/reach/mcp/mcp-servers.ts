/** A set of servers. Each starts on demand; all are closed together. */
import type { McpServerSettings } from "../../settings/config/index.ts";
import { isDeepEqual, isNotLoaded, settlesWithin } from "../../util/index.ts";
import type { RemoteTool, ResourceContent, ServerAddress } from "./port.ts";
import { McpError, unknownServer } from "./mcp-error.ts";
import {
  type McpContext,
  McpServer,
  type ServerContext,
  type SharedQuestion,
  type UnscopedQuestion,
} from "./mcp-server.ts";
import { addOwnServers } from "./own-servers.ts";

/** `absent`: the server is not required and did not start; jp continues without its tools. */
export type ReachedServer =
  | {
      readonly type: "ready";
      readonly server: McpServer;
      readonly tools: readonly RemoteTool[];
    }
  | { readonly type: "absent"; readonly warning: McpError };

const CLOSE_MS = 1900;

type QuestionListener = (question: UnscopedQuestion) => void;

/** A set of servers, by name. Any number of turns can share it. Create one with `openMcpServers`. */
export class McpServers implements AsyncDisposable {
  readonly #context: ServerContext;
  #settings: ReadonlyMap<string, McpServerSettings> = new Map();
  #servers: ReadonlyMap<string, McpServer> = new Map();
  /** Listeners and their callers. */
  readonly #listeners = new Map<QuestionListener, object>();
  /** Responders to shared questions, by their callers. */
  readonly #responders = new Map<object, (question: SharedQuestion) => void>();

  constructor(settings: ReadonlyMap<string, McpServerSettings>, context: McpContext) {
    addOwnServers(this);
    const onUnscopedQuestion = (question: UnscopedQuestion) => {
      context.onUnscopedQuestion?.(question);
      for (const listener of this.#listenersTo(question)) listener(question);
    };
    const onSharedQuestion = (question: SharedQuestion) => {
      const respond = this.#responderTo(question);
      respond?.(question);
      return respond !== undefined;
    };
    this.#context = { ...context, onUnscopedQuestion, onSharedQuestion };
    void this.configure(settings); // There are no servers to close yet.
  }

  /**
   * Prepares the next turn: closes servers that were removed or have new settings. The others keep running. Never
   * rejects.
   */
  async configure(settings: ReadonlyMap<string, McpServerSettings>): Promise<void> {
    const [before, running] = [this.#settings, this.#servers];
    const servers = [...settings].map(([name, server]) => {
      const same = isDeepEqual(before.get(name), server) ? running.get(name) : undefined;
      return [name, same ?? new McpServer(server, this.#context)] as const;
    });
    this.#settings = settings;
    this.#servers = new Map(servers);
    await closeAll(
      [...running].flatMap(([name, server]) =>
        this.#servers.get(name) === server ? [] : [server],
      ),
    );
  }

  /** The names of the servers. */
  get names(): readonly string[] {
    return [...this.#servers.keys()];
  }

  /** Starts nothing. Undefined if no server has the name. */
  findAddress(name: string): ServerAddress | undefined {
    return this.#servers.get(name)?.address;
  }

  /** Whether a turn continues without the server if it is unavailable. */
  isOptional(name: string): boolean {
    return this.#servers.get(name)?.isOptional ?? false;
  }

  /** Returns at once: they start concurrently in the background. */
  start(names: Iterable<string> = this.names): void {
    for (const name of names) this.#servers.get(name)?.start();
  }

  /** Lets failed servers start again, as in each turn that shares them. */
  allowRestart(): void {
    for (const server of this.#servers.values()) server.allowRestart();
  }

  /**
   * Waits until the server is ready and has listed its tools; starts it if necessary. Throws `mcp_unknown_server`,
   * `module_not_loaded`, and other errors if the server is required: by default, unless it is optional. Abort ends the
   * wait, not the start.
   */
  async get(
    name: string,
    signal: AbortSignal,
    isRequired = !this.isOptional(name),
  ): Promise<ReachedServer> {
    const server = this.#servers.get(name);
    if (server === undefined) throw unknownServer(name, this.names);
    try {
      return { type: "ready", server, tools: await server.tools(signal) };
    } catch (error) {
      const isWarning = !isRequired && error instanceof McpError && !isNotLoaded(error);
      if (!isWarning) throw error;
      return { type: "absent", warning: error };
    }
  }

  /** Reads a resource; starts the server if necessary. Throws `McpError`; on abort throws the signal's reason. */
  async readResource(
    name: string,
    uri: string,
    signal: AbortSignal,
  ): Promise<readonly ResourceContent[]> {
    // A URL's scheme, which includes the name, is in lower case.
    const found = this.names.find((known) => known.toLowerCase() === name.toLowerCase());
    const server = found === undefined ? undefined : this.#servers.get(found);
    if (server === undefined) throw unknownServer(name, this.names);
    return server.readResource(uri, signal);
  }

  /**
   * Calls the listener for refused questions that may go on the caller's record: those of its own calls, and those of
   * unknown origin while it is the only listener. Returns a function that removes the listener.
   */
  onUnscopedQuestion(caller: object, listener: (question: UnscopedQuestion) => void): () => void {
    this.#listeners.set(listener, caller);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Lets the responder answer questions that any of several calls of this caller may have asked. Returns a function that
   * removes it.
   */
  onSharedQuestion(caller: object, responder: (question: SharedQuestion) => void): () => void {
    this.#responders.set(caller, responder);
    return () => this.#responders.delete(caller);
  }

  /** Stops everything that was started, within two seconds. Never rejects. */
  async close(): Promise<void> {
    await closeAll([...this.#servers.values()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A question that could belong to another caller must not be asked. */
  #responderTo({ calls: [first, ...others] }: SharedQuestion) {
    const { caller } = first ?? {};
    const isOneCaller = others.every((other) => other.caller === caller);
    return caller === undefined || !isOneCaller ? undefined : this.#responders.get(caller);
  }

  /** A question that could belong to another caller must not be recorded. */
  #listenersTo({ tool, caller }: UnscopedQuestion): readonly QuestionListener[] {
    const listeners = [...this.#listeners];
    if (caller === undefined && tool === undefined)
      return listeners.length === 1 ? listeners.map(([listener]) => listener) : [];
    return listeners.flatMap(([listener, its]) => (its === caller ? [listener] : []));
  }
}

async function closeAll(servers: readonly McpServer[]): Promise<void> {
  const closed = servers.map((server) => server.close());
  await settlesWithin(Promise.all(closed), CLOSE_MS);
}
