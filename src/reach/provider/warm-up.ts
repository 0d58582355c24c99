/**
 * Warms up the code that reads a reply. Its first run takes 15 ms: better while the model thinks than after its first
 * token has arrived.
 */
import type { IncomingMessage } from "node:http";
import { timestampFromDate } from "../../record/conversation/index.ts";
import type { Clock } from "../../util/index.ts";
import type { Fetch } from "./definition.ts";
import { toResponse } from "./http-fetch.ts";
import type { Model, ModelRequest } from "./port.ts";
import { type StreamLimits, watchStream } from "./watch-stream.ts";

const NO_LIMITS: StreamLimits = { idleTimeoutMs: 0, promptTimeoutMs: 0, maxResponseBytes: 0 };

/** Reads a whole reply and ignores it. Throws the model's error. */
export async function drainReply(model: Model, clock: Clock): Promise<void> {
  const reply = watchStream({ model, request: request(), limits: NO_LIMITS, clock });
  while ((await reply.next()).done !== true);
}

/** A `fetch` that makes no request and always returns this reply. */
export function cannedFetch(text: string): Fetch {
  const { Readable } = process.getBuiltinModule("node:stream"); // Loaded with `node:http`.
  return async () => {
    const body = new Readable({ read: () => {} });
    body.push(Buffer.from(text));
    body.push(null);
    const rawHeaders = ["content-type", "text/event-stream"];
    const head = { statusCode: 200, statusMessage: "", headers: {}, rawHeaders };
    return toResponse(Object.assign(body, head) as unknown as IncomingMessage);
  };
}

function request(): ModelRequest {
  const timestamp = timestampFromDate(new Date(0));
  return {
    parts: { systemParts: [], events: [{ type: "chat_request", timestamp, content: "x" }] },
    tools: [],
    toolChoice: "none",
    parameters: { other: {} },
    cache: "off",
    signal: new AbortController().signal,
  };
}
