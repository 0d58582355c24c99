/**
 * Warms up the code that reads a reply. Its first run takes 15 ms: better while the model thinks than after
 * its first token has arrived.
 */
import { timestampFromDate } from "../conversation/index.ts";
import type { Fetch } from "./definition.ts";
import { createResponse } from "./http-fetch.ts";
import { HttpHeaders } from "./http-headers.ts";
import type { ModelEvent, ModelRequest } from "./port.ts";

/** Reads a reply and ignores it, even if it fails: an empty one usually does. */
export async function drainReply(
  stream: (request: ModelRequest) => AsyncIterable<ModelEvent>,
): Promise<void> {
  try {
    const reply = stream(request())[Symbol.asyncIterator]();
    while ((await reply.next()).done !== true);
  } catch {
    // No provider sends this.
  }
}

/** A `fetch` that makes no request and always gets this reply. */
export function cannedFetch(text: string): Fetch {
  return async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
    return createResponse({ status: 200, statusText: "", headers: new HttpHeaders() }, body);
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
