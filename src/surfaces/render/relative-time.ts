/** Relative times, past and future. */
const UNITS = [
  { name: "year", length: 365 * 24 * 3600_000 },
  { name: "month", length: 30 * 24 * 3600_000 },
  { name: "week", length: 7 * 24 * 3600_000 },
  { name: "day", length: 24 * 3600_000 },
  { name: "hour", length: 3600_000 },
  { name: "minute", length: 60_000 },
];

/** A time relative to now, such as "5 minutes ago". */
export function relativeTime(then: number, now: number): string {
  const distance = Math.abs(now - then);
  const unit = UNITS.find(({ length }) => distance >= length);
  if (unit === undefined) return "just now";
  const count = Math.floor(distance / unit.length);
  const amount = `${count} ${unit.name}${count === 1 ? "" : "s"}`;
  return then <= now ? `${amount} ago` : `in ${amount}`;
}

/** Such as `2026-01-02 15:04`, in the user's time zone. */
export function localTime(time: Date): string {
  return time.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });
}
