/** The functions that programs call for turns. The code of each part is loaded with its first call. */
import type { TurnUpdate } from "../core/agent/index.ts";
import type { Compaction } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import { type Json, loaderOf } from "../util/index.ts";
import type { CompactOptions } from "./compaction.ts";
import type { DataOf, DataSchema, Message } from "./data.ts";
import type { Surroundings, SurroundingsOptions } from "./surroundings.ts";
import type {
  EnqueueOptions,
  ResumeOptions,
  TurnOptions,
  TurnResult,
  TurnServers,
} from "./turn-options.ts";
import type { UsageOptions, UsageSource, UsageTotal } from "./usage.ts";

/**
 * Runs one turn: a message, the assistant's replies, and every tool they call. With a `schema` in the message, the
 * result has `data`. Throws `ProviderError`, `McpError`, `write_failed`; `config_invalid`, `unknown_tool` and
 * `tool_name_clash` for the tools and their config; `invalid_message`, `invalid_file`, `invalid_schema` and
 * `schema_unsupported` for the message. Everything before the error is on record. Throws `turn_running` if another
 * turn runs on the same `conversation`, and `turn_waiting` if its last turn waits for a decision.
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
  return runOwnTurn(options as TurnOptions, message); // At runtime, names are plain strings.
}

/**
 * Continues the conversation's last turn, in this process or any other: finished calls are not rerun, and pending
 * decisions are asked again. Ends at once if nothing is missing. Throws like `runTurn`.
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
 * Records a message, and leaves the turn to a worker, which starts once the conversation is released. If the store
 * has no workers, use `recover`. Throws like `runTurn` for the message, `turn_waiting` and `write_failed`.
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
 * Runs one turn like `runTurn`, and yields its updates as they happen. While the reader is behind, the model's reply
 * waits. If the reader stops early, the turn ends cleanly.
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
  const ended = startStream<Schema>(
    {
      ...(options as TurnOptions), // At runtime, names are plain strings.
      waitForReader: () => updates.waitForReader(),
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

async function startStream<Schema extends DataSchema | undefined>(
  options: TurnOptions & { readonly waitForReader: () => Promise<void> },
  message: string | Message<Schema>,
): Promise<TurnResult<DataOf<Schema>>> {
  const { runOwnTurn } = await loadOwnTurn();
  return runOwnTurn(options, message);
}

/**
 * Shortens old turns for the model. The record keeps all of them. Returns what was recorded; nothing if no turn is
 * covered. If a summary fails, only its cost is recorded. Throws `write_failed`, and for a summary `ProviderError`,
 * `summary_failed`, `no_summarizer` and the signal's reason.
 */
export async function compactConversation(
  conversation: ConversationWriter,
  options: CompactOptions = {},
): Promise<readonly Compaction[]> {
  const { compactNow } = await loadCompaction();
  return compactNow(conversation, options);
}

const loadCompaction = loaderOf(() => import("./compact-now.ts"));

/**
 * Inspects a folder, and describes what a model should know about it. Pass the result as `surroundings` to turns.
 * Never throws: what cannot be found is left out.
 */
export async function describeSurroundings(options: SurroundingsOptions): Promise<Surroundings> {
  const { searchSurroundings } = await loadSearch();
  return searchSurroundings(options).complete;
}

const loadSearch = loaderOf(() => import("./surroundings.ts"));

/**
 * Adds up the usage of a store's conversations, archived ones included, sorted by `key`. Skips conversations outside
 * the period. Throws what the store throws, except for unreadable records.
 */
export async function readUsage(
  store: UsageSource,
  options: UsageOptions = {},
): Promise<readonly UsageTotal[]> {
  const { addUpUsage } = await loadTotals();
  return addUpUsage(store, options);
}

const loadTotals = loaderOf(() => import("./usage.ts"));

/** The model's reply waits while the reader has more than these to read. */
const MAX_UNREAD = 256;

/** Updates that have not been read yet. */
class UpdateQueue implements AsyncIterable<TurnUpdate> {
  #updates: TurnUpdate[] = [];
  #unread = 0;
  #isEnded = false;
  #wake = Promise.withResolvers<void>();
  #room: PromiseWithResolvers<void> | undefined;

  add(update: TurnUpdate): void {
    this.#updates.push(update);
    this.#unread += 1;
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async waitForReader(): Promise<void> {
    if (this.#unread <= MAX_UNREAD) return;
    this.#room ??= Promise.withResolvers();
    await this.#room.promise;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnUpdate, void, undefined> {
    for (;;) {
      const updates = this.#updates;
      this.#updates = [];
      for (const update of updates) {
        this.#take();
        yield update;
      }
      if (this.#updates.length > 0) continue;
      if (this.#isEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  #take(): void {
    this.#unread -= 1;
    if (this.#unread > MAX_UNREAD) return;
    this.#room?.resolve();
    this.#room = undefined;
  }
}
