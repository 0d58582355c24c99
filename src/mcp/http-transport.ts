/** MCP over streamable HTTP: the SDK's transport, where an answer that never comes is an answer. */
import type {
  JSONRPCMessage,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../config/index.ts";
import { isOverWithin } from "./is-over-within.ts";
import { serverHeaders } from "./header-variables.ts";
import type { Link } from "./link.ts";
import { McpError } from "./mcp-error.ts";
import { limitMessages } from "./message-limit.ts";
import { CANCELLED, onMessage } from "./open-requests.ts";
import type { Sdk } from "./sdk.ts";
import type { Variables } from "./server-environment.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];
type HttpSettings = Extract<McpServerSettings, { type: "http" }>;

/** Goes with the error that stands for an answer; no server can send this very object. */
const STREAM_LOST = { isLost: true } as const;

const GOODBYE_MS = 1000;
const SHORTEST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 5000;
/** How a stream that was cut before its answer is taken up again, by servers that can. */
const RETRIES = {
  initialReconnectionDelay: SHORTEST_RETRY_MS,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: LONGEST_RETRY_MS,
  maxRetries: 2,
};

/** Throws `McpError` for an address or a header that cannot work. */
export function createHttpLink(sdk: Sdk, settings: HttpSettings, variables: Variables): Link {
  let ending: string | undefined;
  const fail = (reason: string) => {
    ending ??= reason;
    void transport.close();
  };
  const transport = new sdk.StreamableHTTPClientTransport(addressOf(settings), {
    requestInit: { headers: serverHeaders(settings, variables) },
    reconnectionOptions: RETRIES,
    reconnectionScheduler: retryLater,
    fetch: async (url, init) =>
      limitMessages(await fetch(url, init), ({ message }) => fail(message)),
  });
  endStreams(transport);
  return {
    transport,
    get ending() {
      return ending;
    },
    lastLines: [],
    fail,
    // Says goodbye if there is a session.
    close: async () => {
      await isOverWithin(transport.terminateSession(), GOODBYE_MS);
      await transport.close();
    },
  };
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

/** A timer must not keep the program from ending. */
function retryLater(retry: () => void, delayMs: number): () => void {
  const timer = setTimeout(retry, retryDelay(delayMs)).unref();
  return () => clearTimeout(timer);
}

/** A server may ask for any delay, none included. */
export function retryDelay(wantedMs: number): number {
  return Math.max(SHORTEST_RETRY_MS, Math.min(wantedMs, LONGEST_RETRY_MS));
}

/**
 * Ends what the SDK leaves open. A request is not told that the stream of its answer has ended without
 * one: it would wait for ever. And the stream of a request that was cancelled would be read, and opened
 * anew, until the connection is closed. An answer to a request that has got one already is ignored.
 */
function endStreams(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  const open = new Map<unknown, AbortController>();
  onMessage(transport, (message) => {
    if (!("method" in message)) open.delete(message.id);
  });
  transport.send = (message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions) => {
    if (Array.isArray(message) || !("method" in message)) return send(message, options);
    if (message.method === CANCELLED) open.get(message.params?.["requestId"])?.abort();
    const isRequest = "id" in message;
    if (!isRequest || options?.onRequestStreamEnd !== undefined) return send(message, options);
    const { id } = message;
    const stream = new AbortController();
    open.set(id, stream);
    const requestSignal = options?.requestSignal ?? stream.signal;
    const onRequestStreamEnd = () => {
      const reason = "the connection ended before the answer";
      const error = { code: -32_000, message: reason, data: STREAM_LOST };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, requestSignal, onRequestStreamEnd });
  };
}
