/** The reference server of the protocol, with replies of ten calls that ask and read. */
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type McpServerConfig,
  MemoryConversationStore,
  runTurn,
  type ToolConfigs,
} from "../../src/index.ts";
import {
  FakeClock,
  type ScriptedAnswer,
  ScriptedModel,
  ScriptedPrompter,
} from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { startEverything } from "./http-programs.ts";
import { EVERYTHING } from "./support.ts";

const ASK = "trigger-elicitation-request";

/** Ten calls. The third of each kind asks. */
const CALLS: readonly (readonly [string, JsonObject])[] = Array.from({ length: 10 }, (_, index) =>
  index % 3 === 0 ? [ASK, {}] : ["get-sum", { a: index, b: 1 }],
);

async function run(everything: McpServerConfig, toolConfig: ToolConfigs) {
  const steps = CALLS.map(([name, given], index) => {
    return { type: "tool_call", id: `call_${index}`, name, arguments: given } as const;
  });
  const prompter = new ScriptedPrompter({
    forms: ({ fields }) =>
      fields.map(({ questionId, question }): ScriptedAnswer => {
        const empty = question.answerType.type === "boolean" ? false : "";
        return { answer: questionId === "name" ? "Neil" : (question.default ?? empty) };
      }),
  });
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(new FakeClock()).create({}),
      model: new ScriptedModel({ replies: [steps, "Done."] }),
      prompter,
      mcpServers: { everything },
      toolConfig: { "*": { run: "unattended" }, ...toolConfig },
    },
    "Go.",
  );
  const results = events.filter((event) => event.type === "tool_call_response");
  return { prompter, events, resultOf: (id: string) => results.find((each) => each.id === id) };
}

describe.each(["stdio", "http"] as const)("a reply with ten calls over %s", (way) => {
  async function start(): Promise<McpServerConfig> {
    if (way === "stdio") return { command: process.execPath, arguments: [EVERYTHING] };
    const { url, stop } = await startEverything();
    onTestFinished(() => stop());
    return { url };
  }

  test.each<readonly [string, ToolConfigs]>([
    ["in order", {}],
    ["all at once", { [ASK]: { parallel: true }, "get-sum": { parallel: true } }],
  ])("asks the person every question: %s", async (_, toolConfig) => {
    const { prompter, resultOf } = await run(await start(), toolConfig);
    expect(prompter.forms).toHaveLength(4);
    for (const [index, [name]] of CALLS.entries()) {
      const content = resultOf(`call_${index}`)?.content;
      expect(content).toContain(name === ASK ? '"name": "Neil"' : `${index + 1}`);
    }
  });
});
