/**
 * `fetch` on `node:http`, for programs that must start fast: loading Node's own takes longer than everything else before
 * a request. Supports the needs of requests to providers, and falls back to Node's own.
 */
import type { IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";
import { loadModule, withinOrigin } from "../../util/index.ts";
import type { Fetch } from "./definition.ts";
import { HttpHeaders } from "./http-headers.ts";

/** Callbacks for requests. */
export interface HttpFetchOptions {
  /** Called when a request with a body has been sent. Requests to models have one; queries about a server do not. */
  readonly onSent?: () => void;
}

/** A `fetch` for `createProviders` that loads faster than Node's own. */
export function createHttpFetch({ onSent }: HttpFetchOptions = {}): Fetch {
  return withinOrigin(async (input, init = {}) => {
    const { method = "GET", headers, body, signal } = init;
    const isSimple = typeof input !== "object" || input instanceof URL;
    if (!isSimple || (body !== undefined && typeof body !== "string")) return fetch(input, init);
    signal?.throwIfAborted();
    const response = await send({
      url: new URL(input),
      method,
      headers: new HttpHeaders(headers),
      body: body ?? "",
      ...(signal && { signal }),
      onSent,
    });
    return await toResponse(response, signal ?? undefined);
  });
}

interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: HttpHeaders;
  readonly body: string;
  readonly signal?: AbortSignal;
  readonly onSent: (() => void) | undefined;
}

/**
 * A server may close an idle connection just as we reuse it. It has then not seen the request, which is retried once on a
 * new connection.
 */
async function send(request: HttpRequest): Promise<IncomingMessage> {
  try {
    return await sendOnce(request);
  } catch (error) {
    if (!(error instanceof ClosedConnection)) throw error;
    return await sendOnce(request, { agent: false });
  }
}

class ClosedConnection extends Error {}

const MAX_COPIED = 1_000_000;

function sendOnce(
  { url, method, headers, body, signal, onSent }: HttpRequest,
  options: RequestOptions = {},
): Promise<IncomingMessage> {
  // Not imported: an import of `node:http` evaluates all of its exports, and one of them loads `fetch`.
  const { request } = process.getBuiltinModule(
    url.protocol === "https:" ? "node:https" : "node:http",
  );
  // Node copies a string to send it together with the headers, which is too expensive for a long one.
  const content = body.length > MAX_COPIED ? Buffer.from(body) : body;
  const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(content)) };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      headers: { ...Object.fromEntries(headers), ...length },
      ...(signal && { signal }),
      ...options,
    });
    outgoing.on("response", resolve).on("error", (cause: NodeJS.ErrnoException) => {
      const isClosed = outgoing.reusedSocket && cause.code === "ECONNRESET" && !signal?.aborted;
      reject(isClosed ? new ClosedConnection() : failure(cause, signal));
    });
    if (onSent !== undefined && body !== "") outgoing.on("finish", onSent);
    outgoing.end(content);
  });
}

/** Reports errors like Node's own `fetch`. */
function failure(cause: unknown, signal?: AbortSignal, message = "fetch failed"): unknown {
  return signal?.aborted === true ? signal.reason : new TypeError(message, { cause });
}

type ResponseHead = Pick<Response, "status" | "statusText"> & {
  readonly headers: HttpHeaders | Headers;
};

/** The part of a `Response` that is needed to read a reply. */
class HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HttpHeaders | Headers;
  readonly body: ReadableStream<Uint8Array>;

  constructor({ status, statusText, headers }: ResponseHead, body: ReadableStream<Uint8Array>) {
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.body = body;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of this.body) text += decoder.decode(piece, { stream: true });
    return text + decoder.decode();
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

export async function toResponse(
  incoming: IncomingMessage,
  signal?: AbortSignal,
): Promise<Response> {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = incoming;
  const headers = new HttpHeaders(toPairs(rawHeaders));
  const body = await decompress(incoming, headers.get("content-encoding") ?? "identity");
  return createResponse({ status, statusText, headers }, toWebStream(body, signal));
}

/** A response with another body. `new Response` would load Node's own `fetch`. */
export function createResponse(head: ResponseHead, body: ReadableStream<Uint8Array>): Response {
  return new HttpResponse(head, body) as unknown as Response;
}

/**
 * A `fetch` that reports each arrival, a response or a part of its body, and how many bytes it has. Deltas that arrive
 * together are merged.
 */
export function withActivity(fetch: Fetch, onActivity: (bytes: number) => void): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    onActivity(0);
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    const merge = isEventStream(response) ? await loadDeltaMerger() : undefined;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        onActivity(value?.byteLength ?? 0);
        if (done) controller.close();
        else controller.enqueue(merge?.(value) ?? value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return createResponse(response, body);
  };
}

function isEventStream({ headers }: Pick<Response, "headers">): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Loaded with the first reply: while the model thinks, if jp has warmed up. */
async function loadDeltaMerger(): Promise<(chunk: Uint8Array) => Uint8Array> {
  const { createDeltaMerger } = await loadModule(() => import("./merge-deltas.ts"));
  return createDeltaMerger();
}

/** jp does not ask for compression, but some servers compress anyway. */
async function decompress(incoming: IncomingMessage, encoding: string): Promise<Readable> {
  if (encoding === "identity") return incoming;
  const { createBrotliDecompress, createUnzip } = await import("node:zlib");
  const decompressed = encoding === "br" ? createBrotliDecompress() : createUnzip();
  incoming.on("error", (error) => decompressed.destroy(error));
  return incoming.pipe(decompressed);
}

/** Merges pieces that arrive together into one chunk: a server may send thousands, of a few bytes each. */
function toWebStream(readable: Readable, signal?: AbortSignal): ReadableStream<Uint8Array> {
  // A readable may still end after it was destroyed, and a stream whose reader has left cannot be closed any more.
  let isOpen = true;
  let pieces: Buffer[] = [];
  const pass = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const [first] = pieces;
    if (first === undefined || !isOpen) return;
    const { buffer, byteOffset, byteLength } = pieces.length === 1 ? first : Buffer.concat(pieces);
    pieces = [];
    controller.enqueue(new Uint8Array(buffer, byteOffset, byteLength));
    if ((controller.desiredSize ?? 0) <= 0) readable.pause();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const close = (end: () => void) => {
        pass(controller);
        if (isOpen) end();
        isOpen = false;
      };
      readable.on("data", (piece: Buffer) => {
        if (pieces.push(piece) === 1) process.nextTick(pass, controller);
      });
      readable.on("end", () => close(() => controller.close()));
      readable.on("error", (cause) =>
        close(() => controller.error(failure(cause, signal, "terminated"))),
      );
    },
    pull: () => void readable.resume(),
    cancel: () => {
      isOpen = false;
      readable.destroy();
    },
  });
}

/** Node alternates names and values. */
function toPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""]] : []));
}
