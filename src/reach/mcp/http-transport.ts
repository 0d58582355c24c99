/** MCP over streamable HTTP: the SDK's transport, with an error for each missing response. */
import type {
  AuthProvider,
  JSONRPCMessage,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../../settings/config/index.ts";
import { assertNotRedirected, settlesWithin, withinOrigin } from "../../util/index.ts";
import { parseUrl, serverHeaders, usesLogins } from "./http-settings.ts";
import { loginEnded, McpError, scopeMissing } from "./mcp-error.ts";
import type { ServerLink, ServerLogins } from "./port.ts";
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

/** Throws `McpError` for an invalid address or header. */
export function createHttpLink({ sdk, settings, context }: LinkOptions<"http">): ServerLink {
  let endReason: string | undefined;
  const fail = (reason: string) => {
    endReason ??= reason;
    void transport.close();
  };
  const headers = serverHeaders(settings, context.variables);
  const findLogins = usesLogins(settings) ? context.findLogins : undefined;
  const transport = new sdk.StreamableHTTPClientTransport(parseUrl(settings), {
    requestInit: { headers },
    ...(findLogins !== undefined && { authProvider: tokensOf(findLogins, settings) }),
    onInsufficientScope: "throw",
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

/** Why the server refuses requests for lack of a login or a permission. Undefined for other errors. */
export function toRefusal(
  error: unknown,
  {
    sdk,
    settings,
    context: { findLogins },
  }: Pick<LinkOptions<"http">, "sdk" | "context"> & {
    readonly settings: McpServerSettings;
  },
): McpError | undefined {
  const { name } = settings;
  if (error instanceof McpError) return error;
  if (findLogins === undefined || !usesLogins(settings)) return undefined;
  if (error instanceof sdk.InsufficientScopeError) return scopeMissing(name, error.requiredScope);
  const isRefusedAgain = error instanceof sdk.SdkHttpError && error.status === 401;
  return isRefusedAgain ? loginEnded(name) : undefined;
}

/** Gives the SDK the server's current token, and renews it once if it is refused. */
function tokensOf(
  findLogins: () => Promise<ServerLogins>,
  { name, url }: HttpSettings,
): AuthProvider {
  const server = { name, url };
  let given: string | undefined;
  return {
    token: async () => (given = await (await findLogins()).findToken(server)),
    onUnauthorized: async () => (await findLogins()).renew(server, given),
  };
}

/** Whether the connection of a request ended before its response. */
export function isStreamLost(error: ProtocolError): boolean {
  return error.data === STREAM_LOST;
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
