/** One violation of a tool's schema in words: where, what was expected, what came. */
import { findClosest } from "../../config/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { acceptedTypes, decodePointer, findReferenced } from "./schema-node.ts";
import type { Violation } from "./violation.ts";

export interface CheckedValue {
  readonly schema: JsonObject;
  readonly value: Json;
}

/** Of a value that came. */
const MOST_SHOWN = 60;
/** Of the keys, or the values, that there are. */
const MOST_LISTED = 12;

/** What was expected, by keyword. */
const EXPECTATIONS: Readonly<Record<string, (expected: Json) => string>> = {
  type: (types) => listOf(types).map(String).join(" or "),
  enum: (choices) => choiceOf(listOf(choices)),
  const: (only) => toText(only),
  minimum: (least) => `at least ${toText(least)}`,
  maximum: (most) => `at most ${toText(most)}`,
  exclusiveMinimum: (limit) => `more than ${toText(limit)}`,
  exclusiveMaximum: (limit) => `less than ${toText(limit)}`,
  multipleOf: (unit) => `a multiple of ${toText(unit)}`,
  minLength: (least) => `at least ${toText(least)} characters`,
  maxLength: (most) => `at most ${toText(most)} characters`,
  pattern: (pattern) => `text that matches ${toText(pattern)}`,
  format: (format) => `text in the format ${toText(format)}`,
  minItems: (least) => `at least ${toText(least)} items`,
  maxItems: (most) => `at most ${toText(most)} items`,
  uniqueItems: () => "items that differ from each other",
};

/** Several, if several keys are missing. */
export function describeViolation(violation: Violation, checked: CheckedValue): string[] {
  const place = partsOf(violation.instanceLocation);
  const value = place.reduce(memberOf, checked.value);
  const schema = schemaHolding(violation.keywordLocation, checked.schema);
  switch (violation.keyword) {
    case "required": {
      const missing = missingKeys(schema, value).map(
        (key) => `${toPath([...place, key])}: missing`,
      );
      return missing.length > 0 ? missing : [`${toPath(place)}: ${violation.error}`];
    }
    case "false":
      return [`${toPath(place)}: ${describeUnknown(violation, checked)}`];
    default: {
      const expected =
        schema === undefined ? undefined : describeExpected(violation.keyword, schema, checked);
      const problem = expected === undefined ? violation.error : `expected ${expected}`;
      return [`${toPath(place)}: ${problem.replace(/\.$/, "")}, got ${toText(value)}`];
    }
  }
}

/** Undefined if the validator's own words have to do. */
function describeExpected(
  keyword: string,
  schema: JsonObject,
  { schema: root }: CheckedValue,
): string | undefined {
  const expected = schema[keyword];
  if (expected === undefined) return undefined;
  if (keyword === "anyOf" || keyword === "oneOf") {
    const choices = listOf(expected).map((each) =>
      isJsonObject(each) ? each["const"] : undefined,
    );
    const isChoice = choices.every((choice) => choice !== undefined);
    if (isChoice) return choiceOf(choices);
    return acceptedTypes({ schema, root })?.join(" or ");
  }
  return Object.hasOwn(EXPECTATIONS, keyword) ? EXPECTATIONS[keyword]?.(expected) : undefined;
}

function missingKeys(schema: JsonObject | undefined, value: Json | undefined): readonly string[] {
  const required = listOf(schema?.["required"] ?? []).map(String);
  return required.filter((key) => !isJsonObject(value) || !Object.hasOwn(value, key));
}

function describeUnknown(violation: Violation, { schema }: CheckedValue): string {
  const key = partsOf(violation.instanceLocation).at(-1) ?? "";
  // Up to the schema that allows no other keys: without `/false`.
  const closed = schemaHolding(violation.keywordLocation.slice(0, -"/false".length), schema);
  const known = isJsonObject(closed?.["properties"]) ? Object.keys(closed["properties"]) : [];
  const meant = findClosest(key, known);
  if (meant !== undefined) return `unknown; did you mean \`${meant}\`?`;
  if (known.length === 0) return "unknown";
  return `unknown; known are ${shortened(known.map((name) => `\`${name}\``)).join(", ")}`;
}

function choiceOf(choices: readonly (Json | undefined)[]): string {
  return shortened(choices.map((choice) => toText(choice))).join(" or ");
}

function shortened(texts: readonly string[]): readonly string[] {
  return texts.length > MOST_LISTED ? [...texts.slice(0, MOST_LISTED), "…"] : texts;
}

/** The schema whose keyword it is that the location ends with. */
function schemaHolding(keywordLocation: string, root: JsonObject): JsonObject | undefined {
  let found: Json | undefined = root;
  for (const part of partsOf(keywordLocation).slice(0, -1)) {
    if (part === "$ref" && isJsonObject(found)) found = findReferenced({ schema: found, root });
    else found = memberOf(found, part);
  }
  return isJsonObject(found) ? found : undefined;
}

function partsOf(location: string): readonly string[] {
  return location.split("/").slice(1).map(decodePointer);
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return listOf(value)[Number(key)];
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function toPath(parts: readonly string[]): string {
  if (parts.length === 0) return "the arguments";
  const path = parts.map((part) => {
    if (/^\d+$/.test(part)) return `[${part}]`;
    return /^[\w-]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  });
  return `\`${path.join("").replace(/^\./, "")}\``;
}

function toText(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** A single value stands for a list of one. */
function listOf(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : [value];
}
