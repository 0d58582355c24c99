/** Whether the model gets to see what a tool gave. A decision that anybody made is on record. */
import type { Decider, PermissionDecision, ToolCallRequest } from "../conversation/index.ts";
import { messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import {
  DELIVERY_CANCELLED,
  DELIVERY_SKIPPED,
  DELIVERY_SKIPPED_BY_CONFIG,
  INTERRUPTED_AT_DELIVERY,
  promptFailed,
} from "./model-texts.ts";
import { type CallableTool, type DeliveryResult, timestampOf, type TurnParts } from "./ports.ts";

export interface CallResult {
  readonly content: string;
  readonly isError: boolean;
}

export interface Delivery {
  readonly request: ToolCallRequest;
  readonly tool: CallableTool;
  readonly result: CallResult;
  readonly signal: AbortSignal;
}

/** What the model is told; undefined if everything was stopped before anybody decided. */
export async function deliver(
  parts: TurnParts,
  delivery: Delivery,
): Promise<CallResult | undefined> {
  const { settings } = delivery.tool;
  if (settings.result === "unattended") return delivery.result;
  if (settings.result === "skip") return withholdByPolicy(parts, delivery, "result");
  if (parts.prompter.canAsk()) return askPerson(parts, delivery);
  if (settings.detached.deliver === "deny") {
    parts.state.noteDenial({ tool: settings.name, what: "delivery" });
    return withholdByPolicy(parts, delivery, "detached.deliver");
  }
  const decidedBy = policy(delivery, "detached.deliver");
  await record(parts, delivery, { decision: "approved", decidedBy });
  return delivery.result;
}

async function askPerson(parts: TurnParts, delivery: Delivery): Promise<CallResult | undefined> {
  const { result, signal } = delivery;
  let decided: Decided | undefined;
  try {
    decided = await parts.prompts.run((own) => prompt(parts, delivery, own), signal);
  } catch (error) {
    const message = messageOf(error);
    return { content: promptFailed("Delivery", message), isError: true };
  }
  if (decided === undefined || (signal.aborted && decided.type === "closed")) return undefined;
  // No one decided: there is no decision to record.
  if (decided.type === "closed" && decided.cause === "interrupted") {
    return { content: INTERRUPTED_AT_DELIVERY, isError: true };
  }
  const decidedBy: Decider = { kind: "user", channel: parts.prompter.channel };
  if (decided.type === "deliver") {
    const { content = result.content } = decided;
    const decision = content === result.content ? "approved" : "edited";
    await record(parts, delivery, { decision, decidedBy });
    return { ...result, content };
  }
  await record(parts, delivery, { decision: "denied", decidedBy });
  const content = decided.type === "withhold" ? DELIVERY_SKIPPED : DELIVERY_CANCELLED;
  return { content, isError: false };
}

type Decided =
  | Extract<DeliveryResult, { type: "deliver" | "withhold" }>
  | { readonly type: "closed"; readonly cause: StopCause };

async function prompt(
  { prompter }: TurnParts,
  { tool: { settings }, result }: Delivery,
  signal: AbortSignal,
): Promise<Decided> {
  const decided = await prompter.askDelivery({
    tool: settings.name,
    ...result,
    isEditing: settings.result === "edit",
    signal,
  });
  if (decided.type === "cancelled" || decided.type === "interrupted") {
    return { type: "closed", cause: promptCause(decided, signal) };
  }
  // A prompter that was closed may report that as a no. It is not one.
  return decided.type === "withhold" && signal.aborted
    ? { type: "closed", cause: stopCause(signal) }
    : decided;
}

async function withholdByPolicy(
  parts: TurnParts,
  delivery: Delivery,
  key: string,
): Promise<CallResult> {
  await record(parts, delivery, { decision: "denied", decidedBy: policy(delivery, key) });
  return { content: DELIVERY_SKIPPED_BY_CONFIG, isError: false };
}

function policy({ tool }: Delivery, key: string): Decider {
  return { kind: "policy", key: `conversation.tools.${tool.settings.name}.${key}` };
}

async function record(
  parts: TurnParts,
  { request, tool }: Delivery,
  decided: Pick<PermissionDecision, "decision" | "decidedBy">,
): Promise<void> {
  await parts.journal.record({
    type: "permission_decision",
    timestamp: timestampOf(parts.clock),
    toolCallId: request.id,
    tool: tool.settings.name,
    action: "deliver",
    ...decided,
  });
}
