/** The notation in which tools write a question. The record's notation is in `conversation/`. */
import {
  arrayField,
  fieldPath,
  isJsonObject,
  type Json,
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
import type {
  AnswerReusePolicy,
  AnswerType,
  InquiryQuestion,
  Question,
  SelectOption,
  SelectType,
} from "./question.ts";

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

const OLDER_NAMES: Readonly<Record<string, AnswerType>> = {
  Boolean: { type: "boolean" },
  Text: { type: "text" },
  Secret: { type: "secret" },
};

/** Throws `ShapeError`. */
export function parseAnswerType(value: unknown, path: string): AnswerType {
  if (typeof value === "string") return parseOlderName(value, path);
  const shape = shapeOf(value, path);
  if (isJsonObject(shape.value["Select"]))
    return parseSelect(shape.value["Select"], `${path}.Select`);
  const type = oneOf(shape, "type", ["boolean", "select", "text", "secret"]);
  return type === "select" ? parseSelect(value, path) : { type };
}

function parseOlderName(name: string, path: string): AnswerType {
  const found = Object.hasOwn(OLDER_NAMES, name) ? OLDER_NAMES[name] : undefined;
  if (found === undefined) {
    throw mismatch(path, '{"type": "boolean" | "select" | "text" | "secret"}', name);
  }
  return found;
}

function parseSelect(value: unknown, path: string): AnswerType {
  const shape = shapeOf(value, path);
  const options = arrayField(shape, "options").map((option, index) =>
    parseOption(option, `${path}.options[${index}]`),
  );
  return {
    type: "select",
    options,
    ...(optionalBoolean(shape, "other") === true && { allowsOther: true }),
    ...(optionalBoolean(shape, "multiple") === true && { isMultiple: true }),
  };
}

/** What a select may have besides its options, in both notations. */
export function selectToJson({ allowsOther, isMultiple }: SelectType): JsonObject {
  return {
    ...(allowsOther === true && { other: true }),
    ...(isMultiple === true && { multiple: true }),
  };
}

/** Everything of an option but its value, in both notations. */
export function optionToJson({ description, preview }: SelectOption): JsonObject {
  return {
    ...(description !== undefined && { description }),
    ...(preview !== undefined && { preview }),
  };
}

function parseOption(value: Json, path: string): SelectOption {
  if (typeof value === "string") return { value };
  const shape = shapeOf(value, path);
  if (shape.value["value"] === undefined) throw mismatch(`${path}.value`, "a value", undefined);
  const description = optionalString(shape, "description");
  const preview = optionalString(shape, "preview");
  return {
    value: shape.value["value"],
    ...(description !== undefined && { description }),
    ...(preview !== undefined && { preview }),
  };
}
