/** The models that a provider says it has. */
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { accepted } from "./failure/index.ts";
import type { Fetch } from "./extra-body.ts";

/** A model that a provider says it has. */
export interface ModelInfo {
  /** The name to ask for, without the provider. */
  readonly name: string;
  /** In tokens, where it is told. */
  readonly contextWindow?: number;
}

export interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** The objects in the list under `key`; what is no object is passed over. */
export async function fetchList(request: ListRequest, key: string): Promise<readonly JsonObject[]> {
  const { url, headers, fetch, signal } = request;
  const response = await accepted(await fetch(url, { headers, signal }));
  const body: unknown = await response.json();
  const list = isJsonObject(body) ? body[key] : undefined;
  return Array.isArray(list) ? list.filter((each: Json) => isJsonObject(each)) : [];
}

export function toModelInfo(name: Json | undefined, window: Json | undefined): ModelInfo[] {
  if (typeof name !== "string" || name === "") return [];
  return [{ name, ...(typeof window === "number" && window > 0 && { contextWindow: window }) }];
}
