/** What a server asks for in the middle of a call, and what it is told, whichever way it asks. */
import { isJsonObject, type JsonObject } from "../util/index.ts";
import type { SamplingResponse } from "./sampling.ts";

/** One thing that it asks for; what is in it is not checked. */
export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly params: unknown;
}

/** What it is told. */
export type InputResponse =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | Refusal
  | SamplingResponse;

/** Somebody, or some rule, has said no; or nobody has decided anything. */
export type Refusal = { readonly action: "decline" | "cancel" };

/** Those of an `input_required` result. */
export function toInputRequests(requests: Readonly<Record<string, unknown>>): InputRequest[] {
  return Object.entries(requests).map(([key, request]) => {
    const { method, params } = isJsonObject(request) ? request : {};
    return { key, method: typeof method === "string" ? method : "", params };
  });
}
