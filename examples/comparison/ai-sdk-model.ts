/** A scripted model in place of a real one. It asks for an account, then for the refund, then is done. */
import { MockLanguageModelV4 } from "ai/test";

export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    const [result] = last?.role === "tool" ? last.content : [];
    if (result?.type !== "tool-result") return call("chooseAccount", { order: "A-1" });
    if (result.toolName !== "chooseAccount") return reply({ type: "text", text: "Done." });
    const { account } = Object(result.output.type === "json" ? result.output.value : {});
    return call("refund", { order: "A-1", amount: 25, account });
  },
});

function call(toolName: string, input: object) {
  const toolCallId = crypto.randomUUID();
  return reply({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });
}

function reply(part: object) {
  return {
    content: [part],
    finishReason: { unified: "stop", raw: undefined },
    usage: { inputTokens: {}, outputTokens: {} },
    warnings: [],
  } as never;
}
