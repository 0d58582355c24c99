/**
 * A reply under watch: it must not fall silent, must not grow without end, and ends when nobody wants
 * it any more, also where the model does not listen.
 */
import { assertNever, type Clock } from "../util/index.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import { ProviderError } from "./provider-error.ts";

/** How long a reply may be silent, and how large it may become. */
export interface StreamLimits {
  /** 0 for no limit. The time that a reader takes for an event does not count. */
  readonly idleTimeoutMs: number;
  /** 0 for no limit. */
  readonly maxResponseBytes: number;
}

/** A request whose reply has limits. */
export interface WatchedStream {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

/**
 * Throws what the model throws, `stalled`, `response_too_long`, and `network` for a reply without an
 * end. Abort ends it at once, by throwing the signal's reason. Whoever stops reading ends the request.
 */
export async function* watchStream(
  watched: WatchedStream,
): AsyncGenerator<ModelEvent, void, undefined> {
  const { model, request, limits } = watched;
  request.signal.throwIfAborted();
  const stopped = new AbortController();
  const signal = AbortSignal.any([request.signal, stopped.signal]);
  const events = model.stream({ ...request, signal })[Symbol.asyncIterator]();
  using waiting = new Waiting(watched);
  let bytes = 0;
  let last: ModelEvent | undefined;
  let isOver = false;
  try {
    for (;;) {
      const result = await waiting.for(events.next());
      isOver = result.done === true;
      if (result.done === true) break;
      bytes += bytesOf(result.value);
      if (limits.maxResponseBytes > 0 && bytes > limits.maxResponseBytes) {
        throw tooLong(model, limits.maxResponseBytes);
      }
      last = result.value;
      yield result.value;
    }
  } finally {
    if (!isOver) {
      stopped.abort();
      // Not awaited: a model that does not listen may never come to it.
      events.return?.().catch(() => undefined);
    }
  }
  if (last?.type !== "response_end") throw cut(model);
}

type Next = IteratorResult<ModelEvent>;

/**
 * Waits for one event after the other, and not for ever. One timer serves a whole stream: one for each
 * of its thousands of events would cost more than the events.
 */
class Waiting implements Disposable {
  readonly #watched: WatchedStream;
  readonly #ended = new AbortController();
  readonly #onAbort = () => this.#current?.reject(this.#watched.request.signal.reason);
  #current: PromiseWithResolvers<Next> | undefined;
  #since = 0;

  constructor(watched: WatchedStream) {
    this.#watched = watched;
    watched.request.signal.addEventListener("abort", this.#onAbort, { once: true });
    if (watched.limits.idleTimeoutMs > 0) void this.#watch().catch(() => undefined);
  }

  async for(event: Promise<Next>): Promise<Next> {
    const current = Promise.withResolvers<Next>();
    event.then(current.resolve, current.reject);
    current.promise.catch(() => undefined); // Nobody may be left to hear of it.
    this.#watched.request.signal.throwIfAborted();
    this.#current = current;
    this.#since = this.#now();
    try {
      return await current.promise;
    } finally {
      this.#current = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#watched.request.signal.removeEventListener("abort", this.#onAbort);
    this.#ended.abort();
  }

  /** Ends by what it throws when the stream has ended. */
  async #watch(): Promise<void> {
    const { model, limits, clock } = this.#watched;
    let pause = limits.idleTimeoutMs;
    for (;;) {
      await clock.sleep(pause, this.#ended.signal);
      const silence = this.#current === undefined ? 0 : Math.max(0, this.#now() - this.#since);
      if (silence >= limits.idleTimeoutMs) {
        this.#current?.reject(stalled(model, limits.idleTimeoutMs));
        return;
      }
      pause = limits.idleTimeoutMs - silence;
    }
  }

  #now(): number {
    return this.#watched.clock.now().getTime();
  }
}

function bytesOf(event: ModelEvent): number {
  switch (event.type) {
    case "reasoning_delta":
    case "message_delta":
    case "tool_call_delta":
      return Buffer.byteLength(event.text);
    case "tool_call_request":
      // Again, if they came in pieces before: it is a limit, not an account.
      return Buffer.byteLength(JSON.stringify(event.arguments));
    case "reasoning_end":
    case "message_end":
    case "tool_call_start":
    case "response_end":
      return 0;
    default:
      return assertNever(event);
  }
}

function stalled(model: Model, milliseconds: number): ProviderError {
  const message = `${model.id} was silent for ${milliseconds / 1000} s.`;
  const hint = "The limit is assistant.request.stream_idle_timeout_secs.";
  return new ProviderError("stalled", message, { isRetryable: true, hint });
}

function tooLong(model: Model, bytes: number): ProviderError {
  const message = `The reply of ${model.id} has more than ${bytes} bytes.`;
  const hint = "The limit is assistant.request.max_response_bytes.";
  return new ProviderError("response_too_long", message, { isRetryable: false, hint });
}

function cut(model: Model): ProviderError {
  const message = `The reply of ${model.id} broke off.`;
  return new ProviderError("network", message, { isRetryable: true });
}
