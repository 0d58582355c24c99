/** Whether a call may run, and who says so. Each decision is on record before the call runs. */
import type { Decider, PermissionDecision, ToolCallRequest } from "../conversation/index.ts";
import { checkArguments } from "../executor/index.ts";
import { assertNever, type JsonObject, messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import {
  INTERRUPTED_BEFORE_RUN,
  notPermitted,
  promptFailed,
  SKIPPED,
  SKIPPED_BY_CONFIG,
  SKIPPED_BY_MEMORY,
  skippedBecause,
} from "./model-texts.ts";
import { type CallableTool, type PermissionResult, timestampOf, type TurnParts } from "./ports.ts";

export interface PermissionQuestion {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  /** Checked, with defaults filled in. */
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

export type Permission =
  /** `isEdited`: the arguments are not those that the model wanted. */
  | { readonly type: "granted"; readonly arguments: JsonObject; readonly isEdited: boolean }
  /** `content` is what the model is told. */
  | { readonly type: "refused"; readonly content: string; readonly isError: boolean }
  /** Everything was stopped before anybody decided. */
  | { readonly type: "cancelled" };

export async function decidePermission(
  parts: TurnParts,
  asked: PermissionQuestion,
): Promise<Permission> {
  const { settings } = asked.tool;
  const byPolicy = { kind: "policy" as const, key: `conversation.tools.${settings.name}.run` };
  if (settings.run === "unattended") return grant(parts, asked, { decidedBy: byPolicy });
  if (settings.run === "skip") {
    return refuse(parts, asked, { decidedBy: byPolicy, content: SKIPPED_BY_CONFIG });
  }
  return (await decideByMemory(parts, asked)) ?? (await askPerson(parts, asked));
}

/** A person's word for the rest of the turn; it does not stand in for editing the arguments. */
async function decideByMemory(
  parts: TurnParts,
  asked: PermissionQuestion,
): Promise<Permission | undefined> {
  const { settings } = asked.tool;
  const remembered = settings.run === "ask" ? parts.state.findPermission(settings.name) : undefined;
  if (remembered === undefined) return undefined;
  const decidedBy: Decider = { kind: "remembered", from: remembered.from };
  return remembered.isApproved
    ? grant(parts, asked, { decidedBy })
    : refuse(parts, asked, { decidedBy, content: SKIPPED_BY_MEMORY });
}

async function askPerson(parts: TurnParts, asked: PermissionQuestion): Promise<Permission> {
  if (!parts.prompter.canAsk()) return decideDetached(parts, asked);
  const decided = await parts.prompts.run(
    // While it waited for its turn, the person may have decided for the rest of the turn.
    async (signal) => (await decideByMemory(parts, asked)) ?? (await prompt(parts, asked, signal)),
    asked.signal,
  );
  return decided ?? { type: "cancelled" };
}

async function prompt(
  parts: TurnParts,
  asked: PermissionQuestion,
  signal: AbortSignal,
): Promise<Permission> {
  const { settings, description } = asked.tool;
  let result: PermissionResult;
  try {
    result = await parts.prompter.askPermission({
      tool: settings.name,
      origin: settings.source,
      arguments: asked.arguments,
      isEditing: settings.run === "edit",
      check: async (edited) => {
        const checked = await checkArguments(description, edited);
        return checked.ok ? undefined : checked.message;
      },
      signal,
    });
  } catch (error) {
    const message = messageOf(error);
    return { type: "refused", content: promptFailed("Permission", message), isError: true };
  }
  if (result.type === "cancelled" || result.type === "interrupted") {
    return takeClosed(parts, asked, promptCause(result, signal));
  }
  // A prompter that was closed may report that as a no. It is not one.
  if (result.type === "skip" && signal.aborted) return takeClosed(parts, asked, stopCause(signal));
  return takeResult(parts, asked, result);
}

/** The user has denied it; if no one decided, there is no decision to record. */
async function takeClosed(
  parts: TurnParts,
  asked: PermissionQuestion,
  cause: StopCause,
): Promise<Permission> {
  if (asked.signal.aborted) return { type: "cancelled" };
  if (cause === "interrupted") {
    return { type: "refused", content: INTERRUPTED_BEFORE_RUN, isError: true };
  }
  const decidedBy: Decider = { kind: "user", channel: parts.prompter.channel };
  return refuse(parts, asked, { decidedBy, content: SKIPPED });
}

async function takeResult(
  parts: TurnParts,
  asked: PermissionQuestion,
  result: Extract<PermissionResult, { type: "run" | "skip" }>,
): Promise<Permission> {
  const user = { kind: "user" as const, channel: parts.prompter.channel };
  switch (result.type) {
    case "run": {
      const decidedBy: Decider = result.isRemembered ? { ...user, scope: "turn" } : user;
      return grant(parts, asked, { decidedBy, edited: result.arguments });
    }
    case "skip": {
      const { reason, isRemembered } = result;
      const decidedBy: Decider = isRemembered ? { ...user, scope: "turn" } : user;
      const content = reason === undefined || reason === "" ? SKIPPED : skippedBecause(reason);
      return refuse(parts, asked, { decidedBy, content, reason });
    }
    default:
      return assertNever(result);
  }
}

/** Nobody is there: denied, unless the config says that such calls may run. */
function decideDetached(parts: TurnParts, asked: PermissionQuestion): Promise<Permission> {
  const { name, detached } = asked.tool.settings;
  const decidedBy: Decider = {
    kind: "policy",
    key: `conversation.tools.${name}.detached.run`,
  };
  if (detached.run === "auto") return grant(parts, asked, { decidedBy });
  parts.state.noteDenial({ tool: name, what: "permission" });
  return refuse(parts, asked, { decidedBy, content: notPermitted(name), isError: true });
}

interface Granted {
  readonly decidedBy: Decider;
  readonly edited?: JsonObject | undefined;
}

async function grant(
  parts: TurnParts,
  asked: PermissionQuestion,
  { decidedBy, edited }: Granted,
): Promise<Permission> {
  if (edited === undefined) {
    await record(parts, asked, { decision: "approved", decidedBy });
    return { type: "granted", arguments: asked.arguments, isEdited: false };
  }
  const checked = await checkArguments(asked.tool.description, edited);
  if (!checked.ok) return { type: "refused", content: checked.message, isError: true };
  const { arguments: ran } = checked;
  await record(parts, asked, { decision: "edited", arguments: ran, decidedBy });
  return { type: "granted", arguments: ran, isEdited: true };
}

interface Refused {
  readonly decidedBy: Decider;
  readonly content: string;
  readonly reason?: string | undefined;
  readonly isError?: boolean;
}

async function refuse(
  parts: TurnParts,
  asked: PermissionQuestion,
  { decidedBy, content, reason, isError = false }: Refused,
): Promise<Permission> {
  await record(parts, asked, {
    decision: "denied",
    decidedBy,
    ...(reason !== undefined && { reason }),
  });
  return { type: "refused", content, isError };
}

async function record(
  parts: TurnParts,
  { request, tool }: PermissionQuestion,
  decided: Pick<PermissionDecision, "decision" | "decidedBy" | "arguments" | "reason">,
): Promise<void> {
  const event: PermissionDecision = {
    type: "permission_decision",
    timestamp: timestampOf(parts.clock),
    toolCallId: request.id,
    tool: tool.settings.name,
    action: "run",
    ...decided,
  };
  await parts.journal.record(event);
  parts.state.rememberPermission(event);
}
