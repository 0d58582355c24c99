/** Whether a value is an answer to a question of a type. Every answer is checked, whoever gave it. */
import { type Json, jsonTypeOf } from "../util/index.ts";
import type { AnswerType } from "./question.ts";

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
    case "select": {
      const options = answerType.options.map(({ value }) => JSON.stringify(value));
      if (options.includes(JSON.stringify(answer))) return undefined;
      return `expected one of ${options.join(", ")}`;
    }
    default:
      return answerType satisfies never;
  }
}
