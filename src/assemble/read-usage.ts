/** Usage totals. The code that adds them up is loaded on the first call. */
import { loaderOf } from "../util/index.ts";
import type { UsageOptions, UsageSource, UsageTotal } from "./usage.ts";

/**
 * Adds up the usage of a store's conversations, archived ones included, sorted by `key`. Skips conversations outside
 * the period. Throws what the store throws, except for unreadable records.
 */
export async function readUsage(
  store: UsageSource,
  options: UsageOptions = {},
): Promise<readonly UsageTotal[]> {
  const { addUpUsage } = await loadTotals();
  return addUpUsage(store, options);
}

const loadTotals = loaderOf(() => import("./usage.ts"));
