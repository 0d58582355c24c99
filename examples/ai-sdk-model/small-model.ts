/** A minimal AI SDK model with three fixed replies. It needs no API key and no network. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";

export function createSmallModel(): LanguageModelV4 {
  const replies = [
    reply({ type: "tool-call", toolCallId: "call_1", toolName: "deploy", input: "{}" }),
    reply(...textParts('{"answer": true}')), // The answer to the tool's question.
    reply(...textParts("It is deployed.")),
  ];
  return {
    specificationVersion: "v4",
    provider: "example",
    modelId: "small",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("replies are streamed")),
    doStream: async () => ({ stream: replies.shift() ?? reply() }),
  };
}

function reply(...parts: readonly LanguageModelV4StreamPart[]) {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  const usage = { inputTokens: tokens, outputTokens: tokens };
  const finishReason = { unified: "stop", raw: "stop" } as const;
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.enqueue({ type: "finish", finishReason, usage });
      controller.close();
    },
  });
}

function textParts(text: string): readonly LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: text },
    { type: "text-end", id: "1" },
  ];
}
