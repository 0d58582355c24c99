/** Durations as they are written in a config: `90s`, `1h 30m`. */

/** Longer words, such as `hours`, are their first letter; `ms` is the exception. */
const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 24 * 3600,
  w: 7 * 24 * 3600,
};

const UNIT = "ms|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?";
const DURATION = new RegExp(`^(?:\\d+(?:\\.\\d+)?\\s*(?:${UNIT})\\s*)+$`);

/** Undefined if it is not a duration. */
export function findSeconds(text: string): number | undefined {
  if (/^0+$/.test(text)) return 0;
  if (!DURATION.test(text)) return undefined;
  return [...text.matchAll(/(?<amount>[\d.]+)\s*(?<unit>[a-z]+)/g)]
    .map(({ groups = {} }) => Number(groups["amount"]) * secondsIn(groups["unit"] ?? ""))
    .reduce((sum, seconds) => sum + seconds, 0);
}

function secondsIn(unit: string): number {
  return SECONDS[unit] ?? SECONDS[unit.slice(0, 1)] ?? 0;
}
