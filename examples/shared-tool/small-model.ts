/** A minimal AI SDK model that calls `deploy`, and then repeats the result. It needs no API key and no network. */
import { MockLanguageModelV4 } from "ai/test";

export function createSmallModel() {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  const input = JSON.stringify({ version: "1.4" });
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const [result] = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
      const output = result?.type === "tool-result" ? result.output : undefined;
      return {
        content: [
          output === undefined
            ? { type: "tool-call", toolCallId: "call_1", toolName: "deploy", input }
            : { type: "text", text: `It says: ${JSON.stringify(output)}` },
        ],
        finishReason: { unified: output === undefined ? "tool-calls" : "stop", raw: undefined },
        usage: { inputTokens: tokens, outputTokens: tokens },
        warnings: [],
      };
    },
  });
}
