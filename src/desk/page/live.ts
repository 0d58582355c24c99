/** The stream of events, opened again whenever it breaks, from where it broke. */
import { EventParser, type StreamEvent } from "../event-parser.ts";
import { type Api, ApiError } from "./api.ts";

/** Whether the page hears of changes. */
export type Connection = "connecting" | "live" | "lost";

/** What a listener is told. */
export interface LiveOptions {
  readonly onEvent: (event: StreamEvent) => void;
  /** `live` is told after each time the stream opens. What was missed before it is the listener's to read. */
  readonly onConnection: (connection: Connection) => void;
  readonly onLoggedOut: () => void;
  readonly signal: AbortSignal;
  /** Resolves after this time, or as soon as it makes sense to try again. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;
/** The server sends comments in between. A stream that is silent for longer is dead. */
const MAX_SILENCE_MS = 60_000;

/** Listens until the signal is aborted, or no one is logged in any more. */
export async function listen(api: Api, options: LiveOptions): Promise<void> {
  const { onConnection, onLoggedOut, signal, wait } = options;
  let lastId: string | undefined;
  let pause = FIRST_WAIT_MS;
  onConnection("connecting");
  while (!signal.aborted) {
    const silence = new Silence(signal);
    try {
      const response = await api.openEvents(lastId, silence.signal);
      onConnection("live");
      pause = FIRST_WAIT_MS;
      for await (const event of readEvents(response, () => silence.restart())) {
        lastId = event.id ?? lastId;
        options.onEvent(event);
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return onLoggedOut();
    } finally {
      silence.stop();
    }
    if (signal.aborted) return;
    onConnection("lost");
    await wait(pause, signal);
    pause = Math.min(pause * 2, MAX_WAIT_MS);
  }
}

/** Aborts a stream on which nothing arrives. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
    this.restart();
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), MAX_SILENCE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

async function* readEvents(response: Response, onData: () => void): AsyncGenerator<StreamEvent> {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) return;
    onData();
    yield* parser.push(decoder.decode(value, { stream: true }));
  }
}
