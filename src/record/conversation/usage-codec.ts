/** The JSON form of `token_usage` events. */
import {
  fieldPath,
  type JsonObject,
  mismatch,
  optionalString,
  type Shape,
  stringField,
} from "../../util/index.ts";
import type { InquiryId, TokenUsage } from "./event.ts";
import { COUNT_NAMES, type Usage, USAGE_COUNTS } from "./usage.ts";

/** The keys of a `token_usage` event on disk. */
export const USAGE_KEYS = [
  "model",
  "purpose",
  "inquiry_id",
  "requests",
  ...Object.values(USAGE_COUNTS),
] as const;

/** With each count of a request that is there and not 0. */
export function usageToJson(usage: Usage): JsonObject {
  const counts = COUNT_NAMES.flatMap((name) => {
    const count = usage[name] ?? 0;
    return count === 0 ? [] : [[USAGE_COUNTS[name], count] as const];
  });
  return Object.fromEntries(counts);
}

export function tokenUsageToJson(event: TokenUsage): JsonObject {
  const { model, purpose, inquiryId, requests = 1, usage } = event;
  return {
    model,
    purpose,
    ...(inquiryId !== undefined && { inquiry_id: inquiryId }),
    ...(requests > 1 && { requests }),
    ...usageToJson(usage),
  };
}

/** Throws `ShapeError`. */
export function parseTokenUsage(shape: Shape): Omit<TokenUsage, "timestamp"> {
  const inquiryId = optionalString(shape, "inquiry_id");
  const requests = optionalCount(shape, "requests");
  const counts = COUNT_NAMES.flatMap((name) => {
    const count = optionalCount(shape, USAGE_COUNTS[name]);
    return count === undefined ? [] : [[name, count] as const];
  });
  return {
    type: "token_usage",
    model: stringField(shape, "model"),
    purpose: stringField(shape, "purpose"),
    ...(inquiryId !== undefined && { inquiryId: inquiryId as InquiryId }), // Branded where it is read.
    ...(requests !== undefined && { requests }),
    usage: Object.fromEntries(counts),
  };
}

function optionalCount(shape: Shape, key: string): number | undefined {
  const count = shape.value[key];
  if (count == null) return undefined;
  // Sums of larger numbers would be infinite.
  if (typeof count === "number" && count >= 0 && count <= Number.MAX_SAFE_INTEGER) return count;
  throw mismatch(fieldPath(shape, key), "a number", count);
}
