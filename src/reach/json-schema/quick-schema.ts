/** Recognizes schemas that are quick to check, and values that plainly fit, because the validator is slow to load. */
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

/** Keywords without nested schemas. Each looks at a value once. */
const PLAIN = new Set([
  "$schema",
  "const",
  "default",
  "deprecated",
  "description",
  "enum",
  "examples",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "required",
  "title",
  "type",
]);
/** Limits for the number of nested schemas, and for the length of a value. */
const MAX_SCHEMAS = 500;
const MAX_LENGTH = 50_000;

/** Whether a check looks at each part of the value once: there are no patterns, formats, references or alternatives. */
export function isQuick(schema: JsonObject, value: Json): boolean {
  let schemas = 0;
  const isFine = (part: Json): boolean => {
    if (typeof part === "boolean") return true;
    schemas += 1;
    if (!isJsonObject(part) || schemas > MAX_SCHEMAS) return false;
    return Object.entries(part).every(([key, member]) => {
      if (PLAIN.has(key)) return true;
      if (key === "items" || key === "additionalProperties") return isFine(member);
      return key === "properties" && isJsonObject(member) && Object.values(member).every(isFine);
    });
  };
  return isFine(schema) && JSON.stringify(value).length <= MAX_LENGTH;
}

/** These do not constrain a value. */
const ANNOTATIONS = new Set(["default", "deprecated", "description", "examples", "title"]);

/**
 * Whether a value fits a schema of the simplest kind: types, properties and lists of allowed texts and numbers. False if
 * it does not fit, or if only the validator can tell.
 */
export function fitsPlainly(schema: Json, value: Json): boolean {
  if (schema === true) return true;
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).every(([keyword, rule]) => {
    if (ANNOTATIONS.has(keyword)) return true;
    switch (keyword) {
      case "type":
        return [rule].flat().some((type) => isOfType(value, type));
      case "enum":
        return !isNested(value) && Array.isArray(rule) && rule.includes(value);
      case "required":
        return (
          isJsonObject(value) &&
          Array.isArray(rule) &&
          rule.every((key) => typeof key === "string" && Object.hasOwn(value, key))
        );
      case "items":
        return isJsonArray(value) && value.every((item) => fitsPlainly(rule, item));
      case "properties":
      case "additionalProperties":
        return isJsonObject(value) && fitProperties(schema, value);
      default:
        return false;
    }
  });
}

function fitProperties(
  { properties = {}, additionalProperties = true }: JsonObject,
  value: JsonObject,
): boolean {
  return Object.entries(value).every(([key, member]) => {
    if (!isJsonObject(properties)) return false;
    const own = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    return own !== undefined && fitsPlainly(own, member);
  });
}

function isOfType(value: Json, type: Json): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "object":
      return isJsonObject(value);
    default:
      return typeof value === type && !isNested(value); // `boolean`, `number` and `string`.
  }
}

function isNested(value: Json): boolean {
  return typeof value === "object" && value !== null;
}
