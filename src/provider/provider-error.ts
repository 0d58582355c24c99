/** Why a model did not answer, in our words: nobody else reads what a provider wrote. */
import { CodedError } from "../util/index.ts";

/** What went wrong, whoever the provider is. */
export type ProviderErrorKind =
  | "missing_key"
  | "authentication"
  | "unknown_model"
  | "context_too_long"
  | "rate_limited"
  | "overloaded"
  | "refused"
  | "invalid_request"
  /** No connection, or one that was cut. */
  | "network"
  /** Silent for too long. */
  | "stalled"
  /** More than we want to hear. */
  | "response_too_long"
  | "other";

/** What else is known of a `ProviderError`. */
export interface ProviderErrorOptions {
  readonly hint?: string;
  readonly cause?: unknown;
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean;
  /** What the provider asks us to wait. */
  readonly retryAfterMs?: number;
}

/** A model that could not be asked, or gave no whole reply. Its code is `provider_<kind>`. */
export class ProviderError extends CodedError {
  readonly kind: ProviderErrorKind;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(kind: ProviderErrorKind, message: string, options: ProviderErrorOptions) {
    const { isRetryable, retryAfterMs, ...rest } = options;
    super(`provider_${kind}`, message, rest);
    this.kind = kind;
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
  }
}

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
