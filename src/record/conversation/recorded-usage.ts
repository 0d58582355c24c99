/** The usage that is on record, and its sum. */
import type { StreamEntry } from "./entry.ts";
import type { TokenUsage } from "./event.ts";
import { addUsage, type Usage } from "./usage.ts";

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
