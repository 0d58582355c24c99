/** Decides whether a call may run. Every decision is recorded before the call runs. */
import {
  type Decider,
  type PermissionDecision,
  timestampFromDate,
  type ToolCallRequest,
} from "../conversation/index.ts";
import { checkArguments } from "../executor/index.ts";
import { type JsonObject, messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import {
  INTERRUPTED_BEFORE_RUN,
  noOneToPermit,
  promptFailed,
  SKIPPED,
  SKIPPED_BY_CONFIG,
  SKIPPED_BY_MEMORY,
  skippedBecause,
} from "./model-texts.ts";
import type { CallableTool, PermissionResult } from "./ports.ts";
import type { TurnContext } from "./state.ts";

/** A call that waits for permission. */
export interface PendingCall {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

export type Permission =
  /** `isEdited`: a person changed the arguments that the model asked for. */
  | { readonly type: "granted"; readonly arguments: JsonObject; readonly isEdited: boolean }
  /** The model sees `content`. */
  | { readonly type: "refused"; readonly content: string; readonly isError: boolean }
  /** The call was stopped before there was a decision. */
  | { readonly type: "cancelled" };

export async function decidePermission(
  context: TurnContext,
  call: PendingCall,
): Promise<Permission> {
  const { settings } = call.tool;
  const decidedBy = { kind: "policy" as const, key: `conversation.tools.${settings.name}.run` };
  if (settings.run === "unattended") return grant(context, call, { decidedBy });
  if (settings.run === "skip") {
    return refuse(context, call, { decidedBy, content: SKIPPED_BY_CONFIG });
  }
  return (await useRemembered(context, call)) ?? (await askPerson(context, call));
}

/** Reuses a decision for the whole turn, unless the person has to edit the arguments. */
async function useRemembered(
  context: TurnContext,
  call: PendingCall,
): Promise<Permission | undefined> {
  const { run, name } = call.tool.settings;
  const remembered = run === "ask" ? context.state.findPermission(name) : undefined;
  if (remembered === undefined) return undefined;
  const decidedBy: Decider = { kind: "remembered", from: remembered.from };
  return remembered.isApproved
    ? grant(context, call, { decidedBy })
    : refuse(context, call, { decidedBy, content: SKIPPED_BY_MEMORY });
}

async function askPerson(context: TurnContext, call: PendingCall): Promise<Permission> {
  if (!context.prompter.canAsk()) return decideDetached(context, call);
  const permission = await context.prompts.run(
    // While this waited, the person may have decided for the whole turn.
    async (signal) => (await useRemembered(context, call)) ?? (await prompt(context, call, signal)),
    call.signal,
  );
  return permission ?? { type: "cancelled" };
}

/** Denies a call in a non-interactive run, unless the config lets it run. */
function decideDetached(context: TurnContext, call: PendingCall): Promise<Permission> {
  const { name, detached } = call.tool.settings;
  const decidedBy: Decider = { kind: "policy", key: `conversation.tools.${name}.detached.run` };
  if (detached.run === "auto") return grant(context, call, { decidedBy });
  context.state.addDenial({ tool: name, what: "permission" });
  return refuse(context, call, { decidedBy, content: noOneToPermit(name), isError: true });
}

async function prompt(
  context: TurnContext,
  call: PendingCall,
  signal: AbortSignal,
): Promise<Permission> {
  const { settings, description } = call.tool;
  let result: PermissionResult;
  try {
    result = await context.prompter.askPermission({
      tool: settings.name,
      origin: settings.source,
      arguments: call.arguments,
      isEditing: settings.run === "edit",
      check: async (edited) => {
        const checked = await checkArguments(description, edited);
        return checked.ok ? undefined : checked.message;
      },
      signal,
    });
  } catch (error) {
    const content = promptFailed("Permission", messageOf(error));
    return { type: "refused", content, isError: true };
  }
  if (result.type === "cancelled" || result.type === "interrupted") {
    return handleClosed(context, call, promptCause(result, signal));
  }
  // Some prompters report that they were closed as a no. That is not the person's decision.
  if (result.type === "skip" && signal.aborted) {
    return handleClosed(context, call, stopCause(signal));
  }
  const user = { kind: "user" as const, channel: context.prompter.channel };
  const decidedBy: Decider = result.isRemembered ? { ...user, scope: "turn" } : user;
  if (result.type === "run") return grant(context, call, { decidedBy, edited: result.arguments });
  const { reason } = result;
  const content = reason === undefined || reason === "" ? SKIPPED : skippedBecause(reason);
  return refuse(context, call, { decidedBy, content, reason });
}

/** Closing the prompt is a no if the user did it. Otherwise there is no decision to record. */
async function handleClosed(
  context: TurnContext,
  call: PendingCall,
  cause: StopCause,
): Promise<Permission> {
  if (call.signal.aborted) return { type: "cancelled" };
  if (cause === "interrupted") {
    return { type: "refused", content: INTERRUPTED_BEFORE_RUN, isError: true };
  }
  const decidedBy: Decider = { kind: "user", channel: context.prompter.channel };
  return refuse(context, call, { decidedBy, content: SKIPPED });
}

interface Grant {
  readonly decidedBy: Decider;
  readonly edited?: JsonObject | undefined;
}

async function grant(
  context: TurnContext,
  call: PendingCall,
  { decidedBy, edited }: Grant,
): Promise<Permission> {
  if (edited === undefined) {
    await recordDecision(context, call, { action: "run", decision: "approved", decidedBy });
    return { type: "granted", arguments: call.arguments, isEdited: false };
  }
  const checked = await checkArguments(call.tool.description, edited);
  if (!checked.ok) return { type: "refused", content: checked.message, isError: true };
  const { arguments: args } = checked;
  const decided = { action: "run", decision: "edited", arguments: args, decidedBy } as const;
  await recordDecision(context, call, decided);
  return { type: "granted", arguments: args, isEdited: true };
}

interface Refusal {
  readonly decidedBy: Decider;
  readonly content: string;
  readonly reason?: string | undefined;
  readonly isError?: boolean;
}

async function refuse(
  context: TurnContext,
  call: PendingCall,
  { decidedBy, content, reason, isError = false }: Refusal,
): Promise<Permission> {
  const decided = { action: "run", decision: "denied", decidedBy } as const;
  await recordDecision(context, call, { ...decided, ...(reason !== undefined && { reason }) });
  return { type: "refused", content, isError };
}

/** Records a decision about running a call or about delivering its result. */
export async function recordDecision(
  { journal, state, clock }: TurnContext,
  { request, tool }: Pick<PendingCall, "request" | "tool">,
  decided: Omit<PermissionDecision, "type" | "timestamp" | "toolCallId" | "tool">,
): Promise<void> {
  const event: PermissionDecision = {
    type: "permission_decision",
    timestamp: timestampFromDate(clock.now()),
    toolCallId: request.id,
    tool: tool.settings.name,
    ...decided,
  };
  await journal.record(event);
  state.rememberPermission(event);
}
