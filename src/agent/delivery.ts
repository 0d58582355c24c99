/** Decides whether the model sees a tool's result, and what to do about a call that may have run before. */
import type { ToolSettings } from "../config/index.ts";
import type {
  ConversationEvent,
  Decider,
  PermissionDecision,
  ToolResult,
} from "../conversation/index.ts";
import { type Question, selectQuestion } from "../tool/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";
import {
  DELIVERY_CANCELLED,
  DELIVERY_SKIPPED,
  DELIVERY_SKIPPED_BY_CONFIG,
  DELIVERY_TIMED_OUT,
  NO_ANSWER_IN_TIME,
  OUTCOME_UNKNOWN,
  promptFailed,
  SKIPPED_IN_DOUBT,
} from "./model-texts.ts";
import {
  decide,
  isStillPermitted,
  type PendingCall,
  policy,
  recordRequest,
  toDecide,
  type UndecidedCall,
  waitingItem,
} from "./permission.ts";
import type {
  DeliveryResult,
  GivenBy,
  GivenDelivery,
  GivenReply,
  NoAnswerReason,
  PromptBase,
  PromptRequest,
  PromptResult,
} from "./ports.ts";
import { aboutCall, personOf, withoutAnswer } from "./prompts.ts";
import type { TurnContext } from "./context.ts";

/** The response to a call, as the model sees it. */
export interface CallResult extends ToolResult {
  /** To be recorded with the response. */
  readonly events?: readonly ConversationEvent[];
}

/** `stopped`: before there was a decision. `pending`: a person decides later. */
export type Delivered = CallResult | "stopped" | "pending";

export interface Delivery extends Omit<PendingCall, "tool"> {
  readonly tool: { readonly settings: DeliverySettings };
  readonly result: ToolResult;
}

type Undelivered = Delivery & Pick<UndecidedCall, "item">;

type DeliverySettings = Pick<ToolSettings, "name" | "result" | "detached">;

/** A result outlives its tool: without the tool's settings a person decides, now or later. */
export function settingsOfMissing(name: string): DeliverySettings {
  const detached = { run: "deny", deliver: "defer", tool: "deny" } as const;
  return { name, result: "ask", detached };
}

export async function deliver(context: TurnContext, delivery: Delivery): Promise<Delivered> {
  const { decision } = delivery.progress.permissions.deliver ?? {};
  using item = waitingItem(context, delivery, "deliver");
  const undecided = { ...delivery, item };
  if (delivery.tool.settings.result === "skip") {
    return withholdByPolicy(context, undecided, "result");
  }
  if (decision !== undefined) return applyDecision(decision, delivery.result);
  const delivered = await deliverHere(context, undecided);
  const elsewhere = await item.elsewhere;
  return elsewhere?.type === "permission_decision"
    ? applyDecision(elsewhere, delivery.result)
    : delivered;
}

async function deliverHere(context: TurnContext, delivery: Undelivered): Promise<Delivered> {
  const { settings } = delivery.tool;
  if (settings.result === "unattended") return delivery.result;
  const given = context.answers?.findDelivery({ ...toDecide(delivery), result: delivery.result });
  if (given !== undefined && given !== "later") return useGiven(context, delivery, given);
  const mode = given ?? withoutAnswer(context, delivery, settings.detached.deliver);
  if (mode === "ask") return askPerson(context, delivery);
  if (mode === "defer" || mode === "later") {
    await recordRequest(context, delivery, { action: "deliver", result: delivery.result });
    return "pending";
  }
  return deliverDetached(context, delivery);
}

/** What the config says if no one can be asked. */
async function deliverDetached(context: TurnContext, delivery: Undelivered): Promise<Delivered> {
  const { settings } = delivery.tool;
  const { deliver: mode } = settings.detached;
  if (mode === "defer") return "pending";
  if (mode === "deny") {
    context.state.addDenial({ tool: settings.name, what: "delivery" });
    return withholdByPolicy(context, delivery, "detached.deliver");
  }
  const decidedBy = policy(delivery, "detached.deliver");
  return decideDelivery(context, delivery, {
    decision: "approved",
    decidedBy,
    seen: delivery.result,
  });
}

/** A decision that was made before the turn. */
async function useGiven(
  context: TurnContext,
  delivery: Undelivered,
  { isApproved, decidedBy, content }: GivenBy<GivenDelivery>,
): Promise<CallResult> {
  if (isApproved) return approve(context, delivery, { decidedBy, content });
  const seen = { content: DELIVERY_SKIPPED, isError: false };
  return decideDelivery(context, delivery, { decision: "denied", decidedBy, seen });
}

interface Approval {
  readonly decidedBy: Decider;
  /** Set if the result was edited. */
  readonly content: string | undefined;
}

async function approve(
  context: TurnContext,
  delivery: Undelivered,
  { decidedBy, content = delivery.result.content }: Approval,
): Promise<CallResult> {
  const { result } = delivery;
  const isEdited = content !== result.content;
  const seen = isEdited ? { content, isError: result.isError } : result;
  return decideDelivery(context, delivery, {
    decision: isEdited ? "edited" : "approved",
    decidedBy,
    seen,
  });
}

/** Given elsewhere, or to an earlier process. */
function applyDecision(
  { decision, result, decidedBy, reason }: PermissionDecision,
  own: ToolResult,
): CallResult {
  if (decision !== "denied") return result ?? own;
  if (decidedBy.kind !== "policy") return { content: DELIVERY_SKIPPED, isError: false };
  return reason === NO_ANSWER_IN_TIME
    ? { content: DELIVERY_TIMED_OUT, isError: true }
    : { content: DELIVERY_SKIPPED_BY_CONFIG, isError: false };
}

async function askPerson(context: TurnContext, delivery: Undelivered): Promise<Delivered> {
  const { result, signal, item } = delivery;
  const inquiryId = await recordRequest(context, delivery, { action: "deliver", result });
  let decided: Decided | undefined;
  try {
    const show = (promptSignal: AbortSignal) =>
      prompt(context, delivery, { inquiryId, signal: promptSignal });
    decided = await context.prompts.run(show, AbortSignal.any([signal, item.signal]));
  } catch (error) {
    return { content: promptFailed("Delivery", messageOf(error)), isError: true };
  }
  if (decided === undefined || (signal.aborted && decided.type === "closed")) return "stopped";
  if (decided.type === "later") return "pending";
  // The user did not close the prompt, so the result waits for another process.
  if (decided.type === "closed" && decided.cause === "interrupted") return "pending";
  if (decided.type === "unanswered") return settleUnanswered(context, delivery, decided.reason);
  const decidedBy = personOf(context, decided);
  if (decided.type === "deliver") {
    return approve(context, delivery, { decidedBy, content: decided.content });
  }
  const content = decided.type === "withhold" ? DELIVERY_SKIPPED : DELIVERY_CANCELLED;
  const seen = { content, isError: false };
  return decideDelivery(context, delivery, { decision: "denied", decidedBy, seen });
}

type Decided =
  | Extract<DeliveryResult, { type: "deliver" | "withhold" | "later" | "unanswered" }>
  | { readonly type: "closed"; readonly cause: StopCause; readonly userName?: string };

async function prompt(
  context: TurnContext,
  delivery: Delivery,
  asked: Pick<PromptBase, "inquiryId" | "signal">,
): Promise<Decided> {
  const { signal } = asked;
  const decided = await context.prompter.askDelivery({
    ...aboutCall(context, delivery, { ...asked, by: "tool" }),
    ...delivery.result,
    isEditing: delivery.tool.settings.result === "edit",
  });
  const isClosed = decided.type === "cancelled" || decided.type === "interrupted";
  if (isClosed || (decided.type === "unanswered" && signal.aborted)) {
    return { ...decided, type: "closed", cause: promptCause(decided, signal) };
  }
  // Some prompters report that they were closed as a no. That is not the person's decision.
  return decided.type === "withhold" && signal.aborted
    ? { type: "closed", cause: stopCause(signal) }
    : decided;
}

/** The config asks for a yes, and there was none. The person did not say no either. */
async function settleUnanswered(
  context: TurnContext,
  delivery: Undelivered,
  reason: NoAnswerReason,
): Promise<Delivered> {
  if (reason === "unavailable") return deliverDetached(context, delivery);
  const decidedBy = policy(delivery, "result");
  const seen = { content: DELIVERY_TIMED_OUT, isError: true };
  const decided = { decision: "denied", decidedBy, reason: NO_ANSWER_IN_TIME } as const;
  return decideDelivery(context, delivery, { ...decided, seen });
}

async function withholdByPolicy(
  context: TurnContext,
  delivery: Undelivered,
  key: string,
): Promise<CallResult> {
  const decidedBy = policy(delivery, key);
  const seen = { content: DELIVERY_SKIPPED_BY_CONFIG, isError: false };
  return decideDelivery(context, delivery, { decision: "denied", decidedBy, seen });
}

interface DeliveryDecision extends Pick<PermissionDecision, "decision" | "decidedBy" | "reason"> {
  /** What the model sees. */
  readonly seen: ToolResult;
}

async function decideDelivery(
  context: TurnContext,
  delivery: Undelivered,
  { seen, ...decided }: DeliveryDecision,
): Promise<CallResult> {
  // The response may not get on record, and then nothing else has what the person wrote.
  const edited = decided.decision === "edited" ? { result: seen } : {};
  const events = await decide(context, delivery, { action: "deliver", ...decided, ...edited });
  return { ...seen, events };
}

/** What to do about a call in doubt: `rerun` it, or give the model a result without. */
export type Resolved = Delivered | "rerun";

/** Runs a call again by itself only if its tool says that this does no harm, and the config allows it. */
export async function resolveDoubt(context: TurnContext, call: PendingCall): Promise<Resolved> {
  const { progress, tool } = call;
  const { decision } = progress.permissions.rerun ?? {};
  if (tool.settings.run === "skip") return { content: OUTCOME_UNKNOWN, isError: true };
  if (decision !== undefined) return applyRerun(decision);
  if (tool.isIdempotent === true && isStillPermitted(call)) return "rerun";
  using item = waitingItem(context, call, "rerun");
  const resolved = await resolveHere(context, { ...call, item });
  const elsewhere = await item.elsewhere;
  return elsewhere?.type === "permission_decision" ? applyRerun(elsewhere) : resolved;
}

async function resolveHere(context: TurnContext, call: UndecidedCall): Promise<Resolved> {
  const { settings } = call.tool;
  const question = rerunQuestion(settings.name, call.arguments);
  const given = context.answers?.findAnswer({ ...toDecide(call), question });
  if (given !== undefined && given !== "later") {
    return decideRerun(context, call, given);
  }
  const mode = given ?? withoutAnswer(context, call, settings.detached.run);
  const isOpen = mode === "ask" || mode === "defer" || mode === "later";
  if (!isOpen) return { content: OUTCOME_UNKNOWN, isError: true };
  const asked = { action: "rerun", arguments: call.arguments } as const;
  const inquiryId = await recordRequest(context, call, asked);
  if (mode !== "ask") return "pending";
  const show = async (signal: AbortSignal): Promise<Resolved> => {
    const result = await askAboutDoubt(context, call, { inquiryId, question, signal });
    if (result.type === "answered") {
      return decideRerun(context, call, { ...result, decidedBy: personOf(context, result) });
    }
    if (call.signal.aborted) return "stopped";
    if (result.type === "later") return "pending";
    const isUnanswered = result.type === "unanswered" && !signal.aborted;
    const isDeferred = isUnanswered && isLeftOpen(result.reason, settings);
    const isOver = isUnanswered ? !isDeferred : promptCause(result, signal) === "user";
    return isOver ? { content: OUTCOME_UNKNOWN, isError: true } : "pending";
  };
  const resolved = await context.prompts.run(
    show,
    AbortSignal.any([call.signal, call.item.signal]),
  );
  return resolved ?? "stopped";
}

/** The options of the question, and of `jp inquiry answer`. Any other text is the result. */
export const RERUN_ANSWERS = { rerun: "run", skip: "skip" } as const;

/** What to do about a call in doubt, as a question. */
export function rerunQuestion(tool: string, args: JsonObject = {}): Question {
  const text = `${tool} was cut off while it was running, and may or may not have finished. What now?`;
  return selectQuestion("rerun", text, {
    options: [
      { value: RERUN_ANSWERS.rerun, description: "run it again" },
      { value: RERUN_ANSWERS.skip, description: "continue without it" },
    ],
    allowsOther: true,
    ...(Object.keys(args).length > 0 && { context: JSON.stringify(args, null, 2) }),
    exclusive: true,
    persistence: "none",
  });
}

function isLeftOpen(reason: NoAnswerReason, { detached }: Pick<ToolSettings, "detached">): boolean {
  return reason === "unavailable" && detached.run === "defer";
}

async function askAboutDoubt(
  context: TurnContext,
  call: PendingCall,
  {
    question,
    ...asked
  }: Pick<PromptRequest, "inquiryId" | "signal"> & { readonly question: Question },
): Promise<PromptResult> {
  const base = aboutCall(context, call, { ...asked, by: "tool" });
  try {
    const about = { question, questionId: question.id, canRemember: false };
    return await context.prompter.ask({ ...base, ...about });
  } catch {
    return { inquiryId: asked.inquiryId, type: "interrupted" };
  }
}

async function decideRerun(
  context: TurnContext,
  call: UndecidedCall,
  { answer, decidedBy }: GivenBy<GivenReply>,
): Promise<Resolved> {
  const decided = rerunDecision(typeof answer === "string" ? answer : JSON.stringify(answer));
  const events = await decide(context, call, { action: "rerun", ...decided, decidedBy });
  const applied = applyRerun(decided);
  return applied === "rerun" ? applied : { ...applied, events };
}

/** What an answer about a call in doubt decides. */
export function rerunDecision(answer: string): RerunDecision {
  if (answer === RERUN_ANSWERS.rerun) return { decision: "approved" };
  if (answer === RERUN_ANSWERS.skip) return { decision: "denied" };
  return { decision: "edited", result: { content: answer, isError: false } };
}

type RerunDecision = Pick<PermissionDecision, "decision" | "result">;

function applyRerun({ decision, result }: RerunDecision): "rerun" | CallResult {
  if (decision === "approved") return "rerun";
  return result ?? { content: SKIPPED_IN_DOUBT, isError: true };
}
