/**
 * Whatever was thrown on the way to a model, as a `ProviderError`: what happened, and what to do. What
 * a provider wrote is hostile text, so it is kept on one line, short, and without our key.
 */
import type { Clock } from "../util/index.ts";
import { ProviderError, type ProviderErrorKind } from "./provider-error.ts";
import { type FailureDetails, findRetryAfter, readFailure } from "./read-failure.ts";

/** Who was asked. */
export interface Served {
  /** `provider/name`, or the provider alone. */
  readonly id: string;
  readonly apiKey?: string;
  /** The environment variable that holds the key. */
  readonly apiKeyVariable?: string;
  readonly baseUrl?: string;
  /** A server of one's own, which may not have been started. */
  readonly isLocal?: boolean;
}

export interface FailureContext {
  readonly served: Served;
  readonly contextTooLong: RegExp;
  readonly clock: Clock;
}

const MOST_CHARACTERS = 300;

export function toProviderError(error: unknown, context: FailureContext): ProviderError {
  if (error instanceof ProviderError) return error;
  const { served, contextTooLong, clock } = context;
  const failure = readFailure(error);
  const classified = classify(failure, contextTooLong);
  const hint = hintFor(classified, served);
  const retryAfterMs = findRetryAfter(failure, clock.now());
  return new ProviderError(classified.kind, describe(failure, classified, served), {
    isRetryable: classified.isRetryable,
    ...(hint !== undefined && { hint }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // Errors about an answer hold the whole request, and add nothing; others may be bugs of ours.
    ...(classified.kind === "other" && failure.status === undefined && { cause: error }),
  });
}

const WHAT_HAPPENED = {
  missing_key: "there is no key",
  authentication: "the key was refused",
  unknown_model: "there is no such model",
  context_too_long: "the conversation is too long for the model",
  rate_limited: "too many requests",
  overloaded: "the provider is overloaded or broken",
  refused: "the provider refused the content",
  invalid_request: "the provider did not accept the request",
  network: "the connection failed",
  stalled: "the provider fell silent",
  response_too_long: "the reply is too long",
  other: "the request failed",
} as const satisfies Record<ProviderErrorKind, string>;

function describe(failure: FailureDetails, classified: Classified, served: Served): string {
  const { status, systemCode, message } = failure;
  const what = classified.isOutOfCredit ? "the account has no credit left" : undefined;
  const facts = [status === undefined ? undefined : `HTTP ${status}`, systemCode];
  const known = facts.filter((fact) => fact !== undefined).join(", ");
  const said = onOneLine(withoutKey(message, served.apiKey));
  return [
    `${onOneLine(served.id)}: ${what ?? WHAT_HAPPENED[classified.kind]}`,
    known === "" ? "" : ` (${known})`,
    said === "" ? "." : `: ${said}`,
  ].join("");
}

function withoutKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, "…");
}

function onOneLine(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, " ").trim();
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}

function hintFor({ kind, isOutOfCredit }: Classified, served: Served): string | undefined {
  const { id, apiKeyVariable, baseUrl, isLocal } = served;
  const provider = id.split("/", 1)[0] ?? id;
  if (isOutOfCredit === true) return "Add credit to the account, or use another model.";
  switch (kind) {
    case "authentication":
      return apiKeyVariable === undefined
        ? "Check the key, and what it is allowed to do."
        : `Check the key in ${apiKeyVariable}, and what it is allowed to do.`;
    case "unknown_model":
      return `\`jp model ls ${provider}\` lists what there is.`;
    case "context_too_long":
      return "Start a new conversation with -n, or use a model with a larger context window.";
    case "rate_limited":
    case "overloaded":
      return "Wait a moment, then try again; or use another model.";
    case "refused":
      return "Ask in other words, or use another model.";
    case "invalid_request":
      return "Check the parameters in `assistant.model.parameters` and the schemas of the tools.";
    case "network":
      return isLocal === true
        ? `Is ${provider} running at ${baseUrl}? \`providers.llm.${provider}.base_url\` says where.`
        : "Check the connection to the network, then try again.";
    default:
      return undefined;
  }
}

interface Classified {
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

function classify(failure: FailureDetails, contextTooLong: RegExp): Classified {
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
