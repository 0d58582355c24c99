/** The arguments of a call as a model wrote them. */
import { isJsonObject, isTooDeep, type JsonObject } from "../../util/index.ts";

/**
 * The one argument of a call whose arguments are no JSON object. No tool has such a parameter, so the
 * check of arguments refuses the call and the model hears what it wrote.
 */
export const INVALID_ARGUMENTS = "__invalid_json";

export function parseToolArguments(text: string): JsonObject {
  // A call without arguments may come without any text.
  if (text.trim() === "") return {};
  const value = parseJson(text);
  // What is nested too deeply could not even be recorded.
  return isJsonObject(value) && !isTooDeep(value) ? value : { [INVALID_ARGUMENTS]: text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
