/**
 * Decides whether a call may run. A decision is recorded at once, except for what the config decides without
 * anyone having been asked: that is recorded with what follows from it.
 */
import type { ToolSettings } from "../config/index.ts";
import {
  type CallProgress,
  type ConversationEvent,
  type Decider,
  decisionSubject,
  type InquiryId,
  type PermissionAction,
  type PermissionDecision,
  type PermissionRequestEvent,
  timestampFromDate,
  type ToolResult,
} from "../conversation/index.ts";
import { checkArguments } from "../executor/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";
import {
  NO_ANSWER_IN_TIME,
  noOneToPermit,
  permissionTimedOut,
  promptFailed,
  SKIPPED,
  SKIPPED_BY_CONFIG,
  SKIPPED_BY_MEMORY,
  skippedBecause,
} from "./model-texts.ts";
import type {
  CallableTool,
  CallToDecide,
  NoAnswerReason,
  PermissionResult,
  PromptBase,
} from "./ports.ts";
import { aboutCall, personOf, withoutAnswer } from "./prompts.ts";
import type { TurnContext } from "./context.ts";
import type { WaitingItem } from "./waiting.ts";

/** A call, as far as it has come. */
export interface PendingCall {
  readonly progress: CallProgress;
  readonly tool: CallableTool;
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

/** A call that someone decides about, here or elsewhere. */
export type UndecidedCall = PendingCall & { readonly item: WaitingItem };

export type Permission =
  | {
      readonly type: "granted";
      readonly arguments: JsonObject;
      /** A person changed the arguments that the model asked for. */
      readonly isEdited: boolean;
      /** To be recorded when the call starts. */
      readonly events: readonly ConversationEvent[];
    }
  | {
      readonly type: "refused";
      /** For the model. */
      readonly content: string;
      readonly isError: boolean;
      /** To be recorded with the response. */
      readonly events: readonly ConversationEvent[];
    }
  /** A person decides later. */
  | { readonly type: "pending" }
  /** The call was stopped before there was a decision. */
  | { readonly type: "cancelled" };

export async function decidePermission(
  context: TurnContext,
  call: PendingCall,
): Promise<Permission> {
  const { settings } = call.tool;
  const decidedBy = policy(call, "run");
  if (settings.run === "skip") {
    using item = waitingItem(context, call, "run");
    return refuse(context, { ...call, item }, { decidedBy, content: SKIPPED_BY_CONFIG });
  }
  const decided = useRecorded(call);
  if (decided !== undefined) return decided;
  using item = waitingItem(context, call, "run");
  const undecided = { ...call, item };
  const permission =
    settings.run === "unattended"
      ? await grant(context, undecided, { decidedBy })
      : ((await useRemembered(context, undecided)) ??
        (await useGiven(context, undecided)) ??
        (await askPerson(context, undecided)));
  const elsewhere = await item.elsewhere;
  if (elsewhere?.type !== "permission_decision") return permission;
  context.state.rememberPermission(elsewhere);
  return applyDecision(call, elsewhere);
}

/** What a person may decide about a call, here or elsewhere. */
export function waitingItem(
  { state }: TurnContext,
  { progress }: Pick<PendingCall, "progress">,
  action: PermissionAction,
): WaitingItem {
  return state.waiting.open(decisionSubject(progress.request.id, action));
}

/** A decision of an earlier process. A call in doubt is here only if it may run again. */
function useRecorded(call: PendingCall): Permission | undefined {
  const { decision } = call.progress.permissions.run ?? {};
  const isDenied = decision?.decision === "denied";
  if (!isDenied && !call.progress.isInDoubt && !isStillPermitted(call)) return undefined;
  return applyDecision(call, decision);
}

function applyDecision(call: PendingCall, decision: PermissionDecision | undefined): Permission {
  if (decision?.decision === "denied") {
    return { type: "refused", ...deniedText(decision), events: [] };
  }
  const { arguments: args = call.arguments } = decision ?? {};
  const isEdited = decision?.decision === "edited";
  return { type: "granted", arguments: args, isEdited, events: [] };
}

/** What the model is told of a denial that is on record. */
function deniedText({ tool, decidedBy, reason }: PermissionDecision): ToolResult {
  if (decidedBy.kind !== "policy") return { content: skipped(reason), isError: false };
  if (reason === NO_ANSWER_IN_TIME) return { content: permissionTimedOut(tool), isError: true };
  return decidedBy.key.endsWith(".detached.run")
    ? { content: noOneToPermit(tool), isError: true }
    : { content: SKIPPED_BY_CONFIG, isError: false };
}

/** Whether an earlier process was allowed to run the call. What the config allowed, it must still allow. */
export function isStillPermitted({
  progress,
  tool,
}: Pick<PendingCall, "progress" | "tool">): boolean {
  const { decision } = progress.permissions.run ?? {};
  if (decision === undefined || decision.decision === "denied") return false;
  const { decidedBy } = decision;
  if (decidedBy.kind !== "policy") return decidedBy.kind !== "unknown";
  const { run, detached } = tool.settings;
  const wasDetached = decidedBy.key === policy({ tool }, "detached.run").key;
  return run === "unattended" || (wasDetached && detached.run === "auto");
}

/** Reuses a decision for the whole turn, unless the person has to edit the arguments. */
async function useRemembered(
  context: TurnContext,
  call: UndecidedCall,
): Promise<Permission | undefined> {
  const { run, name } = call.tool.settings;
  const remembered = run === "ask" ? context.state.findPermission(name) : undefined;
  if (remembered === undefined) return undefined;
  const decidedBy: Decider = { kind: "remembered", from: remembered.from };
  return remembered.isApproved
    ? grant(context, call, { decidedBy })
    : refuse(context, call, { decidedBy, content: SKIPPED_BY_MEMORY });
}

/** A decision that was made before the turn. */
async function useGiven(
  context: TurnContext,
  call: UndecidedCall,
): Promise<Permission | undefined> {
  const given = context.answers?.findPermission(toDecide(call));
  if (given === undefined) return undefined;
  if (given === "later") return defer(context, call);
  const { isApproved, decidedBy, arguments: edited, reason } = given;
  if (isApproved) return grant(context, call, { decidedBy, edited });
  return refuse(context, call, { decidedBy, content: skipped(reason), reason });
}

/** As an `AnswerSource` is told of it. */
export function toDecide({
  tool,
  progress,
  arguments: args,
}: DecidedCall & Pick<PendingCall, "arguments">): CallToDecide {
  return { tool: tool.settings.name, toolCallId: progress.request.id, arguments: args };
}

async function askPerson(context: TurnContext, call: UndecidedCall): Promise<Permission> {
  const mode = withoutAnswer(context, call, call.tool.settings.detached.run);
  if (mode === "defer") return defer(context, call);
  if (mode !== "ask") return decideDetached(context, call);
  // Before it is its turn: it can be answered elsewhere while it waits.
  const asked = { action: "run", arguments: call.arguments } as const;
  const inquiryId = await recordRequest(context, call, asked);
  const permission = await context.prompts.run(
    // While this waited, the person may have decided for the whole turn.
    async (signal) =>
      (await useRemembered(context, call)) ?? (await prompt(context, call, { inquiryId, signal })),
    AbortSignal.any([call.signal, call.item.signal]),
  );
  return permission ?? { type: "cancelled" };
}

async function defer(context: TurnContext, call: UndecidedCall): Promise<Permission> {
  await recordRequest(context, call, { action: "run", arguments: call.arguments });
  return { type: "pending" };
}

/** Denies a call in a non-interactive run, unless the config lets it run. */
async function decideDetached(context: TurnContext, call: UndecidedCall): Promise<Permission> {
  const { name, detached } = call.tool.settings;
  const decidedBy = policy(call, "detached.run");
  if (detached.run === "auto") return grant(context, call, { decidedBy });
  context.state.addDenial({ tool: name, what: "permission" });
  return refuse(context, call, { decidedBy, content: noOneToPermit(name), isError: true });
}

async function prompt(
  context: TurnContext,
  call: UndecidedCall,
  asked: Pick<PromptBase, "inquiryId" | "signal">,
): Promise<Permission> {
  const { settings, description } = call.tool;
  const { signal } = asked;
  let result: PermissionResult;
  try {
    result = await context.prompter.askPermission({
      ...aboutCall(context, call, { ...asked, by: "assistant" }),
      origin: settings.source,
      arguments: call.arguments,
      isEditing: settings.run === "edit",
      canRemember: settings.run === "ask",
      check: async (edited) => {
        const checked = await checkArguments(description, edited);
        return checked.ok ? undefined : checked.message;
      },
    });
  } catch (error) {
    const content = promptFailed("Permission", messageOf(error));
    return { type: "refused", content, isError: true, events: [] };
  }
  if (result.type === "later") return { type: "pending" };
  if (result.type === "unanswered" && !signal.aborted) {
    return refuseUnanswered(context, call, result.reason);
  }
  const user = personOf(context, "userName" in result ? result : {});
  if (result.type !== "run" && result.type !== "skip") {
    return handleClosed(context, call, { cause: promptCause(result, signal), user });
  }
  // Some prompters report that they were closed as a no. That is not the person's decision.
  if (result.type === "skip" && signal.aborted) {
    return handleClosed(context, call, { cause: stopCause(signal), user });
  }
  const decidedBy: Decider = result.isRemembered === true ? { ...user, scope: "turn" } : user;
  if (result.type === "run") return grant(context, call, { decidedBy, edited: result.arguments });
  const { reason } = result;
  return refuse(context, call, { decidedBy, content: skipped(reason), reason });
}

function skipped(reason = ""): string {
  return reason === "" ? SKIPPED : skippedBecause(reason);
}

/** Closing the prompt is a no if the user did it. Otherwise the call waits for another process. */
async function handleClosed(
  context: TurnContext,
  call: UndecidedCall,
  { cause, user }: { readonly cause: StopCause; readonly user: Decider },
): Promise<Permission> {
  if (call.signal.aborted) return { type: "cancelled" };
  if (cause === "interrupted") return { type: "pending" };
  return refuse(context, call, { decidedBy: user, content: SKIPPED });
}

/** The config asks for a yes, and there was none. The person did not say no either. */
async function refuseUnanswered(
  context: TurnContext,
  call: UndecidedCall,
  reason: NoAnswerReason,
): Promise<Permission> {
  const { name, detached } = call.tool.settings;
  if (reason === "unavailable") {
    return detached.run === "defer" ? { type: "pending" } : decideDetached(context, call);
  }
  return refuse(context, call, {
    decidedBy: policy(call, "run"),
    content: permissionTimedOut(name),
    reason: NO_ANSWER_IN_TIME,
    isError: true,
  });
}

interface Grant {
  readonly decidedBy: Decider;
  readonly edited?: JsonObject | undefined;
}

async function grant(
  context: TurnContext,
  call: UndecidedCall,
  { decidedBy, edited }: Grant,
): Promise<Permission> {
  if (edited === undefined) {
    const events = await decide(context, call, { action: "run", decision: "approved", decidedBy });
    return { type: "granted", arguments: call.arguments, isEdited: false, events };
  }
  const checked = await checkArguments(call.tool.description, edited);
  if (!checked.ok) return { type: "refused", content: checked.message, isError: true, events: [] };
  const { arguments: args } = checked;
  const decided = { action: "run", decision: "edited", arguments: args, decidedBy } as const;
  const events = await decide(context, call, decided);
  return { type: "granted", arguments: args, isEdited: true, events };
}

interface Refusal {
  readonly decidedBy: Decider;
  readonly content: string;
  readonly reason?: string | undefined;
  readonly isError?: boolean;
}

async function refuse(
  context: TurnContext,
  call: UndecidedCall,
  { decidedBy, content, reason, isError = false }: Refusal,
): Promise<Permission> {
  const decided = { action: "run", decision: "denied", decidedBy } as const;
  const given = reason === undefined ? {} : { reason };
  const events = await decide(context, call, { ...decided, ...given });
  return { type: "refused", content, isError, events };
}

/**
 * Records a decision, unless someone elsewhere has decided before. Returns what is left to record with what
 * follows.
 */
export async function decide(
  context: TurnContext,
  call: DecidedCall & Pick<UndecidedCall, "item">,
  decided: Parameters<typeof createDecision>[2],
): Promise<readonly ConversationEvent[]> {
  if (!call.item.takeHere()) return [];
  const event = createDecision(context, call, decided);
  context.state.rememberPermission(event);
  const wasAsked = call.progress.permissions[event.action]?.request !== undefined;
  if (event.decidedBy.kind === "policy" && !wasAsked) return [event];
  await context.journal.record(event);
  return [];
}

/** A call that a decision is about. */
export interface DecidedCall extends Pick<PendingCall, "progress"> {
  readonly tool: { readonly settings: Pick<ToolSettings, "name"> };
}

/** A setting of the tool that decides. */
export function policy({ tool }: Pick<DecidedCall, "tool">, key: string) {
  return { kind: "policy" as const, key: `conversation.tools.${tool.settings.name}.${key}` };
}

function createDecision(
  { clock }: TurnContext,
  { progress, tool }: DecidedCall,
  decided: Omit<PermissionDecision, "type" | "timestamp" | "toolCallId" | "tool">,
): PermissionDecision {
  return {
    type: "permission_decision",
    timestamp: timestampFromDate(clock.now()),
    toolCallId: progress.request.id,
    tool: tool.settings.name,
    ...decided,
  };
}

/** Records that a person is asked, unless an earlier process has. Returns the id of the request. */
export async function recordRequest(
  { clock, journal, state }: TurnContext,
  { progress, tool }: DecidedCall,
  asked: Pick<PermissionRequestEvent, "action" | "arguments" | "result">,
): Promise<InquiryId> {
  const { request: recorded, decision } = progress.permissions[asked.action] ?? {};
  if (recorded !== undefined && decision === undefined) return recorded.id;
  const toolCallId = progress.request.id;
  const id = state.nextInquiryId(toolCallId, asked.action);
  const timestamp = timestampFromDate(clock.now());
  const { name } = tool.settings;
  await journal.record({
    type: "permission_request",
    timestamp,
    id,
    toolCallId,
    tool: name,
    ...asked,
  });
  return id;
}
