/** How long ago something was, or how far ahead it is. */
const UNITS: readonly (readonly [name: string, milliseconds: number])[] = [
  ["year", 365 * 24 * 3600_000],
  ["month", 30 * 24 * 3600_000],
  ["week", 7 * 24 * 3600_000],
  ["day", 24 * 3600_000],
  ["hour", 3600_000],
  ["minute", 60_000],
];

/** A time as people say it, such as "5 minutes ago". */
export function relativeTime(then: number, now: number): string {
  const distance = Math.abs(now - then);
  const [name, length] = UNITS.find(([, milliseconds]) => distance >= milliseconds) ?? [];
  if (name === undefined || length === undefined) return "just now";
  const count = Math.floor(distance / length);
  const amount = `${count} ${name}${count === 1 ? "" : "s"}`;
  return then <= now ? `${amount} ago` : `in ${amount}`;
}
