/** Between a request of `node:http` and those of the web, in which the SDK thinks. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

/** The signal of the request is aborted when its line is cut before the response was sent. */
export function toWebRequest(request: IncomingMessage, response: ServerResponse): Request {
  const cut = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) cut.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const { method = "GET" } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  // What was asked for by whom is decided before: nothing depends on the address any more.
  return new Request("http://localhost/mcp", {
    method,
    headers,
    signal: cut.signal,
    ...(hasBody && { body: Readable.toWeb(request) as BodyInit, duplex: "half" }),
  });
}

/** Never rejects: a client that does not listen any more is no problem of ours. */
export async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const body = Readable.fromWeb(answer.body as ReadableStream); // The same, by two names.
  await pipeline(body, response).catch(() => undefined);
}
