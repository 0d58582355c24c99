/** The part of a server that other folders and programs see. Nothing here needs the types of the MCP SDK. */
import type { McpServerSettings } from "../../settings/config/index.ts";
import type { ContentBlock } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";

/** A tool as its server describes it. The text is not ours. */
export interface RemoteTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** The server's hints about it, as it gives them. */
  readonly annotations?: JsonObject;
  /** The server says that it only reads, or that calling it twice does no more than calling it once. */
  readonly isIdempotent?: boolean;
  /** The server says that it may destroy. */
  readonly isDestructive?: boolean;
}

/** The command that starts a server, or its address, as the config has it. Without values of variables and headers. */
export type ServerAddress =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly arguments: readonly string[];
    }
  | { readonly type: "http"; readonly url: string };

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

/** A transport of the MCP SDK. jp sets its `onmessage`, `onclose` and `onerror`. */
export interface ServerTransport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
}

/** A transport, and what there is to know about its end. */
export interface ServerLink {
  readonly transport: ServerTransport;
  /** How the server ended it, as in "it exited with status 1". Undefined if it did not. */
  readonly endReason: string | undefined;
  /** The last lines that the server's program wrote. */
  readonly lastLines: readonly string[];
  /** Closes it because of something the server did; the reason is a sentence without its end. */
  fail(reason: string): void;
  /** Never rejects; takes little more than a second. */
  close(): Promise<void>;
}

/** Shared by all connections. */
export interface ConnectionContext {
  readonly variables: Variables;
  readonly cwd: string;
  /** Our own name and version, for the servers. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** How to reach a server; by the type of its settings if absent. */
  readonly createLink?: (settings: McpServerSettings) => ServerLink;
}
