/** Decides whether the model sees a tool's result. Every decision is recorded. */
import type { Decider, ToolCallRequest } from "../conversation/index.ts";
import { messageOf } from "../util/index.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import {
  DELIVERY_CANCELLED,
  DELIVERY_SKIPPED,
  DELIVERY_SKIPPED_BY_CONFIG,
  INTERRUPTED_AT_DELIVERY,
  promptFailed,
} from "./model-texts.ts";
import { recordDecision } from "./permission.ts";
import type { CallableTool, DeliveryResult } from "./ports.ts";
import type { TurnContext } from "./state.ts";

/** The response to a call, as the model sees it. */
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

/** Returns what the model sees, or undefined if the call was stopped before there was a decision. */
export async function deliver(
  context: TurnContext,
  delivery: Delivery,
): Promise<CallResult | undefined> {
  const { settings } = delivery.tool;
  if (settings.result === "unattended") return delivery.result;
  if (settings.result === "skip") return withholdByPolicy(context, delivery, "result");
  if (context.prompter.canAsk()) return askPerson(context, delivery);
  if (settings.detached.deliver === "deny") {
    context.state.addDenial({ tool: settings.name, what: "delivery" });
    return withholdByPolicy(context, delivery, "detached.deliver");
  }
  const decidedBy = policy(delivery, "detached.deliver");
  await recordDecision(context, delivery, { action: "deliver", decision: "approved", decidedBy });
  return delivery.result;
}

async function askPerson(
  context: TurnContext,
  delivery: Delivery,
): Promise<CallResult | undefined> {
  const { result, signal } = delivery;
  let decided: Decided | undefined;
  try {
    const show = (promptSignal: AbortSignal) => prompt(context, delivery, promptSignal);
    decided = await context.prompts.run(show, signal);
  } catch (error) {
    return { content: promptFailed("Delivery", messageOf(error)), isError: true };
  }
  if (decided === undefined || (signal.aborted && decided.type === "closed")) return undefined;
  // The user did not close the prompt, so there is no decision to record.
  if (decided.type === "closed" && decided.cause === "interrupted") {
    return { content: INTERRUPTED_AT_DELIVERY, isError: true };
  }
  const decidedBy: Decider = { kind: "user", channel: context.prompter.channel };
  if (decided.type === "deliver") {
    const { content = result.content } = decided;
    const decision = content === result.content ? "approved" : "edited";
    await recordDecision(context, delivery, { action: "deliver", decision, decidedBy });
    return { ...result, content };
  }
  await recordDecision(context, delivery, { action: "deliver", decision: "denied", decidedBy });
  const content = decided.type === "withhold" ? DELIVERY_SKIPPED : DELIVERY_CANCELLED;
  return { content, isError: false };
}

type Decided =
  | Extract<DeliveryResult, { type: "deliver" | "withhold" }>
  | { readonly type: "closed"; readonly cause: StopCause };

async function prompt(
  { prompter }: TurnContext,
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
  // Some prompters report that they were closed as a no. That is not the person's decision.
  return decided.type === "withhold" && signal.aborted
    ? { type: "closed", cause: stopCause(signal) }
    : decided;
}

async function withholdByPolicy(
  context: TurnContext,
  delivery: Delivery,
  key: string,
): Promise<CallResult> {
  const decidedBy = policy(delivery, key);
  await recordDecision(context, delivery, { action: "deliver", decision: "denied", decidedBy });
  return { content: DELIVERY_SKIPPED_BY_CONFIG, isError: false };
}

function policy({ tool }: Delivery, key: string): Decider {
  return { kind: "policy", key: `conversation.tools.${tool.settings.name}.${key}` };
}
