import { describe, expect, test } from "vitest";
import {
  chatRequest,
  inquiry,
  toolCall,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";
import { ModelTurn } from "./model-turn.fixture.ts";
import { echo, losing, WRITE_FAILED } from "./turn-tools.fixture.ts";
import { toolboxOf, ToolTurn } from "./tool-turn.fixture.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { RefusedQuestions } from "../../reach/executor/index.ts";
import { booleanQuestion, secretQuestion } from "../../record/tool/index.ts";
import { handleUnscopedQuestions } from "./turn.ts";

const FORM: RefusedQuestions = {
  source: { source: "tool", name: "mcp.moon" },
  questions: [booleanQuestion("sure", "Sure?"), secretQuestion("pin", "PIN?")],
  reason: "no_prompt_backend",
};

/** A turn, and a function that reports refused questions to it. */
async function start() {
  const listeners = new Set<(refused: RefusedQuestions) => void>();
  const tools = {
    ...toolboxOf({ tools: [] }),
    onUnscopedQuestions: (listener: (refused: RefusedQuestions) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const turn = await ToolTurn.start({ tools: [], parts: { tools } });
  const report = (refused: RefusedQuestions) => {
    for (const listener of listeners) listener(refused);
  };
  return { turn, report };
}

test("each question is recorded as a cancelled inquiry with its own id", async () => {
  const { turn, report } = await start();
  const stop = handleUnscopedQuestions(turn.parts);
  report(FORM);
  report({ ...FORM, reason: "interrupted" });
  await stop();
  expect(transcript(turn.events).slice(1)).toEqual([
    "mcp.moon.sure.1 asks: Sure?",
    "mcp.moon.pin.1 asks: PIN?",
    'mcp.moon.sure.1 cancelled: "no_prompt_backend"',
    'mcp.moon.pin.1 cancelled: "no_prompt_backend"',
    "mcp.moon.sure.2 asks: Sure?",
    "mcp.moon.pin.2 asks: PIN?",
    'mcp.moon.sure.2 cancelled: "interrupted"',
    'mcp.moon.pin.2 cancelled: "interrupted"',
  ]);
});

test("questions after the end are not recorded", async () => {
  const { turn, report } = await start();
  const stop = handleUnscopedQuestions(turn.parts);
  await stop();
  report(FORM);
  expect(transcript(turn.events)).toEqual(["turn"]);
});

test("a failed write is thrown at the end", async () => {
  const { turn, report } = await start();
  const journal = losing(turn.parts.journal, () => true);
  const stop = handleUnscopedQuestions({ ...turn.parts, journal });
  report(FORM);
  await expect(stop()).rejects.toMatchObject(WRITE_FAILED);
});

test("a toolbox that cannot report such questions is fine", async () => {
  const turn = await ToolTurn.start({ tools: [] });
  await expect(handleUnscopedQuestions(turn.parts)()).resolves.toBeUndefined();
});

describe("a question that any of several calls may have asked", () => {
  const LEFT: readonly ConversationEvent[] = [
    turnStart(),
    chatRequest("Hello"),
    toolCall("call_1", "echo"),
    { ...inquiry("mcp.moon.name.1"), source: { source: "tool", name: "mcp.moon" }, isBound: true },
  ];
  const CLOSED = 'mcp.moon.name.1 cancelled: "interrupted"';

  async function leave() {
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    await conversation.append(...LEFT);
    return ModelTurn.create({ conversation, tools: [echo], replies: ["Done."] });
  }

  test("is closed when another process continues the turn", async () => {
    const turn = await leave();
    expect(await turn.resume()).toMatchObject({ type: "done" });
    expect(turn.record.filter((line) => line.includes("mcp.moon"))).toEqual([
      expect.stringContaining("asks"),
      CLOSED,
    ]);
  });

  test("is closed when another turn starts", async () => {
    const turn = await leave();
    await turn.run();
    expect(turn.record).toContain(CLOSED);
  });
});
