/** What kind of failure it is, from its status first and the provider's words last. */
import type { ProviderErrorKind } from "../provider-error.ts";
import type { FailureDetails } from "./failure-details.ts";

export interface Classified {
  readonly kind: ProviderErrorKind;
  readonly isRetryable: boolean;
  /** The account has no money left; no kind of its own, but it has its own remedy. */
  readonly isOutOfCredit?: boolean;
}

const OUT_OF_CREDIT = /insufficient_quota|insufficient credits|credit balance is too low/i;
const BAD_KEY = /api.?key.*(?:not valid|invalid|expired)|invalid.*api.?key|API_KEY_INVALID/i;
const REFUSED =
  /content_policy|content_filter|content policy|flagged|moderation|PROHIBITED_CONTENT/i;
const NO_MODEL = /not a valid model|model_not_found|model .{0,80}(?:not found|does not exist)/i;
const LIMITED = /rate_limit|RESOURCE_EXHAUSTED/i;
const OVERLOADED = /overloaded|api_error|server_error|UNAVAILABLE/i;

export function classify(failure: FailureDetails, contextTooLong: RegExp): Classified {
  const { status, systemCode, isCut } = failure;
  const said = `${failure.code} ${failure.message} ${JSON.stringify(failure.details)}`;
  if (status === 402 || OUT_OF_CREDIT.test(said)) {
    return { kind: "other", isRetryable: false, isOutOfCredit: true };
  }
  if (contextTooLong.test(said)) return { kind: "context_too_long", isRetryable: false };
  if (status === 429 || LIMITED.test(failure.code))
    return { kind: "rate_limited", isRetryable: true };
  if (isServersFault(status)) return { kind: "overloaded", isRetryable: true };
  if (REFUSED.test(said)) return { kind: "refused", isRetryable: false };
  if (status === 401 || status === 403 || BAD_KEY.test(said)) {
    return { kind: "authentication", isRetryable: false };
  }
  if (status === 404 || NO_MODEL.test(said)) return { kind: "unknown_model", isRetryable: false };
  if (status !== undefined && status >= 400) return { kind: "invalid_request", isRetryable: false };
  // Nobody listens there; that does not change by itself.
  if (systemCode === "ECONNREFUSED") return { kind: "network", isRetryable: false };
  if (isCut) return { kind: "network", isRetryable: true };
  if (OVERLOADED.test(said)) return { kind: "overloaded", isRetryable: true };
  return { kind: "other", isRetryable: false };
}

function isServersFault(status: number | undefined): boolean {
  return status !== undefined && (status >= 500 || status === 408 || status === 409);
}
