/** Parameters that no package knows, put into the body of a request on its way out. */
import { isJsonObject, type JsonObject } from "../util/index.ts";

/** As `fetch` is called. */
export type Fetch = typeof globalThis.fetch;

/** Objects are merged, anything else is replaced. */
export function withExtraBody(fetch: Fetch, extra: JsonObject): Fetch {
  if (Object.keys(extra).length === 0) return fetch;
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    const body: unknown = JSON.parse(init.body);
    if (!isJsonObject(body)) return fetch(input, init);
    return fetch(input, { ...init, body: JSON.stringify(merged(body, extra)) });
  };
}

function merged(under: JsonObject, over: JsonObject): JsonObject {
  const entries = Object.entries(over).map(([key, value]) => {
    const old = under[key];
    return [key, isJsonObject(old) && isJsonObject(value) ? merged(old, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(entries) };
}
