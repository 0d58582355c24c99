/** Requests a whole reply from a model, with retries, for callers that do not stream. */
import { assertNever, type Clock } from "../../util/index.ts";
import type { EndReason, Model, ModelEvent, ModelRequest, Usage } from "./port.ts";
import { RetryCounter, type RetryPolicy } from "./provider-error.ts";
import { type StreamLimits, watchStream } from "./watch-stream.ts";

/** A request with its retry policy and limits. */
export interface CollectedRequest {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly policy: RetryPolicy & StreamLimits;
  readonly clock: Clock;
}

/** A complete reply, without its reasoning. */
export interface CollectedReply {
  readonly text: string;
  readonly toolCalls: readonly Extract<ModelEvent, { readonly type: "tool_call_request" }>[];
  readonly reason: EndReason;
  readonly usage: Usage;
}

/** Throws the last `ProviderError` when the retries are used up. On abort, throws the signal's reason at once. */
export async function collectReply(collected: CollectedRequest): Promise<CollectedReply> {
  const { request, policy, clock } = collected;
  const retries = new RetryCounter(policy);
  for (;;) {
    try {
      return await collectOnce(collected);
    } catch (error) {
      const retry = retries.next(error);
      if (retry === undefined) throw error;
      request.observe?.({ type: "retry_start", ...retry });
      await clock.sleep(retry.delayMs, request.signal);
    }
  }
}

async function collectOnce(collected: CollectedRequest): Promise<CollectedReply> {
  const { model, request, policy, clock } = collected;
  let reply: CollectedReply = { text: "", toolCalls: [], reason: "other", usage: {} };
  for await (const event of watchStream({ model, request, limits: policy, clock })) {
    reply = withEvent(reply, event);
  }
  return reply;
}

function withEvent(reply: CollectedReply, event: ModelEvent): CollectedReply {
  switch (event.type) {
    case "message_delta":
      return { ...reply, text: reply.text + event.text };
    case "tool_call_request":
      return { ...reply, toolCalls: [...reply.toolCalls, event] };
    case "response_end":
      return { ...reply, reason: event.reason, usage: event.usage };
    case "reasoning_delta":
    case "reasoning_end":
    case "message_end":
    case "tool_call_start":
    case "tool_call_delta":
    case "source":
    case "file":
      return reply;
    default:
      return assertNever(event);
  }
}
