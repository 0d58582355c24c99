/** Why a model did not answer, independent of the provider, and when to retry. */
import { JpError, type JpErrorOptions } from "../../util/index.ts";

/** The kind of failure, the same for all providers. */
export type ProviderErrorKind =
  | "missing_key"
  | "authentication"
  | "unknown_model"
  | "context_too_long"
  | "rate_limited"
  | "overloaded"
  | "refused"
  | "invalid_request"
  /** The chat template of a local model does not accept the conversation. */
  | "template_refused"
  /** A local server is loading its model, or is being restarted. */
  | "starting"
  /** No connection, or a lost one. */
  | "network"
  /** Nothing received for too long. */
  | "stalled"
  /** Larger than our limit. */
  | "response_too_long"
  | "other";

/** Details of a `ProviderError`. */
export interface ProviderErrorOptions extends JpErrorOptions {
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean;
  /** How long the provider asks us to wait. */
  readonly retryAfterMs?: number;
}

/** A request to a model that failed, or whose reply is incomplete. Its code is `provider_<kind>`. */
export class ProviderError extends JpError {
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

export function brokenOffError(modelId: string): ProviderError {
  const message = `${modelId}: the reply broke off before it was complete.`;
  return new ProviderError("network", message, { isRetryable: true, hint: "Try again." });
}

/** Only for a reply with calls. A text is usable as it is. */
export function lengthLimitError(modelId: string): ProviderError {
  const message = `${modelId}: the reply reached its length limit before its calls were complete.`;
  const hint = "Raise `assistant.model.parameters.max_tokens`.";
  return new ProviderError("other", message, { isRetryable: true, hint });
}

/** How often to retry a failed request, and how long to wait in between. */
export interface RetryPolicy {
  /** Not counting the first request. */
  readonly maxRetries: number;
  readonly baseBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** A server that is starting is tried every two seconds, for about a minute. */
const STARTING = { maxRetries: 30, maxBackoffMs: 2000 };

/** The maximum number of retries for this error. */
export function maxRetriesFor({ maxRetries }: RetryPolicy, { kind }: ProviderError): number {
  return kind === "starting" && maxRetries > 0 ? STARTING.maxRetries : maxRetries;
}

/**
 * How long to wait before the next retry, or undefined to give up. `retries` counts those already made. The caller does
 * the waiting.
 */
export function retryDelay(
  policy: RetryPolicy,
  retries: number,
  error: unknown,
): number | undefined {
  if (!(error instanceof ProviderError) || !error.isRetryable) return undefined;
  if (retries >= maxRetriesFor(policy, error)) return undefined;
  // The exponent is bounded to keep the delay finite; the policy's maximum is far below.
  const backoff = policy.baseBackoffMs * 2 ** Math.min(retries, 40);
  const longest = error.kind === "starting" ? STARTING.maxBackoffMs : policy.maxBackoffMs;
  return Math.min(error.retryAfterMs ?? backoff, longest, policy.maxBackoffMs);
}

/** A retry that is about to be made. */
export interface Retry {
  readonly error: ProviderError;
  /** Starts at 1. */
  readonly retry: number;
  readonly maxRetries: number;
  readonly delayMs: number;
}

/** Counts the retries of a request. Waiting for a server to start does not use up the retries for other errors. */
export class RetryCounter {
  readonly #policy: RetryPolicy;
  #starting = 0;
  #others = 0;

  constructor(policy: RetryPolicy) {
    this.#policy = policy;
  }

  /** Undefined to give up. */
  next(error: unknown): Retry | undefined {
    if (!(error instanceof ProviderError)) return undefined;
    const isStarting = error.kind === "starting";
    const retries = isStarting ? this.#starting : this.#others;
    const delayMs = retryDelay(this.#policy, retries, error);
    if (delayMs === undefined) return undefined;
    if (isStarting) this.#starting += 1;
    else this.#others += 1;
    return { error, retry: retries + 1, maxRetries: maxRetriesFor(this.#policy, error), delayMs };
  }
}
