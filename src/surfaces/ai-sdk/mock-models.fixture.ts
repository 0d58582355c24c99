/** Mock language models with fixed replies, for both versions of the AI SDK. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { MockLanguageModelV3 } from "ai-6/test";

/** A text, or the input of a call to the tool `deploy` with the id `call_1`. */
type MockReply = string | { readonly input: object };

/** For `ai`. Can generate and stream. */
export function mockModel(...replies: readonly MockReply[]): MockLanguageModelV4 {
  const results = replies.map(toResult);
  let streamed = 0;
  return new MockLanguageModelV4({
    doGenerate: results,
    doStream: async () => ({ stream: toStream(results[streamed++] ?? toResult("")) }),
  });
}

/** For `ai6`. */
export function mockModelV3(...replies: readonly MockReply[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({ doGenerate: replies.map(toResult) });
}

function toResult(reply: MockReply) {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  const isText = typeof reply === "string";
  return {
    content: [isText ? { type: "text" as const, text: reply } : toCall(reply.input)],
    finishReason: { unified: isText ? ("stop" as const) : ("tool-calls" as const), raw: undefined },
    usage: { inputTokens: tokens, outputTokens: tokens },
    warnings: [],
  };
}

function toCall(input: object) {
  const call = { toolCallId: "call_1", toolName: "deploy", input: JSON.stringify(input) };
  return { type: "tool-call" as const, ...call };
}

function toStream({ content, finishReason, usage }: ReturnType<typeof toResult>) {
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of content) {
        if (part.type === "tool-call") controller.enqueue(part);
        else for (const piece of textParts(part.text)) controller.enqueue(piece);
      }
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
