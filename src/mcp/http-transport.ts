/** MCP over streamable HTTP: the SDK's transport, where an answer that never comes is an answer. */
import type {
  JSONRPCMessage,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../config/index.ts";
import { isOverWithin } from "./is-over-within.ts";
import { serverHeaders } from "./header-variables.ts";
import { McpError } from "./mcp-error.ts";
import type { Sdk } from "./sdk.ts";
import type { Variables } from "./server-environment.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];
type HttpSettings = Extract<McpServerSettings, { type: "http" }>;

export interface HttpTransport {
  readonly transport: StreamableHTTPClientTransport;
  /** Says goodbye if there is a session. Never rejects. */
  readonly close: () => Promise<void>;
}

/** Goes with the error that stands for an answer; no server can send this very object. */
const STREAM_LOST = { isLost: true } as const;

const GOODBYE_MS = 1000;
const LONGEST_RETRY_MS = 5000;
/** How a stream that was cut before its answer is taken up again, by servers that can. */
const RETRIES = {
  initialReconnectionDelay: 500,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: LONGEST_RETRY_MS,
  maxRetries: 2,
};

/** Throws `McpError` for an address or a header that cannot work. */
export function createHttpTransport(
  sdk: Sdk,
  settings: HttpSettings,
  variables: Variables,
): HttpTransport {
  const headers = serverHeaders(settings, variables);
  const transport = new sdk.StreamableHTTPClientTransport(addressOf(settings), {
    requestInit: { headers },
    reconnectionOptions: RETRIES,
    reconnectionScheduler: retryLater,
  });
  answerForLostStreams(transport);
  const close = async () => {
    await isOverWithin(transport.terminateSession(), GOODBYE_MS);
    await transport.close();
  };
  return { transport, close };
}

/** True for the error of a request whose connection ended before its answer. */
export function isStreamLost(error: ProtocolError): boolean {
  return error.data === STREAM_LOST;
}

function addressOf({ name, url }: HttpSettings): URL {
  const address = URL.parse(url);
  const isUsable = address?.protocol === "http:" || address?.protocol === "https:";
  if (address !== null && isUsable && address.username === "" && address.password === "") {
    return address;
  }
  throw new McpError("mcp_invalid_address", `providers.mcp.${name}.url is no usable address.`, {
    hint: "It starts with https:// or http://, and has no user name or password; use headers.",
  });
}

/** A server may ask for any delay, and a waiting timer must not keep the program from ending. */
function retryLater(retry: () => void, delayMs: number): () => void {
  const timer = setTimeout(retry, Math.min(delayMs, LONGEST_RETRY_MS)).unref();
  return () => clearTimeout(timer);
}

/**
 * The SDK does not tell a request that the stream of its answer has ended without one: it would wait
 * for ever. An answer to a request that has got one already is ignored.
 */
function answerForLostStreams(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions) => {
    const isRequest = !Array.isArray(message) && "method" in message && "id" in message;
    if (!isRequest || options?.onRequestStreamEnd !== undefined) return send(message, options);
    const { id } = message;
    const onRequestStreamEnd = () => {
      const reason = "the connection ended before the answer";
      const error = { code: -32_000, message: reason, data: STREAM_LOST };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}
