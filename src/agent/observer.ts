/** What happens in a turn, as it happens: for the eye, and for programs that follow along. */
import type { ConversationEvent } from "../conversation/index.ts";
import type { EndReason, ProviderError, Usage } from "../provider/index.ts";

/** Hears everything that happens in a turn. */
export interface Observer {
  /** Must not throw, and must not wait. */
  observe(update: TurnUpdate): void;
}

/** One thing that happened in a turn: an event that was recorded, or what led to it. */
export type TurnUpdate =
  /** It is on the disk. */
  | { readonly type: "event"; readonly event: ConversationEvent }
  /** A request to the model; the first of a turn is number 1. */
  | { readonly type: "cycle_start"; readonly cycle: number }
  | { readonly type: "reasoning_delta"; readonly text: string }
  | { readonly type: "message_delta"; readonly text: string }
  /** The model has begun to write a call. */
  | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
  /** A line about what a tool is doing. */
  | {
      readonly type: "tool_call_delta";
      readonly toolCallId: string;
      readonly tool: string;
      readonly message: string;
    }
  | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage }
  /** The request failed and will be made again. */
  | {
      readonly type: "retry_start";
      readonly error: ProviderError;
      readonly retry: number;
      readonly maxRetries: number;
      readonly delayMs: number;
    };
