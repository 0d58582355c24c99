/**
 * Describes a validator's findings, reduced to what a reader can act on. The validator reports each violation along with
 * all its consequences, and every alternative that was not meant.
 */
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  findClosest,
} from "../../util/index.ts";
import { acceptedTypes, decodePointer, findReferenced } from "./schema-node.ts";

/** Locations are JSON pointers from `#`. A keyword's location passes through `$ref` where a reference does. */
interface Violation {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
  readonly error: string;
}

interface CheckedValue {
  readonly schema: JsonObject;
  readonly value: Json;
  /** Refers to the value as a whole. */
  readonly name: string;
}

/** Keywords whose inner problems are less helpful than the violation itself. */
const OPAQUE = new Set(["contains", "propertyNames"]);
const MAX_VALUE_LENGTH = 60;
const MAX_LISTED = 12;

/** One line each: the place, the expectation, and the given value. */
export function describeViolations(
  reported: readonly Violation[],
  checked: CheckedValue,
): readonly string[] {
  const lines = deepestViolations(reported, checked.schema).flatMap((violation) =>
    describeViolation(violation, checked),
  );
  return [...new Set(lines)];
}

function deepestViolations(
  reported: readonly Violation[],
  schema: JsonObject,
): readonly Violation[] {
  let violations = reported.map(withOwnLocation).filter(({ keyword }) => keyword !== "if");
  for (const outer of violations) {
    if (!violations.includes(outer)) continue;
    if (outer.keyword === "anyOf" || outer.keyword === "oneOf") {
      violations = withoutUnmeant(violations, outer, schema);
    } else if (OPAQUE.has(outer.keyword)) {
      violations = violations.filter((inner) => !isInside(inner, outer));
    }
  }
  return violations.filter((outer) => !violations.some((inner) => isInside(inner, outer)));
}

/** For a schema that is `false`, the validator gives the location of the value instead. */
function withOwnLocation(
  violation: Violation,
  index: number,
  all: readonly Violation[],
): Violation {
  const parent = all[index - 1];
  if (violation.keyword !== "false" || parent === undefined) return violation;
  return { ...violation, keywordLocation: `${parent.keywordLocation}/false` };
}

/** Keeps only the alternative that was probably meant: it has the right type and the fewest violations. */
function withoutUnmeant(
  violations: readonly Violation[],
  outer: Violation,
  root: JsonObject,
): Violation[] {
  const inside = violations.filter((inner) => isInside(inner, outer));
  const branches = Map.groupBy(inside, ({ keywordLocation }) => branchOf(keywordLocation, outer));
  const alternatives = schemaWith(outer.keywordLocation, root)?.[outer.keyword];
  // An alternative without violations matches, so the others are not the problem.
  const isAmbiguous = isJsonArray(alternatives) && alternatives.length > branches.size;
  const [meant = []] = [...branches.values()]
    .filter((branch) => !isAmbiguous && !branch.some((inner) => isOtherKind(inner, outer)))
    .toSorted((left, right) => left.length - right.length);
  return violations.filter((each) => !inside.includes(each) || meant.includes(each));
}

function isOtherKind(inner: Violation, outer: Violation): boolean {
  const isSamePlace = inner.instanceLocation === outer.instanceLocation;
  return isSamePlace && ["type", "enum", "const"].includes(inner.keyword);
}

function branchOf(keywordLocation: string, outer: Violation): string {
  return keywordLocation.slice(outer.keywordLocation.length + 1).split("/")[0] ?? "";
}

function isInside(inner: Violation, outer: Violation): boolean {
  return inner.keywordLocation.startsWith(`${outer.keywordLocation}/`);
}

/** The expectation, by keyword. */
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

/** Several lines if several keys are missing. */
function describeViolation(violation: Violation, checked: CheckedValue): string[] {
  const place = partsOf(violation.instanceLocation);
  const value = place.reduce(memberOf, checked.value);
  const schema = schemaWith(violation.keywordLocation, checked.schema);
  switch (violation.keyword) {
    case "required": {
      const missing = missingKeys(schema, value).map(
        (key) => `${toPath([...place, key], checked)}: missing`,
      );
      return missing.length > 0 ? missing : [`${toPath(place, checked)}: ${violation.error}`];
    }
    case "false":
      return [`${toPath(place, checked)}: ${describeUnknown(violation, checked)}`];
    default: {
      const expected =
        schema === undefined ? undefined : describeExpected(violation.keyword, schema, checked);
      const problem = expected === undefined ? violation.error : `expected ${expected}`;
      return [`${toPath(place, checked)}: ${problem.replace(/\.$/, "")}, got ${toText(value)}`];
    }
  }
}

/** Undefined if only the validator's own message is available. */
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
  // The schema that allows no other keys, one level above `/false`.
  const closed = schemaWith(violation.keywordLocation.slice(0, -"/false".length), schema);
  const known = isJsonObject(closed?.["properties"]) ? Object.keys(closed["properties"]) : [];
  const meant = findClosest(key, known);
  if (meant !== undefined) return `unknown; did you mean \`${meant}\`?`;
  if (known.length === 0) return "unknown";
  return `unknown; known keys: ${shortened(known.map((name) => `\`${name}\``)).join(", ")}`;
}

function choiceOf(choices: readonly (Json | undefined)[]): string {
  return shortened(choices.map((choice) => toText(choice))).join(" or ");
}

function shortened(texts: readonly string[]): readonly string[] {
  return texts.length > MAX_LISTED ? [...texts.slice(0, MAX_LISTED), "…"] : texts;
}

/** The schema that contains the keyword at the end of the location. */
function schemaWith(keywordLocation: string, root: JsonObject): JsonObject | undefined {
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

function toPath(parts: readonly string[], { name }: CheckedValue): string {
  if (parts.length === 0) return name;
  const path = parts.map((part) => {
    if (/^\d+$/.test(part)) return `[${part}]`;
    return /^[\w-]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  });
  return `\`${path.join("").replace(/^\./, "")}\``;
}

function toText(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}

function listOf(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : [value];
}
