/** All servers of a config. They are started when they are needed, and ended together. */
import type { McpServerSettings } from "../config/index.ts";
import { isOverWithin } from "./is-over-within.ts";
import type { McpContext } from "./link.ts";
import type { RemoteTool } from "./list-tools.ts";
import { McpError, unknownServer } from "./mcp-error.ts";
import { McpServer } from "./mcp-server.ts";

/** An optional server that did not start is a warning: everything goes on without its tools. */
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
   * Waits until the server is ready and has listed its tools; starts it if nobody has. Throws
   * `mcp_unknown_server`, and what went wrong with the server unless it is optional. Abort ends the
   * waiting, not the start.
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

  /** Ends all that was started, in at most two seconds. Never rejects. */
  async close(): Promise<void> {
    const closed = [...this.#servers.values()].map((server) => server.close());
    await isOverWithin(Promise.all(closed), CLOSE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
