import { describe, expect, test } from "vitest";
import type { Json } from "../util/index.ts";
import { answerFits, explainMismatch, isOther, withoutOther } from "./answer.ts";
import type { AnswerType, SelectType } from "./question.ts";

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
  expect(explainMismatch({ type: "secret" }, ["hunter2"])).toBe("expected text, got array");
});

test("what is wrong with a choice is told with what can be chosen", () => {
  expect(explainMismatch(select, "hunter2")).toBe('expected one of "a", 2');
});

const OPTIONS = [{ value: "a" }, { value: "b" }, { value: 2 }];
const open: SelectType = { type: "select", options: OPTIONS, allowsOther: true };
const several: SelectType = { type: "select", options: OPTIONS, isMultiple: true };
const openSeveral: SelectType = { ...several, allowsOther: true };

function misfits(answerType: AnswerType, answers: readonly Json[]) {
  return answers.map((answer) => explainMismatch(answerType, answer));
}

describe("a choice that allows words of one's own", () => {
  test("takes an option or any text that says something", () => {
    expect(misfits(open, ["a", 2, "none of these", "2", " a"])).toEqual(Array(5).fill(undefined));
  });

  test("takes neither silence nor anything that is no text", () => {
    const silence: readonly Json[] = ["", "  ", "\n\t", null, true, 3, ["a"], { value: "a" }];
    expect(misfits(open, silence)).toEqual(silence.map(() => 'expected one of "a", "b", 2'));
  });

  test("knows an option from one's own words", () => {
    const answers: readonly Json[] = ["a", 2, "c", "2", "", null];
    expect(answers.map((answer) => isOther(open, answer))).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  test("is a closed choice for those who may not answer in words of their own", () => {
    const closed = withoutOther(open);
    expect([closed, answerFits(closed, "a"), answerFits(closed, "c")]).toStrictEqual([
      { type: "select", options: OPTIONS },
      true,
      false,
    ]);
  });
});

test("a choice without that has no words of one's own", () => {
  expect([isOther(several, "c"), isOther({ type: "select", options: OPTIONS }, "c")]).toEqual([
    false,
    false,
  ]);
});

test("what is no choice is the same for everybody, and the type that was given stays as it was", () => {
  const others: readonly AnswerType[] = [{ type: "boolean" }, { type: "text" }, { type: "secret" }];
  expect(others.map(withoutOther)).toStrictEqual(others);
  expect(withoutOther(openSeveral)).toStrictEqual(several);
  expect(openSeveral.allowsOther).toBe(true);
});

describe("a choice of several", () => {
  test("is a list of none, one or all of the options", () => {
    expect(misfits(several, [[], ["a"], [2, "b"], ["a", "b", 2]])).toEqual(
      Array(4).fill(undefined),
    );
  });

  test.each<[Json, string]>([
    ["a", "expected a list, got string"],
    [null, "expected a list, got null"],
    [{ a: true }, "expected a list, got object"],
    [["a", "a"], "expected each option at most once"],
    [["a", "c"], 'expected one of "a", "b", 2'],
    [[["a"]], 'expected one of "a", "b", 2'],
  ])("is not %j", (answer, problem) => {
    expect(explainMismatch(several, answer)).toBe(problem);
  });

  test("may hold words of one's own where that is allowed, and each of them once", () => {
    expect(misfits(openSeveral, [["a", "mine"], ["mine"], ["mine", "mine"], ["a", ""]])).toEqual([
      undefined,
      undefined,
      "expected each option at most once",
      'expected one of "a", "b", 2',
    ]);
  });

  test("of which one is in words of one's own is in words of one's own", () => {
    const answers: readonly Json[] = [["a", "mine"], ["a"], []];
    expect(answers.map((answer) => isOther(openSeveral, answer))).toEqual([true, false, false]);
  });
});
