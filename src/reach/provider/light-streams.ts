/**
 * `ReadableStream`, `TransformStream` and `TextDecoderStream` without Node's own, which are slower to load and account
 * for most of the time from a socket to the screen. In the command, the build substitutes them in the providers' packages
 * and this folder. They support only what those need: no bytes, no `pipeTo`, and a transform takes its input from
 * `pipeThrough` alone.
 *
 * They work like Node's, but a chunk passes through synchronously where nothing is asynchronous, and an error follows the
 * chunks before it.
 */

interface Source<Chunk> {
  readonly start?: (controller: Controller<Chunk>) => unknown;
  readonly pull?: (controller: Controller<Chunk>) => unknown;
  readonly cancel?: (reason: unknown) => unknown;
}

interface Strategy {
  readonly highWaterMark?: number;
}

interface Controller<Chunk> {
  readonly desiredSize: number | null;
  enqueue(chunk: Chunk): void;
  close(): void;
  error(error?: unknown): void;
}

/** Receives the next chunk, once. */
interface Request<Chunk> {
  chunk(chunk: Chunk): void;
  close(): void;
  error(error: unknown): void;
}

/** Receives all chunks, as long as it wants more. */
export interface Sink<Chunk> extends Request<Chunk> {
  readonly wantsMore: boolean;
}

type Result<Chunk> =
  | { readonly done: false; readonly value: Chunk }
  | { readonly done: true; readonly value: undefined };

/** The chunks of one stream, and the requests waiting for them. */
class Channel<Chunk> implements Controller<Chunk> {
  readonly #source: Source<Chunk>;
  readonly #limit: number;
  #queue: Chunk[] = [];
  #requests: Request<Chunk>[] = [];
  #sink: Sink<Chunk> | undefined;
  #state: "open" | "closed" | "failed" = "open";
  /** It closes once its queue is empty. */
  #isEnding = false;
  #error: unknown;
  #pulling: "idle" | "pulling" | "again" = "idle";
  #isStarted = false;
  isLocked = false;
  onEnd: (() => void) | undefined;

  constructor(source: Source<Chunk>, limit: number) {
    this.#source = source;
    this.#limit = limit;
  }

  /** Starts pulling. */
  start(): void {
    this.#isStarted = true;
    this.#pull();
  }

  get isOpen(): boolean {
    return this.#state === "open" && !this.#isEnding;
  }

  get isAwaited(): boolean {
    return this.#sink === undefined ? this.#requests.length > 0 : this.#sink.wantsMore;
  }

  get state(): "open" | "closed" | "failed" {
    return this.#state;
  }

  get failure(): unknown {
    return this.#error;
  }

  get desiredSize(): number | null {
    if (this.#state === "failed") return null;
    return this.#state === "closed" ? 0 : this.#limit - this.#queue.length;
  }

  enqueue(chunk: Chunk): void {
    if (!this.isOpen) throw new TypeError("Invalid state: the stream takes no more chunks");
    if (this.#sink?.wantsMore === true) this.#sink.chunk(chunk);
    else if (this.#requests.length === 0) this.#queue.push(chunk);
    else this.#requests.shift()?.chunk(chunk);
    this.#pull();
  }

  close(): void {
    if (!this.isOpen) throw new TypeError("Invalid state: the stream is closed already");
    this.#isEnding = true;
    if (this.#queue.length === 0) this.#end();
  }

  error(error?: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "failed";
    this.#error = error;
    this.#queue = [];
    const requests = this.#requests;
    this.#requests = [];
    for (const request of requests) request.error(error);
    this.#sink?.error(error);
    this.onEnd?.();
  }

  read(request: Request<Chunk>): void {
    if (this.#queue.length > 0) {
      const chunk = this.#queue.shift() as Chunk; // The queue is not empty.
      if (this.#isEnding && this.#queue.length === 0) this.#end();
      else this.#pull();
      return request.chunk(chunk);
    }
    if (this.#state === "closed") return request.close();
    if (this.#state === "failed") return request.error(this.#error);
    this.#requests.push(request);
    return this.#pull();
  }

  /** Call it again when a full sink wants more. */
  sendTo(sink: Sink<Chunk>): void {
    this.#sink = sink;
    while (this.#queue.length > 0 && sink.wantsMore) sink.chunk(this.#queue.shift() as Chunk);
    if (this.#isEnding && this.#state === "open" && this.#queue.length === 0) this.#end();
    else if (this.#state === "closed") sink.close();
    else if (this.#state === "failed") sink.error(this.#error);
    else this.#pull();
  }

  async cancel(reason: unknown): Promise<void> {
    if (this.#state === "closed") return;
    if (this.#state === "failed") throw this.#error;
    this.#queue = [];
    this.#end();
    await this.#source.cancel?.(reason);
  }

  /** Rejects the pending requests of a released reader. */
  abandon(error: TypeError): void {
    const requests = this.#requests;
    this.#requests = [];
    for (const request of requests) request.error(error);
  }

  #end(): void {
    this.#state = "closed";
    const requests = this.#requests;
    this.#requests = [];
    for (const request of requests) request.close();
    this.#sink?.close();
    this.onEnd?.();
  }

  /** A single loop, even if the source has many chunks at once. */
  #pull(): void {
    if (this.#pulling !== "idle") {
      this.#pulling = "again";
      return;
    }
    while (this.#shouldPull()) {
      this.#pulling = "pulling";
      try {
        const pulled = this.#source.pull?.(this);
        if (isPromise(pulled)) return void pulled.then(this.#onPulled, this.#onFailed);
      } catch (error) {
        this.error(error);
      }
      const isAgain = (this.#pulling as string) === "again"; // Set while pulling.
      this.#pulling = "idle";
      if (!isAgain) return;
    }
  }

  #shouldPull(): boolean {
    if (!this.#isStarted || !this.isOpen || this.#source.pull === undefined) return false;
    return this.isAwaited || this.#queue.length < this.#limit;
  }

  readonly #onPulled = () => {
    const isAgain = this.#pulling === "again";
    this.#pulling = "idle";
    if (isAgain) this.#pull();
  };

  readonly #onFailed = (error: unknown) => this.error(error);
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** A stream of chunks. */
export class LightReadableStream<Chunk> implements AsyncIterable<Chunk> {
  readonly #channel: Channel<Chunk>;

  constructor(source: Source<Chunk> | Channel<Chunk> = {}, { highWaterMark = 1 }: Strategy = {}) {
    if (source instanceof Channel) {
      this.#channel = source;
      return;
    }
    const channel = new Channel(source, highWaterMark);
    this.#channel = channel;
    // Like Node, not before the creator of the stream is ready.
    Promise.resolve(source.start?.(channel)).then(
      () => channel.start(),
      (error: unknown) => channel.error(error),
    );
  }

  get locked(): boolean {
    return this.#channel.isLocked;
  }

  getReader(): LightReader<Chunk> {
    return new LightReader(this.#lock());
  }

  async cancel(reason?: unknown): Promise<void> {
    if (this.locked) throw new TypeError("Invalid state: the stream is locked");
    return this.#channel.cancel(reason);
  }

  pipeThrough<Output>(transform: LightTransformStream<Chunk, Output>): LightReadableStream<Output> {
    transform.writable.connect(this.#lock());
    return transform.readable;
  }

  /** Two streams of the same chunks. The source is cancelled when both are. */
  tee(): [LightReadableStream<Chunk>, LightReadableStream<Chunk>] {
    const source = this.#lock();
    let isReading = false;
    let isWanted = false;
    const reasons: unknown[] = [];
    const cancelled = Promise.withResolvers<void>();
    const branches: Channel<Chunk>[] = [];
    const forEachOpen = (action: (branch: Channel<Chunk>) => void) => {
      for (const branch of branches) if (branch.isOpen) action(branch);
    };
    const request: Request<Chunk> = {
      chunk: (chunk) => {
        isReading = false;
        const isAgain = isWanted;
        isWanted = false;
        forEachOpen((branch) => branch.enqueue(chunk));
        if (isAgain) pull();
      },
      close: () => {
        forEachOpen((branch) => branch.close());
        cancelled.resolve();
      },
      error: (error) => {
        forEachOpen((branch) => branch.error(error));
        cancelled.resolve();
      },
    };
    const pull = () => {
      isWanted = isReading;
      if (isReading) return;
      isReading = true;
      source.read(request);
    };
    const cancel = (reason: unknown): Promise<void> => {
      reasons.push(reason);
      if (reasons.length === branches.length)
        source.cancel(reasons).then(cancelled.resolve, cancelled.reject);
      return cancelled.promise;
    };
    branches.push(new Channel<Chunk>({ pull, cancel }, 0), new Channel<Chunk>({ pull, cancel }, 0));
    for (const branch of branches) branch.start();
    const [one, other] = branches.map((branch) => new LightReadableStream(branch));
    return [one, other] as [LightReadableStream<Chunk>, LightReadableStream<Chunk>]; // There are two branches.
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk, undefined, undefined> {
    const reader = this.getReader();
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          isOver = true;
          throw error;
        });
        isOver = done;
        if (done) return undefined;
        yield value;
      }
    } finally {
      if (!isOver) await reader.cancel();
      reader.releaseLock();
    }
  }

  #lock(): Channel<Chunk> {
    if (this.locked) throw new TypeError("Invalid state: the stream is locked");
    this.#channel.isLocked = true;
    return this.#channel;
  }
}

export class LightReader<Chunk> {
  readonly #channel: Channel<Chunk>;
  #isReleased = false;
  #closed: PromiseWithResolvers<undefined> | undefined;

  constructor(channel: Channel<Chunk>) {
    this.#channel = channel;
  }

  get closed(): Promise<undefined> {
    this.#closed ??= this.#watchEnd();
    return this.#closed.promise;
  }

  read(): Promise<Result<Chunk>> {
    if (this.#isReleased) return Promise.reject(released());
    return new Promise((resolve, reject) => {
      this.#channel.read({
        chunk: (value) => resolve({ done: false, value }),
        close: () => resolve({ done: true, value: undefined }),
        error: reject,
      });
    });
  }

  /** Sends all chunks directly to the sink, without a promise for each. Call it again when the sink wants more. */
  sendTo(sink: Sink<Chunk>): void {
    this.#channel.sendTo(sink);
  }

  async cancel(reason?: unknown): Promise<void> {
    if (this.#isReleased) throw released();
    return this.#channel.cancel(reason);
  }

  releaseLock(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#channel.isLocked = false;
    this.#channel.onEnd = undefined;
    this.#channel.abandon(released());
    this.#closed?.reject(released());
  }

  #watchEnd(): PromiseWithResolvers<undefined> {
    const closed = Promise.withResolvers<undefined>();
    closed.promise.catch(() => undefined); // It is rarely awaited.
    const settle = () => {
      const { state, failure } = this.#channel;
      if (state === "closed") closed.resolve(undefined);
      if (state === "failed") closed.reject(failure);
    };
    this.#channel.onEnd = settle;
    if (this.#isReleased) closed.reject(released());
    else settle();
    return closed;
  }
}

function released(): TypeError {
  return new TypeError("Invalid state: the reader has been released");
}

interface Transformer<Input, Output> {
  readonly start?: (controller: TransformController<Output>) => unknown;
  readonly transform?: (chunk: Input, controller: TransformController<Output>) => unknown;
  readonly flush?: (controller: TransformController<Output>) => unknown;
  readonly cancel?: (reason: unknown) => unknown;
}

interface TransformController<Output> {
  readonly desiredSize: number | null;
  enqueue(chunk: Output): void;
  error(reason?: unknown): void;
  terminate(): void;
}

/** Transforms the chunks piped through it, on demand. */
export class LightTransformStream<Input, Output> {
  readonly readable: LightReadableStream<Output>;
  readonly writable: { connect(input: Channel<Input>): void };

  constructor(transformer: Transformer<Input, Output> = {}) {
    const pipe = new Pipe(transformer);
    this.readable = new LightReadableStream(pipe.output);
    this.writable = pipe;
    pipe.start();
  }
}

/** Takes a chunk from its input when its output is awaited. */
class Pipe<Input, Output> implements Request<Input>, TransformController<Output> {
  readonly #transformer: Transformer<Input, Output>;
  readonly output: Channel<Output>;
  #input: Channel<Input> | undefined;
  #state: "idle" | "busy" | "over" = "idle";
  #isRunning = false;

  constructor(transformer: Transformer<Input, Output>) {
    this.#transformer = transformer;
    this.output = new Channel<Output>(
      { pull: () => this.#run(), cancel: (reason) => this.#cancel(reason) },
      0,
    );
  }

  start(): void {
    this.#state = "busy";
    this.#work(() => this.#transformer.start?.(this), this.#onDone);
    this.output.start();
  }

  connect(input: Channel<Input>): void {
    this.#input = input;
    // It may have failed already.
    if (this.#state === "over") void input.cancel(this.output.failure).catch(() => undefined);
    else this.#run();
  }

  get desiredSize(): number | null {
    return this.output.desiredSize;
  }

  enqueue(chunk: Output): void {
    this.output.enqueue(chunk);
  }

  error(reason?: unknown): void {
    this.#state = "over";
    this.output.error(reason);
    void this.#input?.cancel(reason).catch(() => undefined);
  }

  terminate(): void {
    this.#state = "over";
    if (this.output.isOpen) this.output.close();
    void this.#input
      ?.cancel(new TypeError("Invalid state: the transform has ended"))
      .catch(() => undefined);
  }

  chunk(chunk: Input): void {
    const transformer = this.#transformer;
    try {
      const result =
        transformer.transform === undefined
          ? this.enqueue(chunk as unknown as Output)
          : transformer.transform(chunk, this);
      if (isPromise(result)) result.then(this.#onDone, this.#onFailed);
      else this.#onDone();
    } catch (error) {
      this.#onFailed(error);
    }
  }

  close(): void {
    if (this.#state === "over") return;
    this.#work(
      () => this.#transformer.flush?.(this),
      () => {
        if (this.#state === "over") return;
        this.#state = "over";
        if (this.output.isOpen) this.output.close();
      },
    );
  }

  /** A single loop, even if many chunks produce no output. */
  #run(): void {
    if (this.#isRunning || this.#input === undefined) return;
    this.#isRunning = true;
    while (this.#state === "idle" && this.output.isAwaited) {
      this.#state = "busy";
      this.#input.read(this);
    }
    this.#isRunning = false;
  }

  #work(action: () => unknown, onDone: () => void): void {
    try {
      const result = action();
      if (isPromise(result)) result.then(onDone, this.#onFailed);
      else onDone();
    } catch (error) {
      this.#onFailed(error);
    }
  }

  readonly #onDone = () => {
    if (this.#state !== "busy") return;
    this.#state = "idle";
    this.#run();
  };

  readonly #onFailed = (error: unknown) => {
    if (this.#state !== "over") this.error(error);
  };

  async #cancel(reason: unknown): Promise<void> {
    this.#state = "over";
    await Promise.all([this.#transformer.cancel?.(reason), this.#input?.cancel(reason)]);
  }
}

/** Decodes bytes to text; UTF-8 by default. */
export class LightTextDecoderStream extends LightTransformStream<Uint8Array, string> {
  constructor(label?: string, options?: TextDecoderOptions) {
    const decoder = new TextDecoder(label, options);
    super({
      transform: (bytes, controller) => pass(decoder.decode(bytes, { stream: true }), controller),
      flush: (controller) => pass(decoder.decode(), controller),
    });
  }
}

function pass(text: string, controller: TransformController<string>): void {
  if (text !== "") controller.enqueue(text);
}
