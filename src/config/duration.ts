/** Durations as they are written in a config: `90s`, `1h 30m`. */

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 24 * 3600,
};

/** Undefined if it is not a duration. */
export function findSeconds(text: string): number | undefined {
  if (/^0+$/.test(text)) return 0;
  if (!/^(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  return [...text.matchAll(/(?<amount>[\d.]+)\s*(?<unit>[a-z]+)/g)]
    .map(({ groups = {} }) => Number(groups["amount"]) * (SECONDS[groups["unit"] ?? ""] ?? 0))
    .reduce((sum, seconds) => sum + seconds, 0);
}
