/**
 * Streams a reply with limits on silence, on the time without output, and on its size. An abort takes effect at once,
 * even if the model ignores it.
 */
import { assertNever, type Clock, MAX_TIMER_MS } from "../../util/index.ts";
import type { Model, ModelEvent, ModelRequest, RequestUpdate } from "./port.ts";
import { brokenOffError, ProviderError } from "./provider-error.ts";

/** How long a reply may pause, and how large it may get. */
export interface StreamLimits {
  /**
   * How long nothing may arrive, not even a keep-alive. 0 for no limit. Excludes the time that the reader spends on an
   * event.
   */
  readonly idleTimeoutMs: number;
  /**
   * How long a model may take for its next output while it reads a prompt or its server sends keep-alives. Progress on
   * the prompt restarts it. 0 for no limit.
   */
  readonly promptTimeoutMs: number;
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
 * Throws the model's error, and `ProviderError` of kind `stalled`, `response_too_long`, or `network` for a reply that
 * breaks off. On abort, throws the signal's reason at once. Leaving the loop ends the request.
 */
export async function* watchStream(
  watched: WatchedStream,
): AsyncGenerator<ModelEvent, void, undefined> {
  const { model, request, limits } = watched;
  request.signal.throwIfAborted();
  const stopped = new AbortController();
  const signal = AbortSignal.any([request.signal, stopped.signal]);
  using waiter = new EventWaiter(watched);
  const observe = (update: RequestUpdate) => {
    waiter.note(update);
    request.observe?.(update);
  };
  const events = model.stream({ ...request, signal, observe })[Symbol.asyncIterator]();
  let bytes = 0;
  let last: ModelEvent | undefined;
  let isOver = false;
  try {
    for (;;) {
      const result = await waiter.wait(events.next());
      isOver = result.done === true;
      if (result.done === true) break;
      bytes += bytesOf(result.value);
      if (isTooMuch(bytes, limits.maxResponseBytes)) {
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

/** A deadline for the next event, and the error for missing it. */
interface Deadline {
  readonly at: number;
  readonly error: () => ProviderError;
}

/** Without a reason, Node would create an error with a stack. */
const OVER = "the stream is over";

/**
 * Waits for each event, up to the limits. One timer serves the whole stream: a timer for each of thousands of events
 * would cost more than the events.
 */
class EventWaiter implements Disposable {
  readonly #watched: WatchedStream;
  readonly #ended = new AbortController();
  readonly #onAbort = () => this.#current?.reject(this.#watched.request.signal.reason);
  #current: PromiseWithResolvers<Next> | undefined;
  #hasOutput = false;
  /** When the wait for the current event started, or its prompt last made progress. */
  #since = 0;
  /** Like `#since`, or when anything last arrived. */
  #aliveAt = 0;
  #processed = 0;
  /** What arrived since the last event, and the part of the reply that the model holds back. */
  #arrivedBytes = 0;
  #heldBytes = 0;
  #hasOverflowed = false;

  constructor(watched: WatchedStream) {
    this.#watched = watched;
    watched.request.signal.addEventListener("abort", this.#onAbort, { once: true });
    const { idleTimeoutMs, promptTimeoutMs } = watched.limits;
    if (idleTimeoutMs > 0 || promptTimeoutMs > 0) void this.#watch().catch(() => undefined);
  }

  /** A server could repeat the same progress forever, so only an increase counts. */
  note(update: RequestUpdate): void {
    this.#aliveAt = this.#now();
    if (update.type === "alive") this.#count(update);
    if (update.type === "alive" && update.isReply === true) this.#since = this.#aliveAt;
    if (update.type !== "prompt_progress" || update.processed <= this.#processed) return;
    this.#processed = update.processed;
    this.#since = this.#aliveAt;
  }

  /** Counted before lines are split: whoever splits them keeps all of a line that has no end. */
  #count({ isReply = false, bytes = 0 }: { readonly isReply?: boolean; readonly bytes?: number }) {
    const { model, limits } = this.#watched;
    const { maxResponseBytes } = limits;
    this.#arrivedBytes = isReply ? 0 : this.#arrivedBytes + bytes;
    if (isReply) this.#heldBytes += bytes;
    const isOver =
      isTooMuch(this.#heldBytes, maxResponseBytes) ||
      (maxResponseBytes > 0 && this.#arrivedBytes > maxEventBytes(maxResponseBytes));
    if (!isOver) return;
    this.#hasOverflowed = true;
    this.#current?.reject(responseTooLongError(model, maxResponseBytes));
  }

  async wait(event: Promise<Next>): Promise<Next> {
    const current = Promise.withResolvers<Next>();
    event.then(current.resolve, current.reject);
    current.promise.catch(() => undefined); // It may be rejected after it is no longer awaited.
    const { request, model, limits } = this.#watched;
    request.signal.throwIfAborted();
    if (this.#hasOverflowed) throw responseTooLongError(model, limits.maxResponseBytes);
    this.#current = current;
    this.#since = this.#now();
    this.#aliveAt = this.#since;
    try {
      const next = await current.promise;
      this.#hasOutput = true;
      this.#arrivedBytes = 0;
      return next;
    } finally {
      this.#current = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#watched.request.signal.removeEventListener("abort", this.#onAbort);
    this.#ended.abort(OVER);
  }

  /** Runs until the sleep is aborted at the end of the stream. */
  async #watch(): Promise<void> {
    const { limits, clock } = this.#watched;
    const { idleTimeoutMs } = limits;
    for (;;) {
      const deadline = this.#deadline();
      const left = deadline.at - this.#now();
      if (left <= 0) return this.#current?.reject(deadline.error());
      // The limit on silence starts with the first output.
      const longest = idleTimeoutMs > 0 ? idleTimeoutMs : MAX_TIMER_MS;
      await clock.sleep(Math.min(left, longest), this.#ended.signal);
    }
  }

  /** The earliest time at which a limit could be exceeded. */
  #deadline(): Deadline {
    const { model, limits } = this.#watched;
    const { idleTimeoutMs, promptTimeoutMs } = limits;
    const isReading = !this.#hasOutput && model.isLocal === true;
    const isWaiting = this.#current !== undefined;
    const [since, aliveAt] = isWaiting ? [this.#since, this.#aliveAt] : [this.#now(), this.#now()];
    const silence = {
      at: aliveAt + (isReading || idleTimeoutMs === 0 ? Number.POSITIVE_INFINITY : idleTimeoutMs),
      error: () => stalledError(model, idleTimeoutMs),
    };
    const prompt = {
      at: since + (promptTimeoutMs === 0 ? Number.POSITIVE_INFINITY : promptTimeoutMs),
      error: () => noReplyError(model, promptTimeoutMs),
    };
    // Without a limit on silence, the user wants to wait for a reply no matter how long it pauses.
    const isPromptLimited = isReading || idleTimeoutMs > 0;
    return isPromptLimited && prompt.at < silence.at ? prompt : silence;
  }

  #now(): number {
    return this.#watched.clock.now().getTime();
  }
}

function isTooMuch(bytes: number, maxResponseBytes: number): boolean {
  return maxResponseBytes > 0 && bytes > maxResponseBytes;
}

/** The largest amount that may arrive for one event. APIs escape its text, wrap it, and repeat the request. */
function maxEventBytes(maxResponseBytes: number): number {
  return 8 * maxResponseBytes + 4 * 1024 * 1024;
}

/** The cost of a call without its arguments (a record of its own, and a response), of a source and of a file. */
const CALL_BYTES = 128;

function bytesOf(event: ModelEvent): number {
  switch (event.type) {
    case "reasoning_delta":
    case "message_delta":
    case "tool_call_delta":
      return Buffer.byteLength(event.text);
    case "tool_call_request":
      // Counts streamed arguments twice, which is fine for a limit.
      return (
        CALL_BYTES + Buffer.byteLength(event.id + event.name + JSON.stringify(event.arguments))
      );
    case "tool_call_start":
      return CALL_BYTES;
    case "source":
      return CALL_BYTES + Buffer.byteLength(JSON.stringify(event.source));
    case "file":
      return CALL_BYTES + (event.data?.length ?? 0);
    case "reasoning_end":
    case "message_end":
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

/** Not retried: it would take as long again. */
function noReplyError(model: Model, milliseconds: number): ProviderError {
  const message = `${model.id}: the model wrote nothing for ${milliseconds / 1000} s.`;
  const hint = "To wait longer, raise `assistant.request.prompt_timeout_secs`.";
  return new ProviderError("stalled", message, { isRetryable: false, hint });
}

function responseTooLongError(model: Model, bytes: number): ProviderError {
  const message = `${model.id}: the reply is larger than ${bytes} bytes.`;
  const hint = "To allow longer replies, raise `assistant.request.max_response_bytes`.";
  return new ProviderError("response_too_long", message, { isRetryable: false, hint });
}
