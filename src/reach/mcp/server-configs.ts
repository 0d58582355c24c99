/** The config of MCP servers for programs that embed jp. */
import type { McpContext } from "./mcp-server.ts";
import type { ConnectionContext, ResourceContent, Variables } from "./port.ts";

/** An MCP server: a program to start, or an address. Like `providers.mcp.<name>` in a config file. */
export type McpServerConfig = {
  /** Prefixes the names of its tools, such as `github_`, so that they differ from other tools' names. */
  readonly prefix?: string;
  /** Continue without it if it is unavailable. */
  readonly optional?: boolean;
  /** Let its forms ask for passwords and other secrets, which are then never recorded. */
  readonly allow_secrets?: boolean;
  /** Let it send its own prompts to the inquiry model. */
  readonly allow_sampling?: boolean;
  /** Default: 60. 0 for no limit. */
  readonly startup_timeout_secs?: number;
} & (
  | {
      readonly type?: "stdio";
      /** The program to start. */
      readonly command: string;
      readonly arguments?: readonly string[];
      /** Names of environment variables to pass on, besides `PATH`, `HOME` and the like. */
      readonly variables?: readonly string[];
      readonly checksum?: { readonly algorithm: "sha1" | "sha256"; readonly value: string };
    }
  | {
      readonly type?: "http";
      readonly url: string;
      /** `$NAME` is replaced with that environment variable. */
      readonly headers?: Readonly<Record<string, string>>;
    }
);

/** MCP servers by name. */
export type McpServerConfigs = Readonly<Record<string, McpServerConfig>>;

/** Shared by all servers of a set. */
export interface McpServersOptions extends Pick<McpContext, "clock" | "onUnscopedQuestion"> {
  /**
   * Your process's environment; empty if absent. A program gets its `PATH`, `HOME`, `USER`, `LANG`, `LC_…`, `TERM`,
   * `TMPDIR` and `SHELL`, and the variables that its config names.
   */
  readonly variables?: Variables;
  /** The working folder of programs. Default: this process's. */
  readonly cwd?: string;
  /** The name and version of your program, for the servers. */
  readonly clientInfo?: ConnectionContext["clientInfo"];
}

/** Servers that any number of turns can share; see `openMcpServers`. */
export interface SharedMcpServers extends AsyncDisposable {
  readonly names: readonly string[];
  /**
   * Reads a resource of a server; starts the server if necessary. Throws `McpError`; on abort throws the signal's reason.
   */
  readResource(
    server: string,
    uri: string,
    signal: AbortSignal,
  ): Promise<readonly ResourceContent[]>;
  /** Stops everything that was started, within two seconds. Never rejects. */
  close(): Promise<void>;
}
