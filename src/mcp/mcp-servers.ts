/** All servers of a config. Each starts when it is needed; all are closed together. */
import type { McpServerSettings } from "../config/index.ts";
import { settlesWithin } from "../util/index.ts";
import type { RemoteTool } from "./port.ts";
import { McpError, unknownServer } from "./mcp-error.ts";
import { type McpContext, McpServer } from "./mcp-server.ts";

/** For an optional server that did not start: jp continues without its tools. */
export type ReachedServer =
  | {
      readonly type: "ready";
      readonly server: McpServer;
      readonly tools: readonly RemoteTool[];
    }
  | { readonly type: "absent"; readonly warning: McpError };

const CLOSE_MS = 1900;

/** All servers of a config, by name. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>;

  constructor(settings: ReadonlyMap<string, McpServerSettings>, context: McpContext) {
    this.#servers = new Map(
      [...settings].map(([name, server]) => [name, new McpServer(server, context)]),
    );
  }

  /** Returns at once: they start in the background, all at the same time. */
  start(names: Iterable<string>): void {
    for (const name of names) this.#servers.get(name)?.start();
  }

  /**
   * Waits until the server is ready and has listed its tools; starts it if necessary. Throws
   * `mcp_unknown_server`, and other errors unless the server is optional. Abort ends the waiting, not
   * the start.
   */
  async get(name: string, signal: AbortSignal): Promise<ReachedServer> {
    const server = this.#servers.get(name);
    if (server === undefined) throw unknownServer(name, [...this.#servers.keys()]);
    try {
      return { type: "ready", server, tools: await server.tools(signal) };
    } catch (error) {
      const isWarning = server.isOptional && error instanceof McpError;
      if (!isWarning) throw error;
      return { type: "absent", warning: error };
    }
  }

  /** Ends everything that was started, within two seconds. Never rejects. */
  async close(): Promise<void> {
    const closed = [...this.#servers.values()].map((server) => server.close());
    await settlesWithin(Promise.all(closed), CLOSE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
