/** Shared parts of the desk's requests and responses, and the headers that protect the page. */
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { isTooDeep, type Json, type JsonObject, messageOf, parseJson } from "../../util/index.ts";

/** Hono's environment, with Node's request and response. */
export interface DeskEnv {
  readonly Bindings: HttpBindings;
}

/**
 * Sent with every response that does not set its own: other sites cannot embed, open or read this one, only our own
 * scripts run, and browsers and proxies store nothing.
 */
export const PROTECTION: ReadonlyMap<string, string> = new Map([
  [
    "content-security-policy",
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join("; "),
  ],
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-embedder-policy", "require-corp"],
  ["cross-origin-resource-policy", "same-origin"],
  ["cache-control", "no-store"],
]);

/** How far past the limit to read, so that a client that is still sending gets the response. */
const MAX_IGNORED_BYTES = 4 << 20;

interface ApiErrorDetails {
  readonly message: string;
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refused request. The client gets `{"error":{"code","message"}}` with the status. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** A more specific code: why an answer does not count. */
  readonly reason: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, { message, reason, headers = {} }: ApiErrorDetails) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.headers = headers;
  }

  /** As it is in the body. */
  toJson(): { readonly code: string; readonly message: string; readonly reason?: string } {
    const { code, message, reason } = this;
    return { code, message, ...(reason !== undefined && { reason }) };
  }
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "invalid_request", { message });
}

export function notFound(message: string): ApiError {
  return new ApiError(404, "not_found", { message });
}

/** A response with a JSON body. */
export interface JsonReply {
  readonly status?: number;
  /** Sent as JSON. */
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether something was recorded, so that a resend must get the same reply. By default, with the status 200. */
  readonly isRecorded?: boolean;
}

export function toResponse({ status = 200, body, headers }: JsonReply): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

export function toErrorResponse(error: ApiError): Response {
  const { status, headers } = error;
  return toResponse({ status, headers, body: { error: error.toJson() } });
}

/**
 * The JSON object in the body, or an empty one without a body. Throws an `ApiError` if it is not an object, or larger
 * than `maxBytes`.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<JsonObject> {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return {};
  // Other sites can send forms and plain text without a preflight.
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw new ApiError(415, "unsupported_media_type", {
      message: "Send JSON, with content-type: application/json.",
    });
  }
  if (Number(length) > maxBytes + MAX_IGNORED_BYTES) throw tooLarge(maxBytes);
  // Hono's own limit would need its adapter's `Request` in place of the global one.
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of bytesOf(request)) {
    size += chunk.length;
    if (size > maxBytes + MAX_IGNORED_BYTES) break;
    if (size <= maxBytes) chunks.push(chunk);
  }
  if (size > maxBytes) throw tooLarge(maxBytes);
  return parseBody(Buffer.concat(chunks).toString("utf8"));
}

/** Leaving the loop must not close the connection: the response is still to come. */
function bytesOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, "too_large", {
    message: `The request is larger than ${Math.floor(maxBytes / 1024)} kB.`,
  });
}

function parseBody(text: string): JsonObject {
  let value: Json;
  try {
    value = parseJson(text);
  } catch (error) {
    throw badRequest(`The body is not valid: ${messageOf(error)}.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("The body is not an object.");
  }
  if (isTooDeep(value)) throw badRequest("The body is nested too deeply.");
  if (hasPrototypeKey(value)) throw badRequest("The body has a field named __proto__.");
  return value as JsonObject; // Not an array or a scalar.
}

/** Assigning such a field to a copy would change the copy's prototype. */
function hasPrototypeKey(value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototypeKey);
}

/** The path and query of a request, as sent. The path is never resolved: `..` is a name like any other. */
export function readTarget(url = "") {
  const [path = ""] = url.split("?");
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}
