/** `jp worker`: runs turns from a database until it is stopped. */
import { setFlagsFromString } from "node:v8";
import type { TurnEnd } from "../../../core/agent/index.ts";
import { resolveTools } from "../../../settings/config/index.ts";
import { type ConversationId, openCalls } from "../../../record/conversation/index.ts";
import {
  createConfiguredTurn,
  isForOthers,
  type LeftEnd,
  loadTurnParts,
  onceBegun,
  openTurn,
  type OpenTurn,
  type Place,
  takeTurns,
  warnWithheld,
} from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import {
  adviceOf,
  isJpError,
  JpError,
  loadModule,
  monotonicMs,
  oneLine,
} from "../../../util/index.ts";
import { type CommandContext, untilSignal } from "../../context.ts";
import type { Call } from "../../define.ts";
import { noDatabaseError } from "../../exit-status.ts";
import { noTerminal } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import { anchorIfDue } from "../evidence/daily-anchor.ts";
import { type LoggedEvent, WorkerLog } from "./log.ts";
import { WorkerMetrics } from "./metrics.ts";
import type { WORKER } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

/** Throws `usage`, `no_workspace`, `store_package_missing`, `store_not_migrated` and `store_unreachable`. */
export async function work({ options, context }: Call<typeof WORKER>): Promise<void> {
  keepHeapSmall();
  const { concurrency, queue, grace, format } = options;
  const { database, workspace, output } = context;
  if (database === undefined) {
    throw noDatabaseError("A worker needs a store in a database.");
  }
  using stop = untilSignal(context);
  const trusted = await trustedConfig(context, {});
  warnWithheld(trusted, context);
  const tools = [...resolveTools(trusted.config).values()]
    .filter(({ isEnabled }) => isEnabled)
    .map(({ name }) => name);
  const log = new WorkerLog(output, format ?? "text", context.clock);
  const metrics = new WorkerMetrics(queue);
  if (stop.signal.aborted) return;
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
    onProblem: (problem) => log.write({ event: "problem", ...describeProblem(problem) }),
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

async function resume(context: CommandContext, taken: TakenTurn): Promise<TurnEnd | undefined> {
  const { metrics } = taken;
  const start = monotonicMs();
  let outcome = "failed";
  try {
    const end = await continueTurn(context, taken);
    outcome = end?.type ?? "done";
    return end;
  } catch (error) {
    if (isForOthers(error)) outcome = "passed_on";
    throw error;
  } finally {
    metrics.count(outcome, monotonicMs() - start);
  }
}

/** Undefined if nothing was left to do. Throws for problems with the config, the workspace or the model. */
async function continueTurn(
  context: CommandContext,
  { conversation, left, log }: TakenTurn,
): Promise<TurnEnd | undefined> {
  const tell = (message: string) =>
    log.write({ event: "notice", conversation: conversation.id, message });
  const place: Place = { ...context, notice: tell, warn: (text) => tell(`warning: ${text}`) };
  await using opened = await openTurn(place, {
    found: conversation,
    opened: conversation,
    keepsOpen: true,
    onClosed: async ({ proof }) => {
      if (proof?.anchor?.every === "daily") anchorIfDue(context);
    },
  });
  if (opened === undefined) return undefined;
  await assertHasTools(opened);
  const { trusted, providers } = opened;
  const turn = await createConfiguredTurn(place, opened, {
    prompter: noTerminal,
    defer: true,
    observer: onceBegun(() => loadTurnParts(trusted.config, providers)),
  });
  const leave = () => turn.leave();
  left.addEventListener("abort", leave, { once: true });
  if (left.aborted) leave();
  try {
    return await turn.resume();
  } finally {
    left.removeEventListener("abort", leave);
  }
}

/** Otherwise the model would be told that the tool does not exist. Throws `tool_not_here`. */
async function assertHasTools({ tools, conversation }: OpenTurn): Promise<void> {
  const { signal } = new AbortController();
  for (const { request } of openCalls(conversation.stream)) {
    if ((await tools.toolbox.find(request.name, signal)) !== undefined) continue;
    throw new JpError("tool_not_here", `This machine has no tool ${oneLine(request.name)}.`, {
      hint: "Another worker may have it: leave turns to workers of one name with --queue.",
    });
  }
}

function describeEnd(conversation: ConversationId, end: LeftEnd<TurnEnd | undefined>): LoggedEvent {
  if (end.type === "ended") {
    return { event: "turn_end", conversation, outcome: end.end?.type ?? "done" };
  }
  const { error } = end;
  const code = isJpError(error) ? { code: error.code } : {};
  const outcome = isForOthers(error) ? "passed_on" : "failed";
  return { event: "turn_end", conversation, outcome, ...code, message: oneLine(error.message) };
}

/** Problems that a person has to solve. Others pass by themselves. */
const LASTING: ReadonlySet<string> = new Set(["turn_stepped_back", "workspace_unnamed"]);

/** With its code, and with what to do if it does not pass by itself. */
function describeProblem(
  problem: Error,
): Omit<Extract<LoggedEvent, { event: "problem" }>, "event"> {
  const { message } = problem;
  if (!isJpError(problem)) return { message };
  const { code } = problem;
  const hint = LASTING.has(code) ? adviceOf(problem) : undefined;
  return { code, message, ...(hint !== undefined && { hint }) };
}

async function serveHealth(
  { health, healthHost }: Pick<FlagsOf<typeof WORKER>, "health" | "healthHost">,
  metrics: WorkerMetrics,
  log: WorkerLog,
): Promise<AsyncDisposable | undefined> {
  if (health === undefined) return undefined;
  const { openHealth } = await loadModule(() => import("./health.ts"));
  const opened = await openHealth({ port: health, host: healthHost }, metrics);
  log.write({ event: "health", url: opened.url });
  return opened;
}
