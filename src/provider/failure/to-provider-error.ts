/**
 * Whatever was thrown on the way to a model, as a `ProviderError`: what happened, and what to do. What
 * a provider wrote is hostile text, so it is kept on one line, short, and without our key.
 */
import type { Clock } from "../../util/index.ts";
import { ProviderError, type ProviderErrorKind } from "../provider-error.ts";
import { type Classified, classify } from "./classify.ts";
import { type FailureDetails, readFailure } from "./failure-details.ts";
import { findRetryAfter } from "./retry-after.ts";

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
