/** `request.cache`: whether a provider keeps what it has read for the next request, and for how long. */
import { configError } from "./config-error.ts";

export type CachePolicy = "off" | "short" | "long";

const HOUR = 3600;

const NAMED: Readonly<Record<string, CachePolicy>> = {
  true: "short",
  short: "short",
  long: "long",
  false: "off",
  off: "off",
};

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: HOUR,
  d: 24 * HOUR,
};

/** A duration is one number with a unit, or several: `90s`, `1h 30m`. Throws `config_invalid`. */
export function parseCachePolicy(written: boolean | string): CachePolicy {
  const text = String(written).trim();
  if (Object.hasOwn(NAMED, text)) return NAMED[text] ?? "off";
  const seconds = findSeconds(text);
  if (seconds === undefined) throw unreadable();
  if (seconds === 0) return "off";
  return seconds >= HOUR ? "long" : "short";
}

/** Undefined if it is no duration. */
function findSeconds(text: string): number | undefined {
  if (/^0+$/.test(text)) return 0;
  if (!/^(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  return [...text.matchAll(/(?<amount>[\d.]+)\s*(?<unit>[a-z]+)/g)]
    .map(({ groups = {} }) => Number(groups["amount"]) * (SECONDS[groups["unit"] ?? ""] ?? 0))
    .reduce((sum, seconds) => sum + seconds, 0);
}

function unreadable(): Error {
  return configError("config", {
    path: ["assistant", "request", "cache"],
    message: "expected true, short, long, false, off or a duration like 30m",
  });
}
