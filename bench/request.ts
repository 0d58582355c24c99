/** The request of a long conversation, from its record to the prompt of a provider's package. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { eventToJson, intoParts, StreamEntry } from "../src/conversation/index.ts";
import { fromLanguageModel } from "../src/provider/index.ts";
import { event } from "./data.ts";
import { compare, type Result, type Side } from "./measure.ts";

const ROUNDS = 25;
const REPLY: readonly LanguageModelV4StreamPart[] = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Yes." },
];

export async function benchRequest(): Promise<Result> {
  return {
    name: "request of 20,000 events / of 10,000",
    ...(await compare(requestOf(20_000), requestOf(10_000), ROUNDS)),
  };
}

/** Entries are decoded on first access, so each request gets new ones. */
function requestOf(count: number): Side {
  const elements = Array.from({ length: count }, (_, index) => eventToJson(event(index)));
  let length = 0;
  const model = fromLanguageModel({
    specificationVersion: "v4",
    provider: "anthropic.messages",
    modelId: "none",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async ({ prompt }) => {
      ({ length } = prompt);
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start: (controller) => REPLY.forEach((part) => controller.enqueue(part)),
      });
      return { stream };
    },
  });
  return async () => {
    const entries = elements.map((element) => StreamEntry.fromJson(element));
    const stream = { createdAt: event(0).timestamp, baseConfig: {}, entries };
    const request = {
      parts: intoParts({ systemPrompt: "Be brief.", sections: [], attachments: [], stream }),
      tools: [],
      toolChoice: "auto",
      parameters: { other: {} },
      cache: "short",
      signal: new AbortController().signal,
    } as const;
    for await (const { type } of model.stream(request)) if (type === "message_delta") break;
    if (length < count / 4) throw new Error(`Only ${length} messages were made.`);
  };
}
