/** Whether a value is an answer to a question of a type. Every answer is checked, whoever gave it. */
import { type Json, jsonTypeOf } from "../util/index.ts";
import type { AnswerType, SelectType } from "./question.ts";

export function answerFits(answerType: AnswerType, answer: Json): boolean {
  return explainMisfit(answerType, answer) === undefined;
}

/** What is wrong with an answer, without quoting it: it may be a secret. Undefined if it fits. */
export function explainMisfit(answerType: AnswerType, answer: Json): string | undefined {
  switch (answerType.type) {
    case "boolean":
      return typeof answer === "boolean"
        ? undefined
        : `expected true or false, got ${jsonTypeOf(answer)}`;
    case "text":
    case "secret":
      return typeof answer === "string" ? undefined : `expected a text, got ${jsonTypeOf(answer)}`;
    case "select":
      return answerType.isMultiple === true
        ? explainMisfits(answerType, answer)
        : explainMischoice(answerType, answer);
    default:
      return answerType satisfies never;
  }
}

function explainMisfits(answerType: SelectType, answers: Json): string | undefined {
  if (!Array.isArray(answers)) return `expected a list, got ${jsonTypeOf(answers)}`;
  const written = answers.map((answer: Json) => JSON.stringify(answer));
  if (new Set(written).size < written.length) return "expected each choice once";
  return answers
    .map((answer: Json) => explainMischoice(answerType, answer))
    .find((misfit) => misfit !== undefined);
}

function explainMischoice(answerType: SelectType, answer: Json): string | undefined {
  const options = answerType.options.map(({ value }) => JSON.stringify(value));
  if (options.includes(JSON.stringify(answer))) return undefined;
  if (isOwnText(answerType, answer)) return undefined;
  return `expected one of ${options.join(", ")}`;
}

/** Whether it is a text of the person's own, or has one in it, where that is allowed. */
export function isOther(answerType: SelectType, answer: Json): boolean {
  return answerType.isMultiple === true && Array.isArray(answer)
    ? answer.some((one: Json) => isOwnText(answerType, one))
    : isOwnText(answerType, answer);
}

function isOwnText(answerType: SelectType, answer: Json): boolean {
  const isOption = answerType.options.some(
    ({ value }) => JSON.stringify(value) === JSON.stringify(answer),
  );
  const isText = typeof answer === "string" && answer.trim() !== "";
  return answerType.allowsOther === true && isText && !isOption;
}

/** The same type for those who may not answer in words of their own: only a person may. */
export function withoutOther(answerType: AnswerType): AnswerType {
  if (answerType.type !== "select") return answerType;
  const { allowsOther: _allowsOther, ...closed } = answerType;
  return closed;
}
