/**
 * Reads an answer type in every notation that was ever written: ours (tagged, snake case) and the
 * older one of tools (`"Boolean"`, `{"Select":{"options":[…]}}`). Writing is left to the two codecs
 * that disagree about it.
 */
import {
  arrayField,
  isJsonObject,
  type Json,
  type JsonObject,
  mismatch,
  oneOf,
  optionalBoolean,
  optionalString,
  shapeOf,
} from "../util/index.ts";
import type { AnswerType, SelectOption, SelectType } from "./question.ts";

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
