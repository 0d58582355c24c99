import { expect, test } from "vitest";
import { toolboxOf } from "../../core/agent/tool-turn.fixture.ts";
import { asker, echo } from "../../core/agent/turn-tools.fixture.ts";
import { createTurn } from "../../assemble/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../../testing/index.ts";
import { replayConversation } from "./replay.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;

test("messages sent while the turn was running are replayed as recorded", async () => {
  const clock = new FakeClock();
  const conversation = await new MemoryConversationStore(clock).create({});
  const toolbox = toolboxOf({ tools: [echo, asker] });
  const prompter = new ScriptedPrompter({ answers: [{ answer: true }] });
  const replies = [[call("a", "echo"), call("b", "asker")], [call("c", "echo")], "Done."];
  const model = new ScriptedModel({ replies });
  const left = [["Rather in Rust", "And quickly"], ["No tests"]];
  const steering = {
    take: () => (left.shift() ?? []).map((content) => ({ content, author: "Ann" })),
  };
  const turn = createTurn({ conversation, model, toolbox, prompter, clock, steering });
  await turn.run({ content: "Write it" });
  const { stream } = conversation;
  expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 1 });
});
