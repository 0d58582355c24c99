import { expect, test } from "vitest";
import type { AnsweredPrompt, Prompter, PromptResult } from "../../core/agent/index.ts";
import { toolboxOf } from "../../core/agent/tool-turn.fixture.ts";
import { echo } from "../../core/agent/turn-tools.fixture.ts";
import { createTurn } from "../../assemble/index.ts";
import { FakeClock, MemoryConversationStore, ScriptedModel } from "../../testing/index.ts";
import { replayConversation } from "./replay.ts";

const call = (id: string) => ({ type: "tool_call", id, name: "echo" }) as const;

type Replies = Readonly<Record<string, Omit<AnsweredPrompt, "type">>>;

const YES = { answer: true };
const NO = { answer: false };

/** Decides about calls that are shown together in several steps. One that is left is approved. */
function person(steps: Replies[]): Prompter {
  return {
    channel: "test",
    showsPermissions: true,
    canAsk: () => true,
    ask: async (request) => {
      const { inquiryId } = request;
      if (request.kind !== "permissions") return { inquiryId, type: "answered", ...YES };
      const replies = steps.shift() ?? {};
      const results = request.calls.flatMap((each): readonly PromptResult[] => {
        const reply = replies[each.toolCallId];
        return reply ? [{ inquiryId: each.inquiryId, type: "answered", ...reply }] : [];
      });
      return { inquiryId, type: "form", results };
    },
  };
}

test.each<[string, number, Replies[]]>([
  ["all at once", 1, [{ a: YES, b: NO, c: YES }]],
  ["the last one first", 1, [{ c: NO }, { b: YES }]],
  ["one for the whole turn", 1, [{ b: { answer: true, isRemembered: true } }]],
  ["words to the last one", 2, [{ c: { answer: false, note: "Use tabs.", redirects: true } }]],
])("calls that were decided together are replayed as recorded: %s", async (_, turns, steps) => {
  const clock = new FakeClock();
  const conversation = await new MemoryConversationStore(clock).create({});
  const toolbox = toolboxOf({ tools: [echo], config: { echo: { run: "ask" } } });
  const model = new ScriptedModel({ replies: [[call("a"), call("b"), call("c")], "Done."] });
  const prompter = person(steps);
  await createTurn({ conversation, model, toolbox, prompter, clock }).run({ content: "Go" });
  const { stream } = conversation;
  expect(await replayConversation({ stream, toolbox })).toEqual({ turns });
});
