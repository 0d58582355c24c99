/**
 * Turns anything thrown by a request to a model into a `ProviderError` that says what happened and what to do. The
 * provider's message is untrusted: it is truncated to one short line, with the key redacted.
 */
import type { Clock, JpErrorOptions } from "../../util/index.ts";
import type { Dialect } from "./dialect.ts";
import { ProviderError, type ProviderErrorKind } from "./provider-error.ts";
import { type FailureDetails, findRetryAfter, readFailure } from "./read-failure.ts";

/** The target of the request. */
export interface Endpoint {
  /** `provider/name`, or the provider alone. */
  readonly id: string;
  readonly apiKey?: string;
  /** The environment variable that holds the key. */
  readonly apiKeyVariable?: string;
  readonly baseUrl?: string;
  /** A server on the user's machine, which may not be running. */
  readonly isLocal?: boolean;
  /** It has answered this process before, so it is probably only restarting. */
  readonly wasReached?: boolean;
}

export interface FailureContext {
  readonly endpoint: Endpoint;
  readonly dialect: Pick<Dialect, "hints">;
  readonly clock: Clock;
  /** The names of the files in the request, such as images. */
  readonly files?: readonly string[];
}

export function toProviderError(error: unknown, context: FailureContext): ProviderError {
  if (error instanceof ProviderError) return error;
  const { endpoint, dialect, clock } = context;
  const failure = readFailure(error);
  const classification = classify(failure, context);
  const { refusesFiles = false } = classification;
  const own = dialect.hints?.find(({ pattern }) => pattern.test(failure.message));
  const { hint, commandHint } = own ?? findHints(classification, endpoint);
  const retryAfterMs = findRetryAfter(failure, clock.now());
  return new ProviderError(
    classification.kind,
    describe(failure, classification, refusesFiles ? context : { endpoint }),
    {
      isRetryable: classification.isRetryable,
      ...(hint !== undefined && { hint }),
      ...(commandHint !== undefined && { commandHint }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      // An HTTP error carries the whole request and adds nothing. Anything else may be our bug.
      ...(classification.kind === "other" && failure.status === undefined && { cause: error }),
    },
  );
}

interface Classification {
  readonly kind: ProviderErrorKind;
  readonly isRetryable: boolean;
  /** Variants of a kind, with their own message and hint. */
  readonly isOutOfCredit?: boolean;
  readonly refusesFiles?: boolean;
}

const OUT_OF_CREDIT = /insufficient_quota|insufficient credits|credit balance is too low/i;
/** Covers the messages of all providers, because another server may speak the same protocol. */
export const CONTEXT_TOO_LONG =
  /context.?(?:length|window|size|limit)|exceeds? .*context|prompt (?:is )?too long|exceeds the maximum number of tokens|request_too_large/i;
const BAD_KEY = /api.?key.*(?:not valid|invalid|expired)|invalid.*api.?key|API_KEY_INVALID/i;
const REFUSED =
  /content_policy|content_filter|content policy|flagged|moderation|PROHIBITED_CONTENT/i;
const UNKNOWN_MODEL =
  /not a valid model|model_not_found|model .{0,80}(?:not found|does not exist)/i;
/** Messages of a model without vision, or of a server that runs it without. */
const NO_FILES =
  /(?:image|vision|multi-?modal|mmproj|pdf|document|file|audio).{0,80}(?:not support|unsupported|not enabled|disabled|not available|must provide)|(?:not support|unsupported|no endpoints found that support|cannot (?:process|read)).{0,40}(?:image|vision|multi-?modal|pdf|document|file|audio)/i;
const RATE_LIMITED = /rate_limit|RESOURCE_EXHAUSTED/i;
const OVERLOADED = /overloaded|api_error|server_error|UNAVAILABLE/i;
/** llama.cpp's messages for a conversation that the model's chat template rejects, or fails on. */
const TEMPLATE_REFUSED =
  /jinja|chat template|conversation roles|tool.?call ids|single tool-calls|while executing \w+ at line|error executing \w+ at position/i;
/** llama.cpp's code for internal errors: a template or an output that it cannot read. */
const SERVER_ERROR = /\bserver_error\b/;

/** Goes by the status first, and by the provider's message last. */
function classify(
  failure: FailureDetails,
  { endpoint, files = [] }: FailureContext,
): Classification {
  const { status, systemCode, isConnectionLost } = failure;
  const text = `${failure.code} ${failure.message} ${JSON.stringify(failure.details)}`;
  if (status === 402 || OUT_OF_CREDIT.test(text)) {
    return { kind: "other", isRetryable: false, isOutOfCredit: true };
  }
  if (CONTEXT_TOO_LONG.test(text)) return { kind: "context_too_long", isRetryable: false };
  if (files.length > 0 && NO_FILES.test(text)) {
    return { kind: "invalid_request", isRetryable: false, refusesFiles: true };
  }
  if (status === 429 || RATE_LIMITED.test(failure.code)) {
    return { kind: "rate_limited", isRetryable: true };
  }
  if (endpoint.isLocal === true) {
    const local = classifyLocal(failure, endpoint);
    if (local !== undefined) return local;
  }
  if (isServerError(status)) return { kind: "overloaded", isRetryable: true };
  if (REFUSED.test(text)) return { kind: "refused", isRetryable: false };
  if (status === 401 || status === 403 || BAD_KEY.test(text)) {
    return { kind: "authentication", isRetryable: false };
  }
  if (status === 404 || UNKNOWN_MODEL.test(text)) {
    return { kind: "unknown_model", isRetryable: false };
  }
  if (status !== undefined && status >= 400) return { kind: "invalid_request", isRetryable: false };
  // No server is running there, and retrying will not start one.
  if (systemCode === "ECONNREFUSED") return { kind: "network", isRetryable: false };
  if (isConnectionLost) return { kind: "network", isRetryable: true };
  if (OVERLOADED.test(text)) return { kind: "overloaded", isRetryable: true };
  return { kind: "other", isRetryable: false };
}

/** Failures that will not go away on their own: the server's flags, the machine's memory. */
const LOCAL_PERMANENT = /--jinja|requires more system memory|failed to load|error loading model/i;

/** Errors of local servers, which look like overload. */
function classifyLocal(
  { status, systemCode, message, code }: FailureDetails,
  { wasReached }: Endpoint,
): Classification | undefined {
  if (status === 503 && /loading/i.test(message)) return { kind: "starting", isRetryable: true };
  if (systemCode === "ECONNREFUSED" && wasReached === true) {
    return { kind: "starting", isRetryable: true };
  }
  if (status === undefined || status < 400) return undefined;
  if (LOCAL_PERMANENT.test(message)) return { kind: "other", isRetryable: false };
  if (TEMPLATE_REFUSED.test(message)) return { kind: "template_refused", isRetryable: false };
  // Overload has another status, and a retry would get the same error.
  return status === 500 && SERVER_ERROR.test(code)
    ? { kind: "other", isRetryable: false }
    : undefined;
}

/** Timeouts and conflicts pass, like server errors. */
function isServerError(status: number | undefined): boolean {
  return status !== undefined && (status >= 500 || status === 408 || status === 409);
}

const DESCRIPTIONS = {
  missing_key: "no API key",
  authentication: "the API key was rejected",
  unknown_model: "unknown model",
  context_too_long: "the conversation is too long for the model",
  rate_limited: "rate limit reached",
  overloaded: "the provider is overloaded or unavailable",
  refused: "the provider refused the content",
  invalid_request: "the provider rejected the request",
  template_refused: "the model's chat template does not accept the conversation",
  starting: "the server is loading its model",
  network: "connection failed",
  stalled: "the provider stopped responding",
  response_too_long: "the reply is too long",
  other: "the request failed",
} as const satisfies Record<ProviderErrorKind, string>;

function describe(
  failure: FailureDetails,
  { kind, isOutOfCredit = false }: Classification,
  { endpoint, files = [] }: Pick<FailureContext, "endpoint" | "files">,
): string {
  const { status, systemCode, message } = failure;
  const description =
    files.length === 0
      ? describeKind(failure, { kind, isOutOfCredit })
      : `the model does not accept ${toOneLine(files.join(", "))}`;
  const facts = [status === undefined ? undefined : `HTTP ${status}`, systemCode];
  const known = facts.filter((fact) => fact !== undefined).join(", ");
  // llama.cpp quotes the location in the template before the actual message.
  const words = message.replace(/^[^]*(?:Jinja Exception|\nError): /, "");
  const quoted = kind === "starting" ? "" : toOneLine(redactKey(words, endpoint.apiKey));
  return [
    `${toOneLine(endpoint.id)}: ${description}`,
    known === "" ? "" : ` (${known})`,
    quoted === "" ? "." : `: ${quoted}`,
  ].join("");
}

function describeKind(
  { systemCode }: FailureDetails,
  { kind, isOutOfCredit }: Pick<Required<Classification>, "kind" | "isOutOfCredit">,
): string {
  if (isOutOfCredit) return "the account is out of credit";
  const isGone = kind === "starting" && systemCode !== undefined;
  return isGone ? "the server no longer answers" : DESCRIPTIONS[kind];
}

function redactKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, "…");
}

const MAX_CHARACTERS = 300;

function toOneLine(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, " ").trim();
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line;
}

type Hints = Pick<JpErrorOptions, "hint" | "commandHint">;

function findHints(classification: Classification, endpoint: Endpoint): Hints {
  const hint = findHint(classification, endpoint);
  const commandHint = findCommandHint(classification, endpoint);
  return { ...(hint !== undefined && { hint }), ...(commandHint !== undefined && { commandHint }) };
}

/** Only for errors where a command helps. */
function findCommandHint(
  { kind, refusesFiles }: Classification,
  { id }: Endpoint,
): string | undefined {
  if (refusesFiles === true) {
    return "Use a model that accepts such files, or detach them with `jp attachment rm`.";
  }
  switch (kind) {
    case "unknown_model":
      return `Run \`jp model ls ${id.split("/", 1)[0] ?? id}\` to list the available models.`;
    case "context_too_long":
      return (
        "Shorten the message, compact the conversation with `jp conversation compact --summarize`, or use a model " +
        "with a larger context window."
      );
    case "template_refused":
      return "Start a new conversation with -n, or use another model or chat template.";
    default:
      return undefined;
  }
}

function findHint(
  { kind, isOutOfCredit, refusesFiles }: Classification,
  endpoint: Endpoint,
): string | undefined {
  const { id, apiKeyVariable, baseUrl, isLocal } = endpoint;
  const provider = id.split("/", 1)[0] ?? id;
  if (isOutOfCredit === true) return "Add credit to the account, or use another model.";
  if (refusesFiles === true) {
    return "Use a model that accepts such files, or leave them out.";
  }
  switch (kind) {
    case "authentication":
      return apiKeyVariable === undefined
        ? "Check the API key and its permissions."
        : `Check the API key in ${apiKeyVariable} and its permissions.`;
    case "unknown_model":
      return "Check the name of the model.";
    case "context_too_long":
      return "Shorten the message, compact the conversation, or use a model with a larger context window.";
    case "rate_limited":
    case "overloaded":
      return "Wait a moment and try again, or use another model.";
    case "refused":
      return "Rephrase the request, or use another model.";
    case "invalid_request":
      return "Check `assistant.model.parameters` and the schemas of your tools.";
    case "template_refused":
      return "Start a new conversation, or use another model or chat template.";
    case "starting":
      return "Wait until the server has loaded its model, and try again.";
    case "network":
      return isLocal === true
        ? `Is ${provider} running at ${baseUrl}? The address comes from \`providers.llm.${provider}.base_url\`.`
        : "Check your network connection and try again.";
    default:
      return undefined;
  }
}
