/** What requests have cost. The code that adds it up is loaded with the first call. */
import { loaderOf } from "../util/index.ts";
import type { UsageOptions, UsageSource, UsageTotal } from "./usage.ts";

/**
 * Adds up what the conversations of a store have cost, archived ones included, in order of `key`. Conversations outside
 * of the period are not read. Throws what the store throws, except for records that cannot be read.
 */
export async function readUsage(
  store: UsageSource,
  options: UsageOptions = {},
): Promise<readonly UsageTotal[]> {
  const { addUpUsage } = await loadTotals();
  return addUpUsage(store, options);
}

const loadTotals = loaderOf(() => import("./usage.ts"));
