/** Durations as written in a config: `90s`, `1h 30m`. */

/** Longer words, such as `hours`, are looked up by their first letter, except `ms`. */
const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 24 * 3600,
  w: 7 * 24 * 3600,
};

/** An amount and its unit. */
const PART =
  /(\d+(?:\.\d+)?)\s*(ms|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?)\s*/y;

/** Undefined if it is not a duration. */
export function findSeconds(text: string): number | undefined {
  if (/^0+$/.test(text)) return 0;
  let seconds: number | undefined;
  for (let end = 0; end < text.length; end = PART.lastIndex) {
    PART.lastIndex = end;
    const [, amount, unit = ""] = PART.exec(text) ?? [];
    if (amount === undefined) return undefined;
    seconds = (seconds ?? 0) + Number(amount) * secondsIn(unit);
  }
  return seconds;
}

function secondsIn(unit: string): number {
  return SECONDS[unit] ?? SECONDS[unit.slice(0, 1)] ?? 0;
}
