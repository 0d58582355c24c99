/** On a slow disk, each step waits until what it depends on is written. */
import { describe, expect, test, vi } from "vitest";
import type { Journal } from "../../src/core/agent/index.ts";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import { booleanQuestion, type Question } from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { settle } from "../../src/core/agent/model-turn.fixture.ts";
import { questioner } from "../../src/core/agent/questioner.fixture.ts";
import { ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";

interface Way {
  readonly question?: Question;
  /** Of the question. */
  readonly config?: JsonObject;
  readonly detached?: string;
  readonly isInteractive?: boolean;
  readonly isRemembered?: boolean;
}

const WAYS: readonly (readonly [string, Way])[] = [
  ["a person", {}],
  ["a model", { config: { target: "assistant" } }],
  ["the config", { config: { answer: true } }],
  ["a remembered answer", { isRemembered: true }],
  [
    "its default",
    {
      question: booleanQuestion("q", "Sure?", { default: true }),
      detached: "defaults",
      isInteractive: false,
    },
  ],
];

describe.each(WAYS)("a question (answered by %s)", (_, way) => {
  test("is on disk before it is routed", async () => {
    verifies(
      "082/record/request-before-routing",
      "005/record/request-when-the-inquiry-starts",
      "082/record/pair-for-every-question",
    );
    const scene = await begin(way, "inquiry_request");
    await scene.disk.reached;
    await settle();
    expect(scene.done()).toEqual({ decisions: 0, asked: 0, attempts: 1, answered: 0, ended: 0 });
    scene.disk.release();
    expect(await scene.result).toMatchObject({ content: "[true]", isError: false });
  });

  test("has its answer on disk before the tool gets it, and before the call ends", async () => {
    verifies("005/record/inside-the-tool-call", "005/record/response-when-the-answer-arrives");
    const scene = await begin(way, "inquiry_response");
    await scene.disk.reached;
    await settle();
    expect(scene.done()).toMatchObject({ attempts: 1, answered: 0, ended: 0 });
    scene.disk.release();
    await scene.result;
    expect(scene.turn.events.slice(-4).map(({ type }) => type)).toEqual([
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
    ]);
  });
});

/** A call that asks, on a disk that holds back the first event of the type. */
async function begin(way: Way, type: ConversationEvent["type"]) {
  const { question = booleanQuestion("q", "Sure?"), config = {}, detached = "auto" } = way;
  const { isInteractive = true, isRemembered = false } = way;
  const tool = questioner("x", question);
  let attempts = 0;
  const turn = await ToolTurn.start({
    tools: [{ ...tool, execute: (call) => ((attempts += 1), tool.execute(call)) }],
    config: { x: { questions: { q: config }, detached } },
    script: { answers: () => ({ answer: true, isRemembered }) },
    answers: async () => ({ type: "answered", answer: true, model: "test/model" }),
    isInteractive,
  });
  if (isRemembered) await turn.run(toolCall("earlier", "x"));
  const before = counts(turn);
  attempts = 0;
  const canAsk = vi.spyOn(turn.prompter, "canAsk");
  const { journal, ...disk } = holding(turn.parts.journal, type);
  turn.parts = { ...turn.parts, journal };
  const done = () => {
    const now = counts(turn);
    return {
      decisions: canAsk.mock.calls.length,
      attempts,
      asked: now.asked - before.asked,
      answered: now.answered - before.answered,
      ended: now.ended - before.ended,
    };
  };
  return { turn, disk, done, result: turn.call("x") };
}

function counts(turn: ToolTurn) {
  return {
    asked: turn.prompter.questions.length + turn.inquiries.calls.length,
    answered: turn.recorded("inquiry_response").length,
    ended: turn.recorded("tool_call_response").length,
  };
}

function holding(journal: Journal, type: ConversationEvent["type"]) {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held: Journal = {
    conversation: journal.conversation,
    get stream() {
      return journal.stream;
    },
    record: async (...events) => {
      if (events.some((event) => event.type === type)) {
        reached.resolve();
        await released.promise;
      }
      await journal.record(...events);
    },
  };
  return { journal: held, reached: reached.promise, release: () => released.resolve() };
}
