/**
 * Sends changes to all listening clients as server-sent events. Shared work is done once: the desk has one listener,
 * events close together are sent as one chunk, and access is checked once per person.
 */
import type { ServerResponse } from "node:http";
import { type Clock, messageOf } from "../../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError } from "./http.ts";
import type { Desk } from "./port.ts";
import type { DeskEvent } from "./wire.ts";

export interface EventStreamsOptions {
  readonly desk: Desk;
  readonly clock: Clock;
  readonly onProblem: (problem: string) => void;
  readonly maxStreams: number;
  /** The buffer limit for a client that reads too slowly. */
  readonly maxBufferedBytes: number;
}

const KEEP_ALIVE_MS = 15_000;
/** How long a browser waits before it reconnects. */
const RETRY = "retry: 2000\n\n";
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");
/** Writing to hundreds of clients takes a while, so events in between are batched into the next write. */
const MIN_PAUSE_MS = 20;
/** The pause grows with the time a write takes, so that most of the time is left for other work. */
const PAUSES_PER_WRITE = 5;
const MAX_PAUSE_MS = 1000;

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Set<EventStream>();
  readonly #closed = new AbortController();
  #subscription: Disposable | undefined;
  /** Queued events. */
  #events: EncodedEvent[] = [];
  #waitingBytes = 0;
  /** Ends the pause between two writes. */
  #endPause: () => void = () => undefined;
  /** Streams that still get their buffered data before they are closed. */
  readonly #ending = new Set<EventStream>();
  #isKeepAliveDue = false;
  /** The id of the last event that the desk emitted while any client listened. */
  #lastId = Number.NEGATIVE_INFINITY;
  #isSending = false;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    void this.#keepAlive();
  }

  /** Throws an `ApiError` if there are too many. */
  open(response: ServerResponse, request: { readonly after?: number; readonly caller: Caller }) {
    const { desk, maxStreams, maxBufferedBytes } = this.#options;
    if (this.#streams.size >= maxStreams) {
      throw new ApiError(503, "too_many_streams", {
        message: "Too many clients are listening.",
        headers: { "retry-after": "30" },
      });
    }
    this.#subscription ??= desk.subscribe((event) => this.#add(event));
    const stream = new EventStream(response, { ...request, maxBufferedBytes });
    this.#streams.add(stream);
    response.once("close", () => {
      this.#remove(stream);
      this.#ending.delete(stream);
    });
    stream.start();
    const { after } = request;
    if (after !== undefined) {
      // Includes events that are queued for the others.
      desk.subscribe((event) => stream.write(encode(event).bytes), after)[Symbol.dispose]();
    }
    stream.lastId = this.#lastId;
    if (stream.isEnding) this.#end(stream);
  }

  /** Ends all streams. Browsers reconnect as soon as they can. */
  close(): void {
    this.#closed.abort();
    this.#endPause();
    for (const stream of this.#streams) this.#end(stream);
  }

  #end(stream: EventStream): void {
    stream.end();
    this.#remove(stream);
    this.#ending.add(stream);
  }

  #remove(stream: EventStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
    this.#take();
  }

  #add(event: DeskEvent): void {
    this.#lastId = event.id;
    const encoded = encode(event);
    this.#events.push(encoded);
    this.#waitingBytes += encoded.bytes.length;
    if (this.#waitingBytes >= this.#options.maxBufferedBytes / 4) this.#endPause();
    void this.#send();
  }

  #take(): readonly EncodedEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#waitingBytes = 0;
    return events;
  }

  /** Proxies close silent connections, and this is when a removed person's stream is noticed and ended. */
  async #keepAlive(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await clock.sleep(KEEP_ALIVE_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      // A client that has not read the rest by now never will.
      for (const stream of this.#ending) stream.destroy();
      this.#isKeepAliveDue = true;
      void this.#send();
    }
  }

  /** Sends queued events at once; events that arrive meanwhile are sent after a pause. */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#events.length > 0 || this.#isKeepAliveDue) {
      const events = this.#take();
      const comments = this.#isKeepAliveDue ? [KEEP_ALIVE] : [];
      this.#isKeepAliveDue = false;
      const begun = performance.now();
      await this.#sendToAll(events, comments);
      // Node writes after this.
      await new Promise(setImmediate);
      await this.#pause((performance.now() - begun) * PAUSES_PER_WRITE);
    }
    this.#isSending = false;
  }

  /** Does not keep the process running. */
  async #pause(wanted: number): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const pauseMs = Math.min(Math.max(wanted, MIN_PAUSE_MS), MAX_PAUSE_MS);
    const timer = setTimeout(resolve, pauseMs).unref();
    this.#endPause = resolve;
    await promise;
    clearTimeout(timer);
  }

  async #sendToAll(events: readonly EncodedEvent[], comments: readonly Buffer[]): Promise<void> {
    const all = join(events, comments);
    const first = events[0]?.id ?? Number.POSITIVE_INFINITY;
    const callers = Map.groupBy(this.#streams, ({ caller }) => caller.key);
    for (const streams of callers.values()) {
      const maySee = await this.#maySee(streams[0]?.caller);
      for (const stream of streams) {
        if (!this.#streams.has(stream)) continue;
        // A stream opened meanwhile already has some of them.
        const isLate = stream.lastId >= first;
        const rest = isLate ? events.filter(({ id }) => id > stream.lastId) : events;
        const bytes = isLate ? join(rest, comments) : all;
        if (!maySee || !stream.write(bytes)) this.#end(stream);
      }
    }
  }

  async #maySee(caller: Caller | undefined): Promise<boolean> {
    try {
      const person = await caller?.find();
      return person?.rights.includes("see") === true;
    } catch (error) {
      this.#options.onProblem(messageOf(error));
      return false;
    }
  }
}

interface StreamOptions {
  readonly caller: Caller;
  readonly maxBufferedBytes: number;
}

class EventStream {
  readonly #response: ServerResponse;
  readonly #maxBufferedBytes: number;
  readonly caller: Caller;
  /** Only later events are still to be sent. */
  lastId = Number.NEGATIVE_INFINITY;
  /** The first chunk is sent at any size: otherwise the client would never get past it. */
  #hasEvent = false;
  /** The client gets the buffered data, then reconnects for the rest. */
  isEnding = false;

  constructor(response: ServerResponse, { caller, maxBufferedBytes }: StreamOptions) {
    this.#response = response;
    this.#maxBufferedBytes = maxBufferedBytes;
    this.caller = caller;
  }

  start(): void {
    this.#response.writeHead(200, {
      "content-type": "text/event-stream",
      "x-accel-buffering": "no",
    });
    this.#response.write(RETRY);
  }

  /** Returns false if the client has not read enough of the earlier data. */
  write(bytes: Buffer): boolean {
    if (this.isEnding) return false;
    const waiting = this.#response.writableLength;
    if (this.#hasEvent && waiting + bytes.length > this.#maxBufferedBytes) {
      this.end();
      return false;
    }
    this.#hasEvent = true;
    if (bytes.length > 0) this.#response.write(bytes);
    return true;
  }

  end(): void {
    this.isEnding = true;
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }
}

interface EncodedEvent {
  readonly id: number;
  readonly bytes: Buffer;
}

function encode({ id, type, data }: DeskEvent): EncodedEvent {
  const text = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  return { id, bytes: Buffer.from(text) };
}

/** Not allocated in Node's pool for small buffers: a slow client would keep the whole pool in memory. */
function join(events: readonly EncodedEvent[], comments: readonly Buffer[]): Buffer {
  const pieces = [...events.map(({ bytes }) => bytes), ...comments];
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(joined, at);
  return joined;
}
