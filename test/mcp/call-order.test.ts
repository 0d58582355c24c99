/** Calls of one reply to one server. */
import { expect, test } from "vitest";
import { MemoryConversationStore, runTurn, type ToolConfigs } from "../../src/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { FakeClock, ScriptedModel, ScriptedPrompter } from "../../src/testing/index.ts";
import { GENERATIONS, inProcessServer } from "./support.ts";

const ALL = { run: "unattended" } as const;

/** The results of a reply that makes these calls. */
async function resultsOf(
  generation: (typeof GENERATIONS)[number],
  calls: readonly (readonly [string, string?])[],
  toolConfig: ToolConfigs = {},
) {
  const steps = calls.map(([name, text = ""], index) => {
    return { type: "tool_call", id: `call_${index + 1}`, name, arguments: { text } } as const;
  });
  const { servers: mcpServers } = inProcessServer(generation);
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(new FakeClock()).create({}),
      model: new ScriptedModel({ replies: [steps, "Done."] }),
      prompter: new ScriptedPrompter(),
      mcpServers,
      toolConfig: { "*": ALL, ...toolConfig },
    },
    "Remember.",
  );
  return transcript(events).filter((line) => line.includes(" gives: "));
}

const CALLS = [["remember", "Io"], ["recall"], ["remember", "Leda"], ["recall"]] as const;

test.each(GENERATIONS)(
  "every read sees the writes before it, and no write after it (%s protocol)",
  async (generation) => {
    expect(await resultsOf(generation, CALLS)).toEqual([
      "call_1 gives: remembered 1",
      "call_2 gives: Io",
      "call_3 gives: remembered 2",
      "call_4 gives: Io, Leda",
    ]);
  },
);

test("a read whose config says `parallel = true` does not wait", async () => {
  const results = await resultsOf("older", CALLS.slice(0, 2), { recall: { parallel: true } });
  expect(results).toEqual(["call_2 gives: ", "call_1 gives: remembered 1"]);
});
