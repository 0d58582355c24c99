/** The part of a server that other folders and programs see. It does not depend on the types of the MCP SDK. */
import type { McpServerSettings } from "../../settings/config/index.ts";
import type { ContentBlock } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";

/** A tool as its server describes it. */
export interface RemoteTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** The server's hints, unchanged. */
  readonly annotations?: JsonObject;
  /** The server says that it only reads, or that repeating a call has no further effect. */
  readonly isIdempotent?: boolean;
  /** The server says that it only reads. */
  readonly isReadOnly?: boolean;
  /** The server says that it may be destructive. */
  readonly isDestructive?: boolean;
  /** The server runs it only as a task, in the protocol of 2025. */
  readonly isTask?: boolean;
}

/** The command that starts a server, or its address, as configured. Contains no values of variables or headers. */
export type ServerAddress =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly arguments: readonly string[];
    }
  | { readonly type: "http"; readonly url: string };

/** Identifies a call. */
export interface CallIds {
  /** The name of the tool in the config. */
  readonly name: string;
  /** Identifies the caller, if several share the server: the same object for all calls of a turn. */
  readonly caller?: object;
  /** The id that the model gave the call. */
  readonly toolCallId?: string;
}

/** A server that asks, and what its settings allow. */
export interface AskingServer {
  /** Its name in the config. */
  readonly name: string;
  readonly address: ServerAddress;
  readonly allowsSecrets: boolean;
  readonly allowsSampling: boolean;
}

/** The result of a call. */
export interface CallResult {
  readonly type: "success" | "error";
  /** The text for a model. */
  readonly content: string;
  /** Set if there is more than text. */
  readonly blocks?: readonly ContentBlock[];
}

/** A part of a resource: text, or bytes in base64. */
export type ResourceContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "bytes"; readonly data: string };

/** The environment of this process. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The user's logins, as far as connections need them. */
export interface ServerLogins {
  /** The access token for a server, renewed if it ends soon. Undefined without a login. Throws `McpError`. */
  findToken(server: HttpServer): Promise<string | undefined>;
  /** Renews the token that the server has refused. Throws `mcp_login_required`, `mcp_login_failed`. */
  renew(server: HttpServer, refused: string | undefined): Promise<void>;
}

/** A server to log in to: its name in the config, and its address. */
export interface HttpServer {
  readonly name: string;
  readonly url: string;
}

/** A transport of the MCP SDK. jp sets its `onmessage`, `onclose` and `onerror`. */
export interface ServerTransport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
}

/** A transport, and how it ended. */
export interface ServerLink {
  readonly transport: ServerTransport;
  /** How the server ended it, such as "it exited with status 1". Undefined if it did not. */
  readonly endReason: string | undefined;
  /** The last lines that the server's program wrote. */
  readonly lastLines: readonly string[];
  /** Closes it because of the server's behavior; the reason is a sentence without its full stop. */
  fail(reason: string): void;
  /** Never rejects; takes little more than a second. */
  close(): Promise<void>;
}

/** Shared by all connections. */
export interface ConnectionContext {
  readonly variables: Variables;
  readonly cwd: string;
  /** Our name and version, for the servers. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Loads the user's logins. Absent if there can be none. Throws `module_not_loaded`. */
  readonly findLogins?: () => Promise<ServerLogins>;
  /** Overrides how to reach a server. */
  readonly createLink?: (settings: McpServerSettings) => ServerLink;
}
