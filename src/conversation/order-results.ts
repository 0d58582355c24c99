/**
 * Results in the order of their calls. The record has them as they came in; a model is given them as
 * it asked for them, so that two runs of the same turn look the same to it.
 */
import type { ToolCallResponse } from "./event.ts";
import type { ProviderEvent } from "./event-kinds.ts";
import { pairToolCalls } from "./pairing.ts";

/** `events` are complete: each result has its call, and each call its result. */
export function orderResults(events: readonly ProviderEvent[]): readonly ProviderEvent[] {
  const ranks = rankResults(events);
  const ordered: ProviderEvent[] = [];
  let run: ToolCallResponse[] = [];
  const endRun = () => {
    ordered.push(
      ...run.toSorted((left, right) => (ranks.get(left) ?? 0) - (ranks.get(right) ?? 0)),
    );
    run = [];
  };
  for (const event of events) {
    if (event.type === "tool_call_response") run.push(event);
    else {
      endRun();
      ordered.push(event);
    }
  }
  endRun();
  return ordered;
}

/** The position of each result's call among all calls. */
function rankResults(events: readonly ProviderEvent[]): ReadonlyMap<ToolCallResponse, number> {
  const ranks = new Map<ToolCallResponse, number>();
  for (const [rank, { response }] of pairToolCalls(events).pairs.entries()) {
    if (response !== undefined) ranks.set(response, rank);
  }
  return ranks;
}
