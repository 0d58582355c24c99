/**
 * What is known of a failure, read from whatever was thrown: errors of the AI SDK, of fetch, of the
 * Ollama client, and the objects that providers send in the middle of a stream.
 */
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";

export interface FailureDetails {
  /** Of HTTP, also where it stands in the body only. */
  readonly status: number | undefined;
  /** What the provider calls it: its type, code and status, in one text. */
  readonly code: string;
  /** In the provider's words; empty if it said nothing. */
  readonly message: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The `details` of Google's errors. */
  readonly details: readonly Json[];
  /** Of the system: `ECONNREFUSED` and the like. */
  readonly systemCode: string | undefined;
  /** No connection, or an answer that could not be read to its end. */
  readonly isCut: boolean;
}

export function readFailure(error: unknown): FailureDetails {
  const thrown = fieldsOf(error);
  const body = bodyOf(thrown);
  const said = [body, fieldsOf(body["error"]), fieldsOf(fieldsOf(body["response"])["error"])];
  const status = [
    thrown["statusCode"],
    thrown["status_code"],
    thrown["code"],
    ...said.map((each) => each["code"]),
  ];
  const message = firstText([
    ...said.toReversed().map((each) => each["message"]),
    body["error"],
    thrown["message"],
    thrown["responseBody"],
  ]);
  const codes = [thrown, ...said].flatMap((each) => [each["type"], each["code"], each["status"]]);
  const details = said.map((each) => each["details"]).find((value) => Array.isArray(value));
  const systemCode = findSystemCode(error);
  return {
    status: status.map(Number).find((number) => number >= 300 && number < 600),
    code: [...new Set(codes.filter((code) => typeof code === "string"))].join(" "),
    message,
    headers: fieldsOf(thrown["responseHeaders"]),
    details: details ?? [],
    systemCode,
    isCut: isCut(error, systemCode),
  };
}

/** The provider's own: parsed by the SDK, or still a text. */
function bodyOf(thrown: JsonObject): JsonObject {
  for (const body of [thrown["data"], thrown["responseBody"], thrown["error"]]) {
    if (isJsonObject(body)) return body;
    if (typeof body === "string") {
      const parsed = parseObject(body);
      if (parsed !== undefined) return parsed;
    }
  }
  return {};
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function firstText(values: readonly unknown[]): string {
  return values.find((value) => typeof value === "string" && value.trim() !== "")?.toString() ?? "";
}

/** An error's own fields are read like those of any object; `message` is one of them. */
function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function findSystemCode(error: unknown): string | undefined {
  for (const each of withCauses(error)) {
    const { code } = fieldsOf(each);
    if (typeof code === "string" && /^(?:E[A-Z_]+|UND_ERR_\w+)$/.test(code)) return code;
  }
  return undefined;
}

/** How fetch and the packages say that there is no connection, or no longer one. */
const CUT = new RegExp(
  [
    "fetch failed|cannot connect to api|terminated|other side closed",
    "failed to process successful response|json parsing failed",
    "did not receive done|without a finish reason",
  ].join("|"),
  "i",
);

function isCut(error: unknown, systemCode: string | undefined): boolean {
  if (systemCode !== undefined) return true;
  return withCauses(error).some((each) => CUT.test(firstText([fieldsOf(each)["message"]])));
}

function withCauses(error: unknown): readonly unknown[] {
  const chain = [error];
  for (let next = fieldsOf(error)["cause"]; next !== undefined && chain.length < 8;) {
    chain.push(next);
    next = fieldsOf(next)["cause"];
  }
  return chain;
}

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

const MOST_CHARACTERS = 20_000;

/** With the fields that errors of the AI SDK have, so that both are read in one way. */
class HttpFailure extends Error {
  readonly statusCode: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;

  constructor(response: Response, body: string) {
    super(`HTTP ${response.status}`);
    this.statusCode = response.status;
    this.responseHeaders = Object.fromEntries(response.headers);
    this.responseBody = body.slice(0, MOST_CHARACTERS);
  }
}

/** The answer, if it says yes. Throws `HttpFailure`. */
export async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new HttpFailure(response, await response.text());
}
