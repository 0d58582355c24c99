/** Selects the values of a workspace that need trust, by the rule of each key's trust class. */
import { type ClassifiedValue, valueAt, withValue } from "../config/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { type Context, relevantPart } from "./trust-rules.ts";

/** A value that needs trust, or the part of it that does. */
export interface RelevantValue {
  readonly path: readonly string[];
  readonly value: Json;
}

/** `own` is the user's config that the values replace. `context` has the keys of the table that they are in. */
export function relevantValues(
  values: readonly ClassifiedValue[],
  own: unknown,
  context: Context,
): readonly RelevantValue[] {
  return values.flatMap(({ path, trust, value }) => {
    const before = valueAt(own, path) as Json | undefined; // JSON.
    const part = relevantPart(trust, value, before, {
      ...context,
      path: [...context.path, ...path],
    });
    return part === undefined ? [] : [{ path, value: part }];
  });
}

/** The values in one table. One without keys is the whole table. */
export function tableOf(values: readonly RelevantValue[]): JsonObject {
  return values.reduce<JsonObject>((table, { path: keys, value }) => {
    if (keys.length > 0) return withValue(table, { keys, value });
    return isJsonObject(value) ? value : table;
  }, {});
}
