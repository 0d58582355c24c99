/** Shared by both transports: the SDK, and limits on what a server may send. */
import type * as client from "@modelcontextprotocol/client";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../../settings/config/index.ts";
import { lineEnds, loadModule } from "../../util/index.ts";
import type { ConnectionContext } from "./port.ts";

export type Sdk = typeof client;

/** The official client, loaded with the first server: it takes a tenth of a second. Throws `module_not_loaded`. */
export function loadSdk(): Promise<Sdk> {
  return loadModule(() => import("@modelcontextprotocol/client"));
}

export type SettingsOf<Type extends McpServerSettings["type"]> = Extract<
  McpServerSettings,
  { type: Type }
>;

export interface LinkOptions<Type extends McpServerSettings["type"]> {
  readonly sdk: Sdk;
  readonly settings: SettingsOf<Type>;
  readonly context: Pick<ConnectionContext, "cwd" | "variables" | "findLogins">;
  readonly signal: AbortSignal;
}

export const CANCELLED = "notifications/cancelled";

/** The limit per message. Enough for a result with a few large images. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_OPEN_REQUESTS = 256;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export function messageTooLong(): RangeError {
  return new RangeError(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`);
}

interface OpenRequest {
  readonly size: number;
  isReplying: boolean;
}

/**
 * Limits a server's requests without a reply: each takes memory until the server has read the reply. `onExcess` gets a
 * sentence without its full stop, and may be called again.
 */
export function limitOpenRequests(transport: Transport, onExcess: (reason: string) => void): void {
  const open = new Map<unknown, OpenRequest>();
  const send = transport.send.bind(transport);
  let size = 0;
  const add = (id: unknown, request: OpenRequest) => {
    if (open.has(id)) return onExcess("it used the id of an open request again");
    open.set(id, request);
    size += request.size;
    const isTooMuch = open.size > MAX_OPEN_REQUESTS || size > MAX_MESSAGE_BYTES;
    return isTooMuch ? onExcess("it sent requests without waiting for the replies") : undefined;
  };
  const remove = (id: unknown) => {
    size -= open.get(id)?.size ?? 0;
    open.delete(id);
  };
  onMessage(transport, (message) => {
    if (!("method" in message)) return;
    if ("id" in message) {
      const bytes = JSON.stringify(message.params ?? null).length;
      add(message.id, { size: bytes, isReplying: false });
    }
    const cancelled = message.method === CANCELLED ? message.params?.["requestId"] : undefined;
    // A reply being sent takes memory even if it is no longer wanted.
    if (open.get(cancelled)?.isReplying === false) remove(cancelled);
  });
  transport.send = async (message, options) => {
    const id = "method" in message ? undefined : message.id;
    const request = open.get(id);
    if (request !== undefined) request.isReplying = true;
    try {
      await send(message, options);
    } finally {
      if (request !== undefined) remove(id);
    }
  };
}

/** Calls the listener for each message before the SDK, which keeps an existing listener when it connects. */
export function onMessage(transport: Transport, listener: (message: JSONRPCMessage) => void): void {
  const { onmessage: earlier } = transport;
  const onmessage: Transport["onmessage"] = (message, extra) => {
    earlier?.(message, extra);
    listener(message);
  };
  Object.assign(transport, { onmessage });
}

/**
 * Passes on the body of an HTTP response until a message in it is too long. In an event stream, each event is a message;
 * otherwise the whole body is.
 */
export function limitMessages(
  { body, status, statusText, headers }: Response,
  onTooLong: (error: RangeError) => void,
): Response {
  const [mediaType = ""] = headers.get("content-type")?.split(";", 1) ?? [];
  const isEventStream = mediaType.trim().toLowerCase() === "text/event-stream";
  const count = isEventStream ? countEvents() : countBytes();
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      if (count(piece) <= MAX_MESSAGE_BYTES) return controller.enqueue(piece);
      const error = messageTooLong();
      controller.error(error);
      return onTooLong(error);
    },
  });
  return new Response(body?.pipeThrough(limit) ?? null, { status, statusText, headers });
}

/** The current length of the longest message in a piece. */
type Count = (piece: Uint8Array) => number;

function countBytes(): Count {
  let bytes = 0;
  return (piece) => (bytes += piece.length);
}

/** An empty line ends an event; lines end with CR, LF, or both. */
function countEvents(): Count {
  let bytes = 0;
  let lineBytes = 0;
  let isAfterReturn = false;
  return (piece) => {
    let longest = 0;
    let start = 0;
    for (const end of lineEnds(piece)) {
      lineBytes += end - start;
      bytes += end - start + 1;
      start = end + 1;
      const isSecondHalf = isAfterReturn && lineBytes === 0 && piece[end] === LINE_FEED;
      isAfterReturn = piece[end] === CARRIAGE_RETURN;
      longest = Math.max(longest, bytes);
      if (lineBytes === 0 && !isSecondHalf) bytes = 0;
      lineBytes = 0;
    }
    lineBytes += piece.length - start;
    bytes += piece.length - start;
    return Math.max(longest, bytes);
  };
}
