/**
 * What a server wants from us and has not got yet. Each request costs memory until its reply was taken, so
 * that one which asks and asks, and reads nothing, must not go on for ever.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { MAX_MESSAGE_BYTES } from "./message-limit.ts";

export const CANCELLED = "notifications/cancelled";

const MAX_REQUESTS = 256;

interface OpenRequest {
  readonly size: number;
  isReplying: boolean;
}

/** Counts until the transport is closed. `onExcess` gets a sentence without its end, once or more. */
export function limitOpenRequests(transport: Transport, onExcess: (reason: string) => void): void {
  const open = new Map<unknown, OpenRequest>();
  const send = transport.send.bind(transport);
  let size = 0;
  const add = (id: unknown, request: OpenRequest) => {
    if (open.has(id)) return onExcess("it used the id of an open request again");
    open.set(id, request);
    size += request.size;
    const isTooMuch = open.size > MAX_REQUESTS || size > MAX_MESSAGE_BYTES;
    return isTooMuch ? onExcess("it sent requests without waiting for the replies") : undefined;
  };
  const remove = (id: unknown) => {
    size -= open.get(id)?.size ?? 0;
    open.delete(id);
  };
  onMessage(transport, (message) => {
    if (!("method" in message)) return;
    if ("id" in message) add(message.id, { size: sizeOf(message), isReplying: false });
    const withdrawn = message.method === CANCELLED ? message.params?.["requestId"] : undefined;
    // A reply that is on its way takes its room whether it is wanted or not.
    if (open.get(withdrawn)?.isReplying === false) remove(withdrawn);
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

/** Called for each message before the SDK is: it keeps what was there before it was connected. */
export function onMessage(transport: Transport, listener: (message: JSONRPCMessage) => void): void {
  const { onmessage: earlier } = transport;
  const onmessage: Transport["onmessage"] = (message, extra) => {
    earlier?.(message, extra);
    listener(message);
  };
  Object.assign(transport, { onmessage });
}

function sizeOf({ params }: Extract<JSONRPCMessage, { method: string }>): number {
  return JSON.stringify(params ?? null).length;
}
