/** The arguments of a tool, as they are given on the command line. */
import { isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import { usageError } from "../../exit-status.ts";

export interface ArgumentFlags {
  /** `key=value` or `key:=JSON`. */
  readonly arg?: readonly string[];
  /** All at once, as a JSON object. */
  readonly args?: string;
}

/** Throws `usage`. */
export function readArguments({ arg = [], args }: ArgumentFlags): JsonObject {
  const all = args === undefined ? {} : parseJson(args);
  if (!isJsonObject(all)) throw usageError("--args expects a JSON object.");
  const single = arg.map((word) => {
    const [, key, json, text = ""] = /^([^=:]+)(:)?=([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined)
      throw usageError(`Not an argument: ${word}`, "Write key=value or key:=JSON.");
    return [key, json === undefined ? text : parseJson(text)] as const;
  });
  return { ...all, ...Object.fromEntries(single) };
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch {
    throw usageError(`This is no JSON: ${text}`);
  }
}
