/** `jp worker`: runs turns from a database until it is stopped. */
import { setFlagsFromString } from "node:v8";
import type { TurnEnd } from "../../../core/agent/index.ts";
import { resolveTools } from "../../../settings/config/index.ts";
import type { ConversationId } from "../../../record/conversation/index.ts";
import { type LeftEnd, takeTurns } from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import { createOutput, type OutputStream } from "../../../surfaces/terminal/index.ts";
import { isJpError, loadModule, monotonicMs, oneLine } from "../../../util/index.ts";
import { type CommandContext, untilSignal } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { trustedConfig, warnWithheld } from "../../trust.ts";
import { continueUnattended } from "../query/query.ts";
import { type LoggedEvent, WorkerLog } from "./log.ts";
import { WorkerMetrics } from "./metrics.ts";

export interface WorkerFlags {
  readonly concurrency: number;
  readonly queue: string;
  /** In seconds. */
  readonly grace: number;
  /** The port of the health endpoint. */
  readonly health?: number;
  readonly healthHost: string;
  readonly format?: "text" | "json";
}

/** Throws `usage`, `no_workspace`, `store_package_missing`, `store_not_migrated` and `store_unreachable`. */
export async function work({ options, context }: Call<WorkerFlags>): Promise<void> {
  keepHeapSmall();
  const { concurrency, queue, grace, format } = options;
  const { database, workspace, output } = context;
  if (database === undefined) {
    throw usageError(
      "A worker needs a store in a database.",
      "Name one with --store postgres://… or JP_STORE, or set storage.url in your own config.",
    );
  }
  const trusted = await trustedConfig(context, {});
  warnWithheld(trusted, context);
  const tools = [...resolveTools(trusted.config).values()]
    .filter(({ isEnabled }) => isEnabled)
    .map(({ name }) => name);
  const log = new WorkerLog(output, format ?? "text", context.clock);
  const metrics = new WorkerMetrics(queue);
  using stop = untilSignal(context);
  await using _ = await serveHealth(options, metrics, log);
  await takeTurns<TurnEnd | undefined>({
    store: workspace.conversations,
    queue,
    concurrency,
    graceMs: grace * 1000,
    signal: stop.signal,
    onStart: (running) => {
      metrics.watch(running);
      log.write({ event: "start", workspace: workspace.root, queue, concurrency, tools });
      stop.signal.addEventListener("abort", () => {
        metrics.stop();
        log.write({ event: "stop", running: running.running });
      });
    },
    resume: async (conversation, left) => {
      log.write({ event: "turn_start", conversation: conversation.id });
      return resume(context, { conversation, left, log, metrics });
    },
    onEnd: (conversation, end) => log.write(describeEnd(conversation, end)),
    onProblem: ({ message }) => log.write({ event: "problem", message }),
  });
}

/** A worker is idle most of the time. After a busy minute, V8 would keep a hundred unused megabytes. */
function keepHeapSmall(): void {
  setFlagsFromString("--optimize-for-size");
}

interface TakenTurn {
  readonly conversation: ConversationWriter;
  /** Aborted when the worker can no longer wait for the turn. */
  readonly left: AbortSignal;
  readonly log: WorkerLog;
  readonly metrics: WorkerMetrics;
}

async function resume(
  context: CommandContext,
  { conversation, left, log, metrics }: TakenTurn,
): Promise<TurnEnd | undefined> {
  const { id } = conversation;
  const start = monotonicMs();
  const note = (line: string) => log.write({ event: "notice", conversation: id, message: line });
  let outcome = "failed";
  try {
    const end = await continueUnattended(turnContext(context, left, note), conversation);
    outcome = end?.type ?? "done";
    return end;
  } finally {
    metrics.count(outcome, monotonicMs() - start);
  }
}

/** The context of one of several concurrent turns: it has no terminal, and ends with the worker. */
function turnContext(
  context: CommandContext,
  left: AbortSignal,
  note: (line: string) => void,
): CommandContext {
  const { host } = context;
  const none: Disposable = { [Symbol.dispose]: () => undefined };
  return {
    ...context,
    output: createOutput({ stdout: sink(() => undefined), stderr: sink(note) }),
    onOutputGone: () => none,
    host: {
      ...host,
      notices: sink(() => undefined),
      onSignal: (signals, listener) => {
        if (!signals.includes("SIGTERM")) return none;
        left.addEventListener("abort", listener, { once: true });
        return { [Symbol.dispose]: () => left.removeEventListener("abort", listener) };
      },
    },
  };
}

/** Splits the output into lines. */
function sink(onLine: (line: string) => void): OutputStream {
  let pending = "";
  return {
    isTTY: false,
    columns: 0,
    on: () => undefined,
    write: (text) => {
      const lines = `${pending}${text}`.split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) if (line !== "") onLine(line);
    },
  };
}

function describeEnd(conversation: ConversationId, end: LeftEnd<TurnEnd | undefined>): LoggedEvent {
  if (end.type === "ended") {
    return { event: "turn_end", conversation, outcome: end.end?.type ?? "done" };
  }
  const { error } = end;
  const code = isJpError(error) ? { code: error.code } : {};
  const failed = { event: "turn_end", conversation, outcome: "failed" } as const;
  return { ...failed, ...code, message: oneLine(error.message) };
}

async function serveHealth(
  { health, healthHost }: Pick<WorkerFlags, "health" | "healthHost">,
  metrics: WorkerMetrics,
  log: WorkerLog,
): Promise<AsyncDisposable | undefined> {
  if (health === undefined) return undefined;
  const { openHealth } = await loadModule(() => import("./health.ts"));
  const opened = await openHealth({ port: health, host: healthHost }, metrics);
  log.write({ event: "health", url: opened.url });
  return opened;
}
