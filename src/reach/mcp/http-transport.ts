/** MCP over streamable HTTP: the SDK's transport, with an error for each missing response. */
import type {
  JSONRPCMessage,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { settlesWithin, withinOrigin } from "../../util/index.ts";
import { McpError } from "./mcp-error.ts";
import type { ServerLink, Variables } from "./port.ts";
import {
  CANCELLED,
  limitMessages,
  type LinkOptions,
  onMessage,
  type SettingsOf,
} from "./transport.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];
type HttpSettings = SettingsOf<"http">;

/** Marks the error for a missing response. No server can send this very object. */
const STREAM_LOST = { isLost: true } as const;

const TERMINATE_MS = 1000;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 5000;
/** How to resume a stream that broke off before its response, if the server supports it. */
const RETRIES = {
  initialReconnectionDelay: MIN_RETRY_MS,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: MAX_RETRY_MS,
  maxRetries: 2,
};

const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** Throws `McpError` for an invalid address or header. */
export function createHttpLink({ sdk, settings, context }: LinkOptions<"http">): ServerLink {
  let endReason: string | undefined;
  const fail = (reason: string) => {
    endReason ??= reason;
    void transport.close();
  };
  const transport = new sdk.StreamableHTTPClientTransport(parseUrl(settings), {
    requestInit: { headers: serverHeaders(settings, context.variables) },
    reconnectionOptions: RETRIES,
    reconnectionScheduler: (retry, delayMs) => {
      const timer = setTimeout(retry, retryDelay(delayMs)).unref(); // jp may exit meanwhile.
      return () => clearTimeout(timer);
    },
    fetch: async (url, init) => {
      const response = await withinOrigin(fetch)(url, init);
      await assertNotRedirected(url, response);
      return limitMessages(response, ({ message }) => fail(message));
    },
  });
  endStreams(transport);
  return {
    transport,
    get endReason() {
      return endReason;
    },
    lastLines: [],
    fail,
    close: async () => {
      await settlesWithin(transport.terminateSession(), TERMINATE_MS);
      await transport.close();
    },
  };
}

/** Whether the connection of a request ended before its response. */
export function isStreamLost(error: ProtocolError): boolean {
  return error.data === STREAM_LOST;
}

function parseUrl({ name, url }: HttpSettings): URL {
  const address = URL.parse(url);
  const isUsable = address?.protocol === "http:" || address?.protocol === "https:";
  if (address !== null && isUsable && address.username === "" && address.password === "") {
    return address;
  }
  throw new McpError("mcp_invalid_address", `providers.mcp.${name}.url is not a valid URL.`, {
    hint: "It must start with https:// or http:// and have no user name or password; use headers.",
  });
}

/**
 * Throws for a redirect that was not followed, with a sentence without its full stop. Quotes only the origin of the
 * address.
 */
async function assertNotRedirected(from: string | URL, response: Response): Promise<void> {
  const { status } = response;
  const location = response.headers.get("location");
  if (status < 300 || status > 399 || location === null) return;
  await response.body?.cancel();
  const { origin } = new URL(from);
  const target = URL.parse(location, from)?.origin;
  throw new Error(
    target === undefined || target === origin
      ? `it redirects with HTTP ${status}, which jp does not follow`
      : `it redirects to ${target}, and jp sends headers and messages only to the configured origin`,
  );
}

/** Expands `$NAME` and `${NAME}` from the environment. Errors never contain the value of a variable. */
export function serverHeaders(settings: HttpSettings, variables: Variables): Headers {
  const headers = new Headers();
  for (const [header, template] of Object.entries(settings.headers)) {
    const key = `providers.mcp.${settings.name}.headers.${header}`;
    const value = template.replaceAll(VARIABLE, (_, braced?: string, bare?: string) =>
      getVariable(braced ?? bare ?? "", variables, key),
    );
    try {
      headers.set(header, value);
    } catch {
      // No cause: it would quote the value.
      throw new McpError("mcp_invalid_header", `${key} is not a valid HTTP header.`, {
        hint: "A header needs a name without spaces and a value on one line.",
      });
    }
  }
  return headers;
}

function getVariable(name: string, variables: Variables, key: string): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value !== undefined) return value;
  throw new McpError("mcp_variable_unset", `${key} needs the variable ${name}, which is not set.`, {
    hint: `Set ${name}, or remove it from the header.`,
  });
}

/** Limits the delay, which the server may choose freely. */
export function retryDelay(requestedMs: number): number {
  return Math.max(MIN_RETRY_MS, Math.min(requestedMs, MAX_RETRY_MS));
}

/**
 * Ends streams that the SDK leaves open. If the stream of a request ends without a response, the SDK keeps waiting; here
 * the request gets an error. If a request is cancelled, the SDK keeps reading its stream, and reopens it, until the
 * connection is closed; here the stream is aborted. The SDK ignores a second response to the same request.
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
      const reason = "the connection ended before the response";
      const error = { code: -32_000, message: reason, data: STREAM_LOST };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, requestSignal, onRequestStreamEnd });
  };
}
