/** When a request that failed is made again. Waiting is the caller's business. */
import { ProviderError } from "./provider-error.ts";

/** How often a failed request is made again, and after which pauses. */
export interface RetryPolicy {
  /** How often a request is made again, after the first time. */
  readonly maxRetries: number;
  readonly baseBackoffMs: number;
  readonly maxBackoffMs: number;
}

/**
 * How long to wait before the request is made again; undefined if it is not. `retries` is how often
 * that was done already.
 */
export function retryDelay(
  policy: RetryPolicy,
  retries: number,
  error: unknown,
): number | undefined {
  if (!(error instanceof ProviderError) || !error.isRetryable) return undefined;
  if (retries >= policy.maxRetries) return undefined;
  return Math.min(error.retryAfterMs ?? backoff(policy, retries), policy.maxBackoffMs);
}

/** Twice as long every time. */
function backoff({ baseBackoffMs }: RetryPolicy, retries: number): number {
  return baseBackoffMs * 2 ** Math.min(retries, 40); // Far above any limit, and still a number.
}
