/** Sends what changes to every client that listens, as server-sent events. */
import type { ServerResponse } from "node:http";
import { type Clock, messageOf } from "../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError } from "./http.ts";
import type { Desk } from "./port.ts";
import type { DeskEvent } from "./wire.ts";

export interface EventStreamsOptions {
  readonly desk: Desk;
  readonly clock: Clock;
  readonly onProblem: (problem: string) => void;
  readonly maxStreams: number;
  /** How much is kept for a client that reads too slowly. */
  readonly maxBufferedBytes: number;
}

const KEEP_ALIVE_MS = 15_000;
/** How long a browser waits before it connects again. */
const RETRY = "retry: 2000\n\n";

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Set<EventStream>();
  readonly #closed = new AbortController();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    void this.#keepAlive();
  }

  /** Throws an `ApiError` if there are too many. */
  open(response: ServerResponse, request: { readonly after?: number; readonly caller: Caller }) {
    if (this.#streams.size >= this.#options.maxStreams) {
      throw new ApiError(503, "too_many_streams", {
        message: "Too many clients are listening.",
        headers: { "retry-after": "30" },
      });
    }
    const stream = new EventStream(response, { ...this.#options, ...request });
    this.#streams.add(stream);
    response.once("close", () => {
      this.#streams.delete(stream);
      stream.stop();
    });
    stream.start();
  }

  /** Ends all streams. Browsers connect again as soon as they can. */
  close(): void {
    this.#closed.abort();
    for (const stream of this.#streams) stream.end();
  }

  /** Proxies close a connection that is silent, and someone who was removed does not hear of it otherwise. */
  async #keepAlive(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await clock.sleep(KEEP_ALIVE_MS, signal).catch(() => undefined);
      for (const stream of signal.aborted ? [] : this.#streams) stream.keepAlive();
    }
  }
}

interface StreamOptions extends EventStreamsOptions {
  readonly after?: number;
  readonly caller: Caller;
}

/** Each event is turned into bytes once. What waits for slow clients is shared by all. */
const encoded = new WeakMap<DeskEvent, Buffer>();
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

class EventStream {
  readonly #response: ServerResponse;
  readonly #options: StreamOptions;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** The first event is sent however large it is: otherwise the client would never get past it. */
  #hasEvent = false;
  #isSending = false;
  /** The client gets what is queued, and connects again for the rest. */
  #isEnding = false;
  #subscription: Disposable | undefined;

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#response = response;
    this.#options = options;
  }

  start(): void {
    const { desk, after } = this.#options;
    this.#response.writeHead(200, {
      "content-type": "text/event-stream",
      "x-accel-buffering": "no",
    });
    this.#response.write(RETRY);
    this.#subscription = desk.subscribe((event) => this.#add(event), after);
    // It may have got more than it can take while it subscribed.
    if (this.#isEnding) this.stop();
  }

  /** Sends nothing more than what is queued. */
  stop(): void {
    this.#isEnding = true;
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
  }

  end(): void {
    this.stop();
    if (!this.#isSending) this.#response.end();
  }

  keepAlive(): void {
    // A client that has not read the end by now will not.
    if (this.#isEnding) this.#response.destroy();
    else this.#enqueue(KEEP_ALIVE);
  }

  #add(event: DeskEvent): void {
    if (this.#isEnding) return;
    const bytes = encoded.get(event) ?? encode(event);
    encoded.set(event, bytes);
    this.#enqueue(bytes);
    this.#hasEvent = true;
  }

  #enqueue(bytes: Buffer): void {
    const waiting = this.#queuedBytes + this.#response.writableLength;
    if (this.#hasEvent && waiting + bytes.length > this.#options.maxBufferedBytes) {
      this.end();
      return;
    }
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    void this.#send();
  }

  /** Sends only if the person may still see it. */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#queue.length > 0) {
        const person = await this.#options.caller.find();
        if (person?.rights.includes("see") !== true) {
          this.stop();
          break;
        }
        // Node sends what is written at once in one piece, unless `cork` is called.
        for (const bytes of this.#queue) this.#response.write(bytes);
        this.#queue = [];
        this.#queuedBytes = 0;
      }
    } catch (error) {
      this.#options.onProblem(messageOf(error));
      this.stop();
    }
    this.#isSending = false;
    if (this.#isEnding) this.#response.end();
  }
}

/** Not in a part of the pool that Node keeps for small buffers: that would stay in memory as long as the event. */
function encode({ id, type, data }: DeskEvent): Buffer {
  const text = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
