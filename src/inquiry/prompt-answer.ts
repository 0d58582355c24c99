/**
 * A model's reply to words that a tool has for it. Nothing else is in the request, neither the
 * conversation nor our own instructions nor a tool: whoever wrote the words could ask for it.
 */
import type { AssistantSettings } from "../config/index.ts";
import {
  type ConversationEvent,
  intoParts,
  StreamEntry,
  type ThreadParts,
  type Timestamp,
  timestampFromDate,
} from "../conversation/index.ts";
import { collectReply, type Model } from "../provider/index.ts";
import type { ModelPrompt } from "../tool/index.ts";
import type { Clock } from "../util/index.ts";
import type { InquiryAnswer } from "./port.ts";

export interface PromptAnswerOptions {
  readonly prompt: ModelPrompt;
  /** Of it only what is said about the model counts. */
  readonly assistant: AssistantSettings;
  readonly model: Model;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function answerPrompt(options: PromptAnswerOptions): Promise<InquiryAnswer> {
  const { prompt, assistant, model, clock, signal } = options;
  const { parameters, request: policy } = assistant;
  const { maxTokens = Number.POSITIVE_INFINITY } = parameters;
  const reply = await collectReply({
    model,
    request: {
      parts: partsOf(prompt, timestampFromDate(clock.now())),
      tools: [],
      toolChoice: "none",
      parameters: { ...parameters, maxTokens: Math.min(maxTokens, prompt.maxTokens) },
      cache: "off", // It is not the beginning of anything that is asked again.
      signal,
    },
    policy,
    clock,
  });
  if (reply.reason === "refused") return refusedBy(model);
  const answered = { type: "answered", answer: reply.text, model: model.id } as const;
  return reply.reason === "length" ? { ...answered, isCutOff: true } : answered;
}

export function refusedBy(model: Model): InquiryAnswer {
  return { type: "failed", kind: "provider", message: `${model.id} refused to answer` };
}

function partsOf({ systemPrompt, messages }: ModelPrompt, timestamp: Timestamp): ThreadParts {
  const events = messages.map(({ role, text }): ConversationEvent =>
    role === "user"
      ? { type: "chat_request", timestamp, content: text }
      : { type: "chat_response", timestamp, content: { type: "message", text } },
  );
  const entries = [{ type: "turn_start", timestamp } as const, ...events].map((event) =>
    StreamEntry.fromEvent(event),
  );
  return intoParts({
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections: [],
    attachments: [],
    stream: { createdAt: timestamp, baseConfig: {}, entries },
  });
}
