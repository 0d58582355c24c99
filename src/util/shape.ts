/**
 * Reads fields of unknown JSON and reports exactly which one is wrong. Only codecs call it; inner
 * code trusts what they return.
 */
import { isJsonArray, isJsonObject, type Json, type JsonObject, jsonTypeOf } from "./json.ts";

/** A value does not have the expected shape. `path` leads to it from the document's root. */
export class ShapeError extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(path === "" ? problem : `${path}: ${problem}`);
    this.name = "ShapeError";
    this.path = path;
  }
}

/** An object being read, and its path in the document. */
export interface Shape {
  readonly value: JsonObject;
  readonly path: string;
}

export function shapeOf(value: unknown, path = ""): Shape {
  if (!isJsonObject(value)) throw mismatch(path, "an object", value);
  return { value, path };
}

export function objectField(shape: Shape, key: string): Shape {
  return shapeOf(shape.value[key], fieldPath(shape, key));
}

export function stringField(shape: Shape, key: string): string {
  const value = shape.value[key];
  if (typeof value !== "string") throw mismatch(fieldPath(shape, key), "a string", value);
  return value;
}

/** `null` counts as absent. */
export function optionalString(shape: Shape, key: string): string | undefined {
  return shape.value[key] == null ? undefined : stringField(shape, key);
}

export function booleanField(shape: Shape, key: string): boolean {
  const value = shape.value[key];
  if (typeof value !== "boolean") throw mismatch(fieldPath(shape, key), "true or false", value);
  return value;
}

export function optionalBoolean(shape: Shape, key: string): boolean | undefined {
  return shape.value[key] == null ? undefined : booleanField(shape, key);
}

export function integerField(shape: Shape, key: string): number {
  const value = shape.value[key];
  if (!Number.isInteger(value)) throw mismatch(fieldPath(shape, key), "an integer", value);
  return value as number; // Number.isInteger does not narrow.
}

export function arrayField(shape: Shape, key: string): readonly Json[] {
  const value = shape.value[key];
  if (!isJsonArray(value)) throw mismatch(fieldPath(shape, key), "an array", value);
  return value;
}

export function fieldPath(shape: Shape, key: string): string {
  return shape.path === "" ? key : `${shape.path}.${key}`;
}

/** One of a closed set of strings, as its literal type. */
export function oneOf<const Member extends string>(
  shape: Shape,
  key: string,
  members: readonly Member[],
): Member {
  const value = shape.value[key];
  const found = members.find((member) => member === value);
  if (found !== undefined) return found;
  const got = typeof value === "string" ? "another string" : typeNameOf(value);
  throw new ShapeError(fieldPath(shape, key), `expected ${listed(members)}, got ${got}`);
}

/** The fields whose keys are not in `known`; undefined when there are none. */
export function unknownFields(
  value: JsonObject,
  known: ReadonlySet<string>,
): JsonObject | undefined {
  const keys = Object.keys(value);
  if (keys.every((key) => known.has(key))) return undefined;
  const unknown = keys.filter((key) => !known.has(key));
  // Not by assignment, which would turn a `__proto__` key into the prototype.
  return Object.fromEntries(unknown.map((key) => [key, value[key] as Json])); // An own key.
}

/** Names the value's type but never quotes the value: it may come from a private file. */
export function mismatch(path: string, expected: string, value: unknown): ShapeError {
  return new ShapeError(path, `expected ${expected}, got ${typeNameOf(value)}`);
}

function typeNameOf(value: unknown): string {
  if (typeof value !== "string") return jsonTypeOf(value);
  return value === "" ? "an empty string" : "a string";
}

function listed(members: readonly string[]): string {
  return members.map((member) => JSON.stringify(member)).join(" or ");
}
