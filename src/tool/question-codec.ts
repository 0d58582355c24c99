/** The notation in which tools write a question. The record's notation is in `conversation/`. */
import {
  fieldPath,
  type JsonObject,
  mismatch,
  oneOf,
  optionalBoolean,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";
import { explainMisfit, withoutOther } from "./answer.ts";
import { optionToJson, parseAnswerType, selectToJson } from "./answer-type-codec.ts";
import type { AnswerReusePolicy, AnswerType, InquiryQuestion, Question } from "./question.ts";

/** Throws `ShapeError`, whose message says which field is wrong and what was expected. */
export function parseQuestion(value: unknown, path = "question"): Question {
  const shape = shapeOf(value, path);
  const id = stringField(shape, "id");
  if (id === "") throw mismatch(`${path}.id`, "a name", "");
  const question = { id, ...parseInquiryQuestion(shape) };
  checkSense(question, path);
  return question;
}

/** What a tool asks must be answerable. Records of old are taken as they are. */
function checkSense({ answerType, default: suggested }: Question, path: string): void {
  if (answerType.type === "select") {
    const values = answerType.options.map(({ value }) => JSON.stringify(value));
    const place = `${path}.answer_type.options`;
    if (values.length === 0) throw new ShapeError(place, "a select needs at least one option");
    const twice = findRepeated(values);
    if (twice !== undefined) throw new ShapeError(place, `the option ${twice} is there twice`);
  }
  const misfit =
    suggested === undefined ? undefined : explainMisfit(withoutOther(answerType), suggested);
  if (misfit !== undefined) throw new ShapeError(`${path}.default`, misfit);
}

/** The first one that was there before. There may be as many as a megabyte holds. */
export function findRepeated(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => seen.size === seen.add(text).size);
}

/** The fields that tools and the record write alike. `pre_amble` is what `context` was called. */
export function parseInquiryQuestion(shape: Shape): InquiryQuestion {
  const context = optionalString(shape, "context") ?? optionalString(shape, "pre_amble");
  const suggested = shape.value["default"];
  return {
    text: stringField(shape, "text"),
    ...(context !== undefined && { context }),
    answerType: parseAnswerType(shape.value["answer_type"], fieldPath(shape, "answer_type")),
    ...(suggested != null && { default: suggested }),
    exclusive: optionalBoolean(shape, "exclusive") ?? false,
    persistence: parsePersistence(shape),
    ...(optionalBoolean(shape, "note") === true && { allowsNote: true }),
  };
}

/** As tools write it. */
export function questionToWire(question: Question): JsonObject {
  return {
    id: question.id,
    text: question.text,
    ...(question.context !== undefined && { context: question.context }),
    answer_type: answerTypeToWire(question.answerType),
    ...(question.default !== undefined && { default: question.default }),
    ...reusePolicyToJson(question),
  };
}

/** Fields that hold their default are left out, so that older readers see what they know. */
export function reusePolicyToJson(question: InquiryQuestion): JsonObject {
  return {
    ...(question.exclusive && { exclusive: true }),
    ...(question.persistence !== "turn" && { persistence: question.persistence }),
    ...(question.allowsNote === true && { note: true }),
  };
}

function parsePersistence(shape: Shape): AnswerReusePolicy {
  if (shape.value["persistence"] == null) return "turn";
  return oneOf(shape, "persistence", ["none", "turn"]);
}

function answerTypeToWire(answerType: AnswerType): JsonObject {
  if (answerType.type !== "select") return { type: answerType.type };
  const options = answerType.options.map((option) => {
    const more = optionToJson(option);
    const isPlain = typeof option.value === "string" && Object.keys(more).length === 0;
    return isPlain ? option.value : { value: option.value, ...more };
  });
  return { type: "select", options, ...selectToJson(answerType) };
}
