/** What a turn has cost, as far as providers tell. */
import type { Usage } from "../../../provider/index.ts";

export type TotalUsage = Usage;

export function addUsage(total: TotalUsage, usage: Usage): TotalUsage {
  const keys = ["input", "cachedInput", "cacheWrites", "output", "reasoning", "cost"] as const;
  const entries = keys.flatMap((key) => {
    const sum = (total[key] ?? 0) + (usage[key] ?? 0);
    return total[key] === undefined && usage[key] === undefined ? [] : [[key, sum] as const];
  });
  return Object.fromEntries(entries);
}

/** Empty if nothing is known. */
export function describeUsage({ input, cachedInput, output, reasoning, cost }: TotalUsage): string {
  const parts = [
    input === undefined ? "" : `${count(input)} in${within(cachedInput, "cached")}`,
    output === undefined ? "" : `${count(output)} out${within(reasoning, "reasoning")}`,
    cost === undefined ? "" : `$${cost.toFixed(4)}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `Tokens: ${parts.join(", ")}`;
}

function within(tokens: number | undefined, what: string): string {
  return tokens === undefined || tokens === 0 ? "" : ` (${count(tokens)} ${what})`;
}

function count(tokens: number): string {
  return tokens.toLocaleString("en-US");
}
