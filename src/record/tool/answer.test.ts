import { describe, expect, test } from "vitest";
import type { Json } from "../../util/index.ts";
import { answerFits, explainMisfit, isOther, withoutOther } from "./answer.ts";
import type { AnswerType, SelectType } from "./question.ts";

const select: AnswerType = { type: "select", options: [{ value: "a" }, { value: 2 }] };

test.each<[AnswerType, readonly unknown[], readonly unknown[]]>([
  [{ type: "boolean" }, [true, false], ["true", 1, null, {}]],
  [{ type: "text" }, ["", "yes"], [true, 0, null, ["yes"]]],
  [{ type: "secret" }, ["", "s3cret"], [1, null, {}]],
  [select, ["a", 2], ["b", "2", null, true]],
])("an answer to a question of type %j must have that type", (type, good, bad) => {
  expect(good.map((answer) => answerFits(type, answer as never))).toEqual(good.map(() => true));
  expect(bad.map((answer) => answerFits(type, answer as never))).toEqual(bad.map(() => false));
});

test("an error about a secret does not reveal it", () => {
  expect(explainMisfit({ type: "secret" }, ["hunter2"])).toBe("expected text, got array");
});

test("an error about a choice lists the options", () => {
  expect(explainMisfit(select, "hunter2")).toBe('expected one of "a", 2');
});

const OPTIONS = [{ value: "a" }, { value: "b" }, { value: 2 }];
const open: SelectType = { type: "select", options: OPTIONS, allowsOther: true };
const several: SelectType = { type: "select", options: OPTIONS, isMultiple: true };
const openSeveral: SelectType = { ...several, allowsOther: true };

function misfits(answerType: AnswerType, answers: readonly Json[]) {
  return answers.map((answer) => explainMisfit(answerType, answer));
}

describe("a choice that allows free text", () => {
  test("accepts an option or any non-empty text", () => {
    expect(misfits(open, ["a", 2, "none of these", "2", " a"])).toEqual(Array(5).fill(undefined));
  });

  test("rejects empty text and everything that is not text", () => {
    const silence: readonly Json[] = ["", "  ", "\n\t", null, true, 3, ["a"], { value: "a" }];
    expect(misfits(open, silence)).toEqual(silence.map(() => 'expected one of "a", "b", 2'));
  });

  test("distinguishes options from free text", () => {
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

  test("can be restricted to its options", () => {
    const closed = withoutOther(open);
    expect([closed, answerFits(closed, "a"), answerFits(closed, "c")]).toStrictEqual([
      { type: "select", options: OPTIONS },
      true,
      false,
    ]);
  });
});

test("a choice without `allowsOther` has no free-text answers", () => {
  expect([isOther(several, "c"), isOther({ type: "select", options: OPTIONS }, "c")]).toEqual([
    false,
    false,
  ]);
});

test("restricting other types changes nothing, and the given type is not modified", () => {
  const others: readonly AnswerType[] = [{ type: "boolean" }, { type: "text" }, { type: "secret" }];
  expect(others.map(withoutOther)).toStrictEqual(others);
  expect(withoutOther(openSeveral)).toStrictEqual(several);
  expect(openSeveral.allowsOther).toBe(true);
});

describe("a multiple choice", () => {
  test("accepts a list of none, one or all of the options", () => {
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
  ])("rejects %j", (answer, problem) => {
    expect(explainMisfit(several, answer)).toBe(problem);
  });

  test("may contain free text where that is allowed, each text once", () => {
    expect(misfits(openSeveral, [["a", "mine"], ["mine"], ["mine", "mine"], ["a", ""]])).toEqual([
      undefined,
      undefined,
      "expected each option at most once",
      'expected one of "a", "b", 2',
    ]);
  });

  test("counts as free text if one of its answers is free text", () => {
    const answers: readonly Json[] = [["a", "mine"], ["a"], []];
    expect(answers.map((answer) => isOther(openSeveral, answer))).toEqual([true, false, false]);
  });
});
