/** A backend that asks a scripted model, in a conversation whose tool has paused. */
import type { AssistantSettings } from "../../settings/config/index.ts";
import {
  chatRequest,
  message,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import type { InquiryId } from "../../record/conversation/index.ts";
import { type Model, ProviderError } from "../../reach/provider/index.ts";
import { FakeClock } from "../../testing/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import { createInquiryBackend, type InquiryBackendOptions } from "./backend.ts";
import type { InquiryBackend, InquiryCall } from "./port.ts";

export const ASSISTANT: AssistantSettings = {
  name: "jp",
  model: { provider: "test", name: "scripted" },
  parameters: { temperature: 0, other: { seed: 1 } },
  systemPrompt: "Be brief.",
  sections: [{ title: "Rules", content: "Think." }],
  toolChoice: "required",
  request: {
    maxRetries: 1,
    baseBackoffMs: 100,
    maxBackoffMs: 1000,
    idleTimeoutMs: 0,
    promptTimeoutMs: 0,
    maxResponseBytes: 1000,
  },
  cache: "long",
};

export const TOOLS = [{ name: "a_tool", description: "Does it.", parameters: { type: "object" } }];
export const QUESTION = booleanQuestion("ok", "Go on?", { context: "-old\n+new" });
export const YES = '{"answer": true}';
export const ANSWERED = { type: "answered", answer: true, model: "test/scripted" };

export const history = [
  turnStart(),
  chatRequest("Hi"),
  message("Hello"),
  turnStart(),
  chatRequest("Fix it"),
  toolCall("a"),
  toolCall("b"),
  toolResult("b", "found"),
];

export const CALL: InquiryCall = {
  inquiryId: "a.ok.1" as InquiryId,
  toolCallId: "a",
  toolName: "a_tool",
  question: QUESTION,
  target: { type: "assistant", assistant: {} },
  stream: streamOf(...history),
  signal: new AbortController().signal,
};

export function createBackend(
  model: Model,
  options: Partial<InquiryBackendOptions> = {},
): InquiryBackend {
  return createInquiryBackend({
    assistant: () => ASSISTANT,
    model: () => Promise.resolve(model),
    tools: () => TOOLS,
    attachments: () => [{ source: "notes.md", content: "the notes" }],
    schemaMode: "stable",
    clock: new FakeClock(),
    ...options,
  });
}

export function provider(kind: ProviderError["kind"], isRetryable: boolean): ProviderError {
  return new ProviderError(kind, "Trouble.", { isRetryable });
}

/** Lets the delay before a retry pass. */
export async function moved(clock: FakeClock): Promise<void> {
  while (clock.sleepers === 0) await settled();
  clock.advance(100);
}

/** Waits for all work that does not need the clock. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
