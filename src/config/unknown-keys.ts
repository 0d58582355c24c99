/** Keys that nobody knows, with the one that was probably meant. */
import type * as v from "valibot";
import { isJsonObject, nearest } from "../util/index.ts";
import type { ConfigIssue } from "./config-error.ts";
import { findItem, findWritten, tablesOf } from "./written-form.ts";

export interface UnknownKey extends ConfigIssue {
  /** Its table is one that must not hold other keys. */
  readonly isError: boolean;
}

/** In a value as it is written. */
export function findUnknownKeys(
  schema: v.GenericSchema,
  value: unknown,
  path: readonly string[] = [],
): readonly UnknownKey[] {
  if (Array.isArray(value)) {
    const item = findItem(schema);
    if (item === undefined) return [];
    return value.flatMap((member, index) =>
      findUnknownKeys(item, member, [...path, String(index)]),
    );
  }
  // What is no table where one belongs is told by the schema.
  const tables = tablesOf(schema);
  if (!isJsonObject(value) || tables.length === 0) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const child = findWritten(schema, key);
    const inside = [...path, key];
    if (child !== undefined) return findUnknownKeys(child, member, inside);
    const isError = tables.some(({ isStrict }) => isStrict);
    return [{ path: inside, message: unknownKey(schema, key), isError }];
  });
}

function unknownKey(schema: v.GenericSchema, key: string): string {
  const known = tablesOf(schema).flatMap(({ entries }) => Object.keys(entries));
  const close = nearest(key, known);
  return close === undefined
    ? "there is no such key"
    : `there is no such key; did you mean ${close}?`;
}
