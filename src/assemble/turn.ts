/** The turns of programs. What runs them is loaded with the first one. */
import type { TurnUpdate } from "../core/agent/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { type Json, loaderOf } from "../util/index.ts";
import type { DataOf, DataSchema, Message } from "./data.ts";
import type {
  EnqueueOptions,
  ResumeOptions,
  TurnOptions,
  TurnResult,
  TurnServers,
} from "./turn-options.ts";

/**
 * Runs one turn: a message, the assistant's replies, and every tool they call. With a `schema` in the message,
 * the result has `data`. Throws `ProviderError`, `McpError`, `write_failed`; `config_invalid`, `unknown_tool` and
 * `tool_name_clash` for the tools and their config; `invalid_message`, `invalid_file`, `invalid_schema` and
 * `schema_unsupported` for the message. What happened until then is on record. Throws `turn_running` if another turn
 * runs on the same `conversation`, and `turn_waiting` if its last turn waits for a decision.
 */
export async function runTurn<
  Schema extends DataSchema | undefined = undefined,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  options: TurnOptions<Name, Servers>,
  message: string | Message<Schema>,
): Promise<TurnResult<DataOf<Schema>>> {
  const { runOwnTurn } = await loadOwnTurn();
  return runOwnTurn(options as TurnOptions, message); // For the parts of a turn, names are any texts.
}

/**
 * Continues the turn that the conversation ends with, in this process or any other: finished calls are not run
 * again, and what is still pending is asked again. Ends at once if nothing is missing. Throws like `runTurn`.
 */
export async function resumeTurn<
  Data = Json,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  conversation: ConversationWriter,
  options: ResumeOptions<Data, Name, Servers>,
): Promise<TurnResult<Data>> {
  const { resumeOwnTurn } = await loadOwnTurn();
  return resumeOwnTurn(conversation, options as ResumeOptions<Data>);
}

/**
 * Records a message, and leaves the turn to a worker, which takes it up once the conversation is released. Where the store has no
 * workers, `recover` does. Throws like `runTurn` for the message, `turn_waiting` and `write_failed`.
 */
export async function enqueueTurn(
  conversation: ConversationWriter,
  message: string | Message,
  options: EnqueueOptions = {},
): Promise<void> {
  const { enqueueOwnTurn } = await loadOwnTurn();
  return enqueueOwnTurn(conversation, message, options);
}

/** Throws `module_not_loaded`. */
const loadOwnTurn = loaderOf(() => import("./own-turn.ts"));

/**
 * Runs one turn as `runTurn` does, and yields what happens as it happens. A reader who stops early ends
 * the turn in good order.
 */
export async function* streamTurn<
  Schema extends DataSchema | undefined = undefined,
  Name extends string = string,
  Servers extends TurnServers = never,
>(
  options: TurnOptions<Name, Servers>,
  message: string | Message<Schema>,
): AsyncGenerator<TurnUpdate, TurnResult<DataOf<Schema>>, undefined> {
  const updates = new UpdateQueue();
  const stopped = new AbortController();
  const { signal = stopped.signal, observer } = options;
  const ended = runTurn(
    {
      ...options,
      signal: AbortSignal.any([signal, stopped.signal]),
      observer: {
        observe: (update) => {
          updates.add(update); // First, because the program's observer may throw.
          return observer?.observe(update);
        },
      },
    },
    message,
  );
  ended.catch(() => undefined).finally(() => updates.end());
  try {
    yield* updates;
    return await ended;
  } finally {
    stopped.abort();
    await ended.catch(() => undefined);
  }
}

/** Updates that were not read yet. */
class UpdateQueue implements AsyncIterable<TurnUpdate> {
  #updates: TurnUpdate[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  add(update: TurnUpdate): void {
    this.#updates.push(update);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnUpdate, void, undefined> {
    for (;;) {
      const updates = this.#updates;
      this.#updates = [];
      yield* updates;
      if (this.#updates.length > 0) continue;
      if (this.#isEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
