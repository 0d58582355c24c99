import { expect, test } from "vitest";
import type { DecisionJson, OutcomeJson } from "../wire.ts";
import { readItem } from "./item.ts";

const ASKED: DecisionJson = {
  workspace: "/w",
  conversation: "c",
  id: "c1.sure.1",
  kind: "question",
  tool: "deploy",
  label: "deploy",
  question: { text: "Sure?", answer_type: { type: "boolean" }, context: "the diff" },
  acts: false,
  asked_at: "2026-01-02 03:04:05.6",
};

test.each<[string, OutcomeJson]>([
  [
    'The assistant (ollama/qwen3) said no: "Too\\nrisky."',
    {
      outcome: "answered",
      answer: false,
      answer_reason: "Too\nrisky.",
      answered_by: { kind: "assistant", model: "ollama/qwen3" },
    },
  ],
  ["The assistant did not answer in time.", { outcome: "cancelled", reason: "timed_out" }],
  [
    'The assistant could not answer: "no key"',
    { outcome: "cancelled", reason: "backend_error", problem: "no key" },
  ],
])("what a model said comes before the context of the question: %s", (words, escalation) => {
  expect(readItem({ ...ASKED, escalation })?.question.context).toBe(`${words}\n\nthe diff`);
});

test("a question of an unknown type is not an item", () => {
  const question = { text: "Draw it.", answer_type: { type: "drawing" } };
  expect(readItem({ ...ASKED, question })).toBeUndefined();
});
