/** Workers: processes that continue a store's incomplete turns. */
import type { TurnEnd } from "../core/agent/index.ts";
import {
  type ConversationId,
  endOf,
  lastTurnOf,
  readTurnProgress,
  readyAt,
} from "../record/conversation/index.ts";
import type { ConversationStore, ConversationWriter, RunningWork } from "../stores/index.ts";
import { isJpError, JpError, type Json, settlesWithin, toError } from "../util/index.ts";
import type { RecoveredTurn } from "./resuming.ts";
import { resumeTurn } from "./turn.ts";
import type { ResumeOptions, TurnResult } from "./turn-options.ts";

/** The options of a worker. */
export interface WorkerOptions<Data = Json> {
  /** A store that supports workers: a database. */
  readonly store: Pick<ConversationStore, "work">;
  /**
   * The options of the continued turns: the same for all, or by conversation. Decisions that need a person are left
   * for later, unless `defer` is false.
   */
  readonly turn:
    | ResumeOptions<Data>
    | ((conversation: ConversationWriter) => ResumeOptions<Data> | Promise<ResumeOptions<Data>>);
  /** Only turns enqueued under this name. `default` if absent. */
  readonly queue?: string;
  /** The maximum number of concurrent turns; 4 if absent. */
  readonly concurrency?: number;
  /** Stops the worker: it takes no further turns, and ends once the running ones have ended. */
  readonly signal?: AbortSignal;
  /** How long running turns may continue after that; then they are left to other workers. 20 seconds if absent. */
  readonly graceMs?: number;
  /** Called once the worker starts taking turns, with live figures of its work, for metrics. Must not throw. */
  readonly onStart?: (work: Pick<RunningWork, "running" | "measure">) => void;
  /** Called with the result of each turn. Must not throw. */
  readonly onTurn?: (turn: RecoveredTurn<Data>) => void;
  /** Called for errors between turns, such as an unreachable database. Must not throw. */
  readonly onProblem?: (problem: Error) => void;
}

const CONCURRENCY = 4;
const GRACE_MS = 20_000;

/**
 * Continues the store's turns that can continue: those that were enqueued, those whose last question was answered,
 * those that have waited too long for an answer, and those whose process is gone. Each runs until it ends or waits.
 * Failed turns are retried after a pause. Resolves once the worker has stopped. Throws `no_workers`,
 * `store_package_missing`, `store_not_migrated` and `store_unreachable`.
 */
export async function runWorker<Data = Json>(options: WorkerOptions<Data>): Promise<void> {
  const { turn, onTurn } = options;
  const resume = async (conversation: ConversationWriter, stop: AbortSignal) => {
    const given = typeof turn === "function" ? await turn(conversation) : turn;
    const signal = given.signal === undefined ? stop : AbortSignal.any([given.signal, stop]);
    return resumeTurn(conversation, { defer: true, ...given, signal });
  };
  const onEnd = (conversation: ConversationId, end: LeftEnd<TurnResult<Data>>) =>
    onTurn?.(
      end.type === "failed"
        ? { conversation, type: "failed", error: end.error }
        : { conversation, type: "resumed", turn: end.end },
    );
  await takeTurns({ ...options, resume, onEnd });
}

/** The result of a turn, or why there is none. */
export type LeftEnd<End> =
  | { readonly type: "ended"; readonly end: End }
  | { readonly type: "failed"; readonly error: Error };

/** How a worker continues its turns. */
export interface TakeOptions<End extends TurnEnd | undefined> extends Omit<
  WorkerOptions,
  "turn" | "onTurn"
> {
  /** Has to end soon after the signal is aborted. */
  readonly resume: (conversation: ConversationWriter, stop: AbortSignal) => Promise<End>;
  /** Called once the conversation is released. Must not throw. */
  readonly onEnd: (conversation: ConversationId, end: LeftEnd<End>) => void;
}

/** Like `runWorker`, for programs that assemble their turns themselves, as the command does. */
export async function takeTurns<End extends TurnEnd | undefined>(
  options: TakeOptions<End>,
): Promise<void> {
  const { store, queue = "default", concurrency = CONCURRENCY, signal, onProblem } = options;
  if (store.work === undefined) throw noWorkersError();
  if (signal?.aborted === true) return;
  const turnsEnd = new AbortController();
  const work = await store
    .work({
      queue,
      concurrency,
      run: (conversation) => runLeft(conversation, options, turnsEnd.signal),
      ...(signal !== undefined && { signal }),
      ...(onProblem !== undefined && { onProblem }),
    })
    .catch((error: unknown) => {
      if (signal?.aborted !== true || error !== signal.reason) throw error;
    });
  if (work === undefined) return;
  options.onStart?.(work);
  await untilAborted(signal);
  const stopped = work.stop();
  await settlesWithin(stopped, options.graceMs ?? GRACE_MS);
  turnsEnd.abort();
  await stopped;
}

/** Keeps the process running. The signal may have been aborted while the store was being opened. */
async function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  const alive = setInterval(() => undefined, 2 ** 30);
  await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
  clearInterval(alive);
}

/** Never throws. */
async function runLeft<End extends TurnEnd | undefined>(
  conversation: ConversationWriter,
  { resume, onEnd }: TakeOptions<End>,
  stop: AbortSignal,
): Promise<"ran" | "passed_on"> {
  const end = await resumeLeft(conversation, resume, stop);
  try {
    await conversation.release();
    onEnd(conversation.id, end);
  } catch (error) {
    onEnd(conversation.id, { type: "failed", error: toError(error) });
  }
  return end.type === "failed" && isForOthers(end.error) ? "passed_on" : "ran";
}

/** Another machine may have what the turn needs. */
export function isForOthers(error: unknown): boolean {
  return isJpError(error) && error.code === "tool_not_here";
}

async function resumeLeft<End extends TurnEnd | undefined>(
  conversation: ConversationWriter,
  resume: TakeOptions<End>["resume"],
  stop: AbortSignal,
): Promise<LeftEnd<End>> {
  try {
    const end = await resume(conversation, stop);
    // It would continue forever, at a cost.
    if (end?.type === "cycle_limit") conversation.leaveTo?.({ failure: "final" });
    // The record does not show what it waits for, so it would be picked up again at once.
    if (end?.type === "waiting" && canGoOnNow(conversation))
      conversation.leaveTo?.({ failure: "retry" });
    return { type: "ended", end };
  } catch (error) {
    if (!isForOthers(error)) conversation.leaveTo?.({ failure: "retry" });
    return { type: "failed", error: toError(error) };
  }
}

function canGoOnNow({ stream }: ConversationWriter): boolean {
  return readyAt(readTurnProgress(lastTurnOf(endOf(stream)))) === 0;
}

function noWorkersError(): JpError {
  return new JpError("no_workers", "Only a store in a database has workers.", {
    hint: 'Open it with openStore("postgres://…").',
  });
}
