import { expect, test } from "vitest";
import { answerFits, explainMisfit } from "./answer.ts";
import type { AnswerType } from "./question.ts";

const select: AnswerType = { type: "select", options: [{ value: "a" }, { value: 2 }] };

test.each<[AnswerType, readonly unknown[], readonly unknown[]]>([
  [{ type: "boolean" }, [true, false], ["true", 1, null, {}]],
  [{ type: "text" }, ["", "yes"], [true, 0, null, ["yes"]]],
  [{ type: "secret" }, ["", "s3cret"], [1, null, {}]],
  [select, ["a", 2], ["b", "2", null, true]],
])("an answer to a question of the type %j is of that type", (type, good, bad) => {
  expect(good.map((answer) => answerFits(type, answer as never))).toEqual(good.map(() => true));
  expect(bad.map((answer) => answerFits(type, answer as never))).toEqual(bad.map(() => false));
});

test("what is wrong with a secret is told without the secret", () => {
  expect(explainMisfit({ type: "secret" }, ["hunter2"])).toBe("expected a text, got array");
});

test("what is wrong with a choice is told with what can be chosen", () => {
  expect(explainMisfit(select, "hunter2")).toBe('expected one of "a", 2');
});
