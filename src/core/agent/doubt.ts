/**
 * A call in doubt: its own tool may be able to find out whether the call was done. It is asked before any person, and
 * only if what was permitted is still what would run. The tool never lets a call run again that is reserved for certain
 * people: it can only report what happened.
 */
import {
  type CheckCode,
  digestCall,
  type ForWhom,
  isForSome,
  type PermissionDecision,
  timestampFromDate,
  type ToolResult,
  whomOf,
} from "../../record/conversation/index.ts";
import type { CheckResult } from "../../reach/executor/index.ts";
import { abortable, isNotLoaded } from "../../util/index.ts";
import type { AskedCall } from "./asked.ts";
import { stalePermission } from "./attempts.ts";
import { CallBudget } from "./budget.ts";
import type { TurnContext } from "./context.ts";
import { CallSteps } from "./steps.ts";
import { describeCall, targetNow, type WhomContext } from "./subject.ts";

/** How long a check may take. */
const CHECK_TIMEOUT_MS = 30_000;

/** A call in doubt. Its arguments are those that it ran with. */
export type CallInDoubt = Extract<AskedCall, { readonly kind: "permission" | "in_doubt" }>;

/** The tool's verdict on the call. */
export type CheckedCall =
  /** On record. */
  | { readonly type: "decided"; readonly decision: PermissionDecision }
  /** Someone else has to decide. `check` is absent if the tool was not asked. */
  | { readonly type: "open"; readonly check?: CheckCode }
  /** The call was stopped first. */
  | { readonly type: "stopped" };

const OPEN: CheckedCall = { type: "open" };

/** Lets the tool of a call in doubt find out what became of it. */
export async function checkCall(context: TurnContext, call: CallInDoubt): Promise<CheckedCall> {
  const { tool, progress, asking } = call;
  // Once people have been asked about a doubt, it is theirs to decide.
  if (tool.executor.check === undefined || progress.permissions.rerun !== undefined) return OPEN;
  if (!(await isAsPermitted(context, call))) return OPEN;
  call.place.pass(); // It may take its time.
  const checked = await runCheck(context, call);
  if (checked === undefined) return asking.aborted ? { type: "stopped" } : OPEN;
  const { type: check } = checked;
  const isDecided = check === "done" || (check === "not_done" && !isForPeople(context, call));
  if (!isDecided) return { type: "open", check };
  const { journal, state, clock } = context;
  const { toolCallId } = call;
  const subject = digestCall(await describeCall(context, call), whomNow(context, call));
  const decision: PermissionDecision = {
    type: "permission_decision",
    timestamp: timestampFromDate(clock.now()),
    id: state.nextPermissionId(toolCallId, "rerun"),
    toolCallId,
    tool: tool.settings.name,
    action: "rerun",
    ...(check === "done"
      ? { decision: "edited", result: toResult(context, call, checked) }
      : { decision: "approved" }),
    check,
    decidedBy: { kind: "tool" },
    digest: subject.digest,
  };
  await journal.record(decision);
  return { type: "decided", decision };
}

/** The decision about a doubt that counts. The tool's own does not if only certain people may decide by now. */
export function decisionOnDoubt(
  context: WhomContext,
  call: CallInDoubt,
): PermissionDecision | undefined {
  const { decision } = call.progress.permissions.rerun ?? {};
  const isTools = decision?.decidedBy.kind === "tool" && decision.decision === "approved";
  return isTools && isForPeople(context, call) ? undefined : decision;
}

/** Whether only certain people may let it run again: now, when it was permitted, or when it started. */
function isForPeople(context: WhomContext, call: CallInDoubt): boolean {
  return [whomNow(context, call), call.progress.startedFor ?? {}].some(isForSome);
}

/**
 * The people that config names, or else those who had to let it run. No one has been asked yet whether it may run
 * again.
 */
function whomNow(context: WhomContext, { progress, verdict }: CallInDoubt): ForWhom {
  const whom = targetNow(context, verdict.target ?? {});
  return isForSome(whom) ? whom : whomOf(progress.permissions.run?.request ?? {});
}

/** Whether the tool is the one that was allowed to run. A check runs the same program. */
async function isAsPermitted(context: TurnContext, call: CallInDoubt): Promise<boolean> {
  const { permitted } = call.progress;
  const now = await describeCall(context, call);
  const permission = { ...call, permission: permitted, events: [] };
  return (await stalePermission(context, permission, { now, answers: [] })).length === 0;
}

/** Undefined if the call was stopped first. */
async function runCheck(
  context: TurnContext,
  { toolCallId, tool, progress, arguments: args, asking }: CallInDoubt,
): Promise<CheckResult | undefined> {
  const { journal, state, clock, observer } = context;
  await state.findTurnIndex(journal); // The key depends on it.
  using steps = new CallSteps(context, progress);
  const { idempotencyKey } = steps;
  const { name } = tool.settings;
  const [ended, late] = [new AbortController(), new AbortController()];
  clock.sleep(CHECK_TIMEOUT_MS, ended.signal).then(
    () => late.abort(),
    () => undefined, // The check has ended.
  );
  const signal = AbortSignal.any([asking, late.signal]);
  try {
    const check = tool.executor.check?.({
      toolCallId,
      arguments: args,
      signal,
      idempotencyKey,
      onProgress: (message) =>
        observer?.observe({ type: "tool_progress", toolCallId, tool: name, message }),
    });
    return check && (await abortable(check, signal));
  } catch (error) {
    if (asking.aborted) return undefined;
    if (isNotLoaded(error)) throw error; // The call stays open.
    return { type: late.signal.aborted ? "timed_out" : "failed" };
  } finally {
    ended.abort();
  }
}

/** Shortened to what the record accepts. */
function toResult(
  context: TurnContext,
  { progress }: CallInDoubt,
  { isError, type: _type, ...content }: Extract<CheckResult, { readonly type: "done" }>,
): ToolResult {
  using steps = new CallSteps(context, progress);
  const budget = new CallBudget(context, 0);
  budget.restore(steps.bytes, false);
  const result = budget.fitResult(content);
  return { ...result, isError };
}
