import { expect, test } from "vitest";
import { toolboxOf } from "../../core/agent/tool-turn.fixture.ts";
import { asker, echo } from "../../core/agent/turn-tools.fixture.ts";
import { createTurn } from "../../assemble/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../../testing/index.ts";
import { replayConversation } from "./replay.ts";

const WORDS = "Use the old parser.";
const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;

test.each<[string, string, PrompterScript]>([
  ["a permission", "echo", { permissions: [{ type: "skip", reason: WORDS, redirects: true }] }],
  ["a question", "asker", { answers: [{ answer: false, note: WORDS, redirects: true }] }],
])("a no to %s with what to do instead is replayed as recorded", async (_, name, script) => {
  const clock = new FakeClock();
  const conversation = await new MemoryConversationStore(clock).create({});
  const toolbox = toolboxOf({ tools: [echo, asker], config: { echo: { run: "ask" } } });
  const prompter = new ScriptedPrompter(script);
  const replies = [[call("a", name), call("b", name)], "Done."];
  const model = new ScriptedModel({ replies });
  await createTurn({ conversation, model, toolbox, prompter, clock }).run({ content: "Fix it" });
  const { stream } = conversation;
  expect(await replayConversation({ stream, toolbox })).toEqual({ turns: 2 });
});
