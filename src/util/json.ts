/** The JSON data model, and the one test that tells objects from arrays and null. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names a value's JSON type the way an error message should: `null`, `array`, `string`, … */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  return Array.isArray(value) ? "array" : typeof value;
}

/** What the text says as JSON; undefined if it is none. */
export function findJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch {
    return undefined;
  }
}
