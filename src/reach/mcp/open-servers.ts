/** Servers for programs that embed jp, in a set that turns can share. */
import { loadModule } from "../../util/index.ts";
import type { McpServers } from "./mcp-servers.ts";
import type { ResourceContent } from "./port.ts";
import type { McpServerConfigs, McpServersOptions, SharedMcpServers } from "./server-configs.ts";

/**
 * Creates a set of servers that turns can share. Each starts when a turn first needs it, and runs until `close`, or the
 * end of an `await using`. If the config is invalid, the first use throws `config_invalid`.
 */
export function openMcpServers(
  configs: McpServerConfigs,
  options: McpServersOptions = {},
): SharedMcpServers {
  return new LaterServers(configs, options);
}

/** Servers whose code is loaded when one of them is needed. */
export class LaterServers implements SharedMcpServers {
  readonly names: readonly string[];
  readonly #create: () => Promise<McpServers>;
  #created: Promise<McpServers> | undefined;

  constructor(configs: McpServerConfigs, options: McpServersOptions) {
    this.names = Object.keys(configs);
    this.#create = async () => {
      const { createServers } = await loadModule(() => import("./create-servers.ts"));
      return createServers(configs, options);
    };
  }

  /** Loads and creates the servers for a turn. Throws `config_invalid`, `module_not_loaded`. */
  async open(): Promise<McpServers> {
    const created = (this.#created ??= this.#create());
    try {
      return await created;
    } catch (error) {
      this.#created = undefined;
      throw error;
    }
  }

  async readResource(
    server: string,
    uri: string,
    signal: AbortSignal,
  ): Promise<readonly ResourceContent[]> {
    return (await this.open()).readResource(server, uri, signal);
  }

  async close(): Promise<void> {
    const servers = await this.#created?.catch(() => undefined);
    await servers?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
