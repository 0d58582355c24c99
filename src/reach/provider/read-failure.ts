/**
 * Reads the details of a failed request from a thrown value: errors of the AI SDK, of fetch and of the Ollama client, and
 * the error objects that providers send in the middle of a stream.
 */
import { findJson, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

export interface FailureDetails {
  /** HTTP status, even if only in the body. */
  readonly status: number | undefined;
  /** The provider's type, code and status, joined. */
  readonly code: string;
  /** The provider's message, or an empty string. */
  readonly message: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The `details` of Google's errors. */
  readonly details: readonly Json[];
  /** The operating system's code, such as `ECONNREFUSED`. */
  readonly systemCode: string | undefined;
  /** No connection, or a response that broke off. */
  readonly isConnectionLost: boolean;
}

export function readFailure(error: unknown): FailureDetails {
  const thrown = fieldsOf(error);
  const body = findBody(thrown);
  const objects = [body, fieldsOf(body["error"]), fieldsOf(fieldsOf(body["response"])["error"])];
  const status = [
    thrown["statusCode"],
    thrown["status_code"],
    thrown["code"],
    ...objects.map((each) => each["code"]),
  ];
  const message = firstText([
    ...objects.toReversed().map((each) => each["message"]),
    body["error"],
    thrown["message"],
    thrown["responseBody"],
  ]);
  const codes = [thrown, ...objects].flatMap((each) => [
    each["type"],
    each["code"],
    each["status"],
  ]);
  const details = objects.map((each) => each["details"]).find((value) => Array.isArray(value));
  const systemCode = findSystemCode(error);
  return {
    status: status.map(Number).find((number) => number >= 300 && number < 600),
    code: [...new Set(codes.filter((code) => typeof code === "string"))].join(" "),
    message,
    headers: fieldsOf(thrown["responseHeaders"]),
    details: details ?? [],
    systemCode,
    isConnectionLost: systemCode !== undefined || saysConnectionLost(error),
  };
}

/** Works for errors too: `message` is one of their fields. */
function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The provider's error object, either parsed by the SDK or still text. */
function findBody(thrown: JsonObject): JsonObject {
  for (const body of [thrown["data"], thrown["responseBody"], thrown["error"]]) {
    const value = typeof body === "string" ? findJson(body) : body;
    if (!isJsonObject(value)) continue;
    // Ollama passes on the whole error of its backend as a string.
    const inner = typeof value["error"] === "string" ? findJson(value["error"]) : undefined;
    return isJsonObject(inner) ? inner : value;
  }
  return {};
}

function firstText(values: readonly unknown[]): string {
  return values.find((value) => typeof value === "string" && value.trim() !== "")?.toString() ?? "";
}

function findSystemCode(error: unknown): string | undefined {
  for (const each of withCauses(error)) {
    const { code } = fieldsOf(each);
    if (typeof code === "string" && /^(?:E[A-Z_]+|UND_ERR_\w+)$/.test(code)) return code;
  }
  return undefined;
}

/** How fetch and the packages report a missing or lost connection. */
const CONNECTION_LOST = new RegExp(
  [
    "fetch failed|cannot connect to api|terminated|other side closed",
    "failed to process successful response|json parsing failed",
    "without a finish reason",
  ].join("|"),
  "i",
);

function saysConnectionLost(error: unknown): boolean {
  return withCauses(error).some((each) =>
    CONNECTION_LOST.test(firstText([fieldsOf(each)["message"]])),
  );
}

function withCauses(error: unknown): readonly unknown[] {
  const chain = [error];
  for (let next = fieldsOf(error)["cause"]; next !== undefined && chain.length < 8;) {
    chain.push(next);
    next = fieldsOf(next)["cause"];
  }
  return chain;
}

/** How long the provider asks us to wait, in milliseconds. */
export function findRetryAfter(
  { headers, details }: FailureDetails,
  now: Date,
): number | undefined {
  return (
    toDelay(parseNumber(headers["retry-after-ms"])) ??
    toDelay(parseSeconds(headers["retry-after"])) ??
    toDelay(parseDate(headers["retry-after"], now)) ??
    toDelay(findGoogleDelay(details))
  );
}

function parseNumber(value: unknown): number | undefined {
  return typeof value === "string" && /^\s*\d+(?:\.\d+)?\s*$/.test(value)
    ? Number(value)
    : undefined;
}

function parseSeconds(value: unknown): number | undefined {
  const seconds = parseNumber(value);
  return seconds === undefined ? undefined : seconds * 1000;
}

function parseDate(value: unknown, now: Date): number | undefined {
  return typeof value === "string" ? Date.parse(value) - now.getTime() : undefined;
}

/** `{"@type": "…RetryInfo", "retryDelay": "34.5s"}` */
function findGoogleDelay(details: FailureDetails["details"]): number | undefined {
  for (const detail of details) {
    const delay = isJsonObject(detail) ? detail["retryDelay"] : undefined;
    if (typeof delay === "string") return parseSeconds(delay.replace(/s$/, ""));
  }
  return undefined;
}

function toDelay(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : Math.max(0, Math.round(value));
}

const MAX_BODY_CHARACTERS = 20_000;

/** Has the fields of the AI SDK's errors, so that `readFailure` reads both. */
class HttpError extends Error {
  readonly statusCode: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;

  constructor(response: Response, body: string) {
    super(`HTTP ${response.status}`);
    this.statusCode = response.status;
    this.responseHeaders = Object.fromEntries(response.headers);
    this.responseBody = body.slice(0, MAX_BODY_CHARACTERS);
  }
}

/** Used for our own requests. Throws `HttpError`. */
export async function assertOk(response: Response): Promise<void> {
  if (!response.ok) throw new HttpError(response, await response.text());
}
