/** Checks an answer against the answer type of its question, regardless of who gave it. */
import { type Json, jsonTypeOf } from "../../util/index.ts";
import type { AnswerType, SelectType } from "./question.ts";

/** Whether the value is a valid answer of this type. */
export function answerFits(answerType: AnswerType, answer: Json): boolean {
  return explainMisfit(answerType, answer) === undefined;
}

/** Explains what is wrong with an answer; undefined if it fits. Never quotes it: it may be a secret. */
export function explainMisfit(answerType: AnswerType, answer: Json): string | undefined {
  switch (answerType.type) {
    case "boolean":
      return typeof answer === "boolean"
        ? undefined
        : `expected true or false, got ${jsonTypeOf(answer)}`;
    case "text":
    case "secret":
      return typeof answer === "string" ? undefined : `expected text, got ${jsonTypeOf(answer)}`;
    case "select":
      return answerType.isMultiple === true
        ? explainList(answerType, answer)
        : explainChoices(answerType, [answer]);
    default:
      return answerType satisfies never;
  }
}

function explainList(answerType: SelectType, answers: Json): string | undefined {
  if (!Array.isArray(answers)) return `expected a list, got ${jsonTypeOf(answers)}`;
  const written = answers.map((answer: Json) => JSON.stringify(answer));
  if (new Set(written).size < written.length) return "expected each option at most once";
  return explainChoices(answerType, answers);
}

function explainChoices(answerType: SelectType, answers: readonly Json[]): string | undefined {
  const options = optionSet(answerType);
  const isFitting = (answer: Json) =>
    options.has(JSON.stringify(answer)) || (answerType.allowsOther === true && isText(answer));
  return answers.every(isFitting) ? undefined : `expected one of ${[...options].join(", ")}`;
}

/** Whether the answer is, or contains, free text where that is allowed. */
export function isOther(answerType: SelectType, answer: Json): boolean {
  if (answerType.allowsOther !== true) return false;
  const answers: readonly Json[] =
    answerType.isMultiple === true && Array.isArray(answer) ? answer : [answer];
  const options = optionSet(answerType);
  return answers.some((one) => isText(one) && !options.has(JSON.stringify(one)));
}

/** A set, because a tool may offer very many options. */
function optionSet({ options }: SelectType): ReadonlySet<string> {
  return new Set(options.map(({ value }) => JSON.stringify(value)));
}

function isText(answer: Json): boolean {
  return typeof answer === "string" && answer.trim() !== "";
}

/** The same type without free text, which only a user may give. */
export function withoutOther(answerType: AnswerType): AnswerType {
  if (answerType.type !== "select") return answerType;
  const { allowsOther: _allowsOther, ...closed } = answerType;
  return closed;
}
