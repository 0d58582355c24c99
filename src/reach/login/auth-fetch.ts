/** Requests to authorization servers: only to known origins, with limits, and errors that quote no secret. */
import { OAuthError } from "@modelcontextprotocol/client";
import { isLoopback, oneLine, withinOrigin } from "../../util/index.ts";
import { reasonOf } from "../mcp/index.ts";

const REQUEST_MS = 8000;
const MAX_RESPONSE_BYTES = 1024 * 1024;
const MAX_REASON_LENGTH = 300;

export interface AuthFetchOptions {
  /** Called before a request. Throws if nothing may be sent there. */
  readonly check: (url: URL) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** A `fetch` for one login. It follows redirects only within their origin. */
export function authFetch({ check, signal }: AuthFetchOptions) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    await check(url);
    const limits = [AbortSignal.timeout(REQUEST_MS), ...(signal === undefined ? [] : [signal])];
    const response = await withinOrigin(fetch)(url, { ...init, signal: AbortSignal.any(limits) });
    const body = await readLimited(response);
    const { status, statusText, headers } = response;
    const isEmpty = status === 204 || status === 205 || status === 304;
    return new Response(isEmpty ? null : body, { status, statusText, headers });
  };
}

async function readLimited({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body ?? []) {
    size += piece.length;
    if (size > MAX_RESPONSE_BYTES) throw new RangeError("it sent more than 1 MiB");
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

/** Tokens and codes need TLS, except on this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

/**
 * Why the authorization server refused, as a sentence without its full stop. Never contains the secrets, nor a response
 * that is not an error of OAuth: either may have a token in it.
 */
export function reasonOfAuth(error: unknown, secrets: readonly string[]): string {
  const text = error instanceof OAuthError ? oauthText(error) : reasonOf(error);
  const hidden = secrets.reduce((left, secret) => left.replaceAll(secret, "…"), text);
  return oneLine(hidden.slice(0, MAX_REASON_LENGTH)).replace(/\.+$/, "");
}

function oauthText({ code, message }: OAuthError): string {
  const [, status] = /^(?:HTTP (\d+): )?Invalid OAuth error response/.exec(message) ?? [];
  if (status !== undefined) return `HTTP ${status}`;
  if (message.startsWith("Invalid OAuth error response")) return "it sent an invalid response";
  return message === "" || message === code ? code : `${code}: ${message}`;
}
