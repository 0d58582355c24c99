/**
 * Streams a reply with limits: an idle timeout, a maximum size, and an abort that takes effect at once
 * even if the model ignores it.
 */
import { assertNever, type Clock } from "../util/index.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import { brokenOffError, ProviderError } from "./provider-error.ts";

/** How long a reply may pause, and how large it may get. */
export interface StreamLimits {
  /** 0 for no limit. Time that the reader spends on an event does not count. */
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
 * Throws what the model throws, and `ProviderError` of kind `stalled`, `response_too_long`, or `network`
 * for a reply that breaks off. On abort it throws the signal's reason at once. Leaving the loop ends the
 * request.
 */
export async function* watchStream(
  watched: WatchedStream,
): AsyncGenerator<ModelEvent, void, undefined> {
  const { model, request, limits } = watched;
  request.signal.throwIfAborted();
  const stopped = new AbortController();
  const signal = AbortSignal.any([request.signal, stopped.signal]);
  const events = model.stream({ ...request, signal })[Symbol.asyncIterator]();
  using waiter = new EventWaiter(watched);
  let bytes = 0;
  let last: ModelEvent | undefined;
  let isOver = false;
  try {
    for (;;) {
      const result = await waiter.wait(events.next());
      isOver = result.done === true;
      if (result.done === true) break;
      bytes += bytesOf(result.value);
      if (limits.maxResponseBytes > 0 && bytes > limits.maxResponseBytes) {
        throw responseTooLongError(model, limits.maxResponseBytes);
      }
      last = result.value;
      yield result.value;
    }
  } finally {
    if (!isOver) {
      stopped.abort();
      // Not awaited: a model that ignores the abort may never return.
      events.return?.().catch(() => undefined);
    }
  }
  if (last?.type !== "response_end") throw brokenOffError(model.id);
}

type Next = IteratorResult<ModelEvent>;

/**
 * Waits for each event, up to the idle timeout. One timer serves the whole stream, because a timer for
 * each of thousands of events would cost more than the events.
 */
class EventWaiter implements Disposable {
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

  async wait(event: Promise<Next>): Promise<Next> {
    const current = Promise.withResolvers<Next>();
    event.then(current.resolve, current.reject);
    current.promise.catch(() => undefined); // It may be rejected when no one awaits it any more.
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

  /** Runs until the sleep is aborted at the end of the stream. */
  async #watch(): Promise<void> {
    const { model, limits, clock } = this.#watched;
    let pause = limits.idleTimeoutMs;
    for (;;) {
      await clock.sleep(pause, this.#ended.signal);
      const silence = this.#current === undefined ? 0 : Math.max(0, this.#now() - this.#since);
      if (silence >= limits.idleTimeoutMs) {
        this.#current?.reject(stalledError(model, limits.idleTimeoutMs));
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
      // Counts streamed arguments twice, which is fine for a limit.
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

function stalledError(model: Model, milliseconds: number): ProviderError {
  const message = `${model.id}: nothing received for ${milliseconds / 1000} s.`;
  const hint = "To wait longer, raise `assistant.request.stream_idle_timeout_secs`.";
  return new ProviderError("stalled", message, { isRetryable: true, hint });
}

function responseTooLongError(model: Model, bytes: number): ProviderError {
  const message = `${model.id}: the reply is larger than ${bytes} bytes.`;
  const hint = "To allow longer replies, raise `assistant.request.max_response_bytes`.";
  return new ProviderError("response_too_long", message, { isRetryable: false, hint });
}
