/** What requests to models cost: the JSON form of `token_usage` events, and their sums. */
import {
  fieldPath,
  type JsonObject,
  mismatch,
  optionalString,
  type Shape,
  stringField,
} from "../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import type { InquiryId, TokenUsage } from "./event.ts";

/** Token counts. What the provider does not report is absent. */
export interface Usage {
  /** All input tokens, including those from the cache. */
  readonly input?: number;
  /** Input tokens read from the cache, and input tokens written to it. */
  readonly cachedInput?: number;
  readonly cacheWrites?: number;
  /** All output tokens, including reasoning. */
  readonly output?: number;
  readonly reasoning?: number;
  /** In US dollars, as the provider reports it. */
  readonly cost?: number;
}

/** Each count, and its key on disk. */
const COUNTS = {
  input: "input",
  cachedInput: "cached_input",
  cacheWrites: "cache_writes",
  output: "output",
  reasoning: "reasoning",
  cost: "cost",
} as const satisfies Record<keyof Usage, string>;

const COUNT_NAMES = Object.keys(COUNTS) as readonly (keyof Usage)[]; // Its own keys.

/** The keys of a `token_usage` event on disk. */
export const USAGE_KEYS = [
  "model",
  "purpose",
  "inquiry_id",
  "requests",
  ...Object.values(COUNTS),
] as const;

/** The sum of two requests. What neither reports is absent. */
export function addUsage(left: Usage, right: Usage): Usage {
  const entries = COUNT_NAMES.flatMap((name) => {
    const sum = (left[name] ?? 0) + (right[name] ?? 0);
    return left[name] === undefined && right[name] === undefined ? [] : [[name, sum] as const];
  });
  return Object.fromEntries(entries);
}

/** Whether the provider has reported anything worth recording. */
export function isReported(usage: Usage): boolean {
  return COUNT_NAMES.some((name) => (usage[name] ?? 0) > 0);
}

/** The sum of what these events say: of a turn, or of a whole record. */
export function usageOf(events: Iterable<{ readonly type: string }>): Usage {
  let sum: Usage = {};
  for (const event of events) {
    if (isTokenUsage(event)) sum = addUsage(sum, event.usage);
  }
  return sum;
}

function isTokenUsage(event: { readonly type: string }): event is TokenUsage {
  return event.type === "token_usage";
}

/** The usage in entries. Decodes no others. */
export function usageIn(entries: readonly StreamEntry[]): readonly TokenUsage[] {
  return entries.flatMap((entry) => {
    const event = entry.eventType === "token_usage" ? entry.event : undefined;
    return event?.type === "token_usage" ? [event] : [];
  });
}

/** With each count of a request that is there and not 0. */
export function usageToJson(usage: Usage): JsonObject {
  const counts = COUNT_NAMES.flatMap((name) => {
    const count = usage[name] ?? 0;
    return count === 0 ? [] : [[COUNTS[name], count] as const];
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
    const count = optionalCount(shape, COUNTS[name]);
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
