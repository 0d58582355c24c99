/** Whether a value is an answer to a question of a type. Every answer is checked, whoever gave it. */
import { type Json, jsonTypeOf } from "../util/index.ts";
import type { AnswerType, SelectType } from "./question.ts";

/** Whether it is an answer of this type. */
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
        : explainMischoices(answerType, [answer]);
    default:
      return answerType satisfies never;
  }
}

function explainMisfits(answerType: SelectType, answers: Json): string | undefined {
  if (!Array.isArray(answers)) return `expected a list, got ${jsonTypeOf(answers)}`;
  const written = answers.map((answer: Json) => JSON.stringify(answer));
  if (new Set(written).size < written.length) return "expected each choice once";
  return explainMischoices(answerType, answers);
}

function explainMischoices(answerType: SelectType, answers: readonly Json[]): string | undefined {
  const options = writtenOptions(answerType);
  const isFitting = (answer: Json) =>
    options.has(JSON.stringify(answer)) || (answerType.allowsOther === true && isText(answer));
  return answers.every(isFitting) ? undefined : `expected one of ${[...options].join(", ")}`;
}

/** Whether it is a text of the person's own, or has one in it, where that is allowed. */
export function isOther(answerType: SelectType, answer: Json): boolean {
  if (answerType.allowsOther !== true) return false;
  const answers: readonly Json[] =
    answerType.isMultiple === true && Array.isArray(answer) ? answer : [answer];
  const options = writtenOptions(answerType);
  return answers.some((one) => isText(one) && !options.has(JSON.stringify(one)));
}

/** There may be very many, so that nobody should go through them for each answer. */
function writtenOptions({ options }: SelectType): ReadonlySet<string> {
  return new Set(options.map(({ value }) => JSON.stringify(value)));
}

function isText(answer: Json): boolean {
  return typeof answer === "string" && answer.trim() !== "";
}

/** The same type for those who may not answer in words of their own: only a person may. */
export function withoutOther(answerType: AnswerType): AnswerType {
  if (answerType.type !== "select") return answerType;
  const { allowsOther: _allowsOther, ...closed } = answerType;
  return closed;
}
