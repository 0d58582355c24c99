/** The cost of requests to models. */

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
export const USAGE_COUNTS = {
  input: "input",
  cachedInput: "cached_input",
  cacheWrites: "cache_writes",
  output: "output",
  reasoning: "reasoning",
  cost: "cost",
} as const satisfies Record<keyof Usage, string>;

/** The names of `USAGE_COUNTS`. */
export const COUNT_NAMES = Object.keys(USAGE_COUNTS) as readonly (keyof Usage)[]; // Its own keys.

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
