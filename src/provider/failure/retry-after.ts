/** How long a provider asks us to wait, in the ways in which providers say so. */
import { isJsonObject } from "../../util/index.ts";
import type { FailureDetails } from "./failure-details.ts";

/** In milliseconds. */
export function findRetryAfter(
  { headers, details }: FailureDetails,
  now: Date,
): number | undefined {
  return (
    atLeastZero(numberIn(headers["retry-after-ms"])) ??
    atLeastZero(seconds(numberIn(headers["retry-after"]))) ??
    atLeastZero(untilDate(headers["retry-after"], now)) ??
    atLeastZero(googleDelay(details))
  );
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "string" && /^\s*\d+(?:\.\d+)?\s*$/.test(value)
    ? Number(value)
    : undefined;
}

function seconds(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * 1000;
}

function untilDate(value: unknown, now: Date): number | undefined {
  return typeof value === "string" ? Date.parse(value) - now.getTime() : undefined;
}

/** `{"@type": "…RetryInfo", "retryDelay": "34.5s"}` */
function googleDelay(details: FailureDetails["details"]): number | undefined {
  for (const detail of details) {
    const delay = isJsonObject(detail) ? detail["retryDelay"] : undefined;
    if (typeof delay === "string") return seconds(numberIn(delay.replace(/s$/, "")));
  }
  return undefined;
}

function atLeastZero(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : Math.max(0, Math.round(value));
}
