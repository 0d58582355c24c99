/** A login to an MCP server, and how it is written to its file. */
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/client";
import {
  type Json,
  objectField,
  optionalString,
  parseJson,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** A login to one server. Its tokens are for that address only, and are renewed only where they were issued. */
export interface Login {
  /** The server's address. */
  readonly url: string;
  /** Who issued the tokens. */
  readonly issuer: string;
  /** Where the tokens are renewed. */
  readonly authorizationServer: string;
  readonly metadata?: AuthorizationServerMetadata;
  /** The server as the authorization server knows it. */
  readonly resource?: string;
  readonly client: OAuthClientInformationMixed;
  /** Absent once the authorization server has refused to renew them. */
  readonly tokens?: OAuthTokens;
  /** When the access token ends, in RFC 3339. Absent if the authorization server has not said. */
  readonly expiresAt?: string;
}

const VERSION = 1;

export function formatLogin(login: Login): string {
  const { authorizationServer, expiresAt, ...rest } = login;
  const file = {
    version: VERSION,
    ...rest,
    authorization_server: authorizationServer,
    expires_at: expiresAt,
  };
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

/** Throws if the text is invalid. */
export function parseLogin(text: string): Login {
  const shape = shapeOf(parseJson(text));
  if (shape.value["version"] !== VERSION) throw new TypeError("it has an unknown version");
  const client = objectField(shape, "client");
  stringField(client, "client_id");
  const tokens = findObject(shape.value["tokens"]);
  if (tokens !== undefined) stringField(objectField(shape, "tokens"), "access_token");
  const metadata = findObject(shape.value["metadata"]);
  const resource = optionalString(shape, "resource");
  const expiresAt = optionalString(shape, "expires_at");
  // Only this program writes the file, with objects that the SDK has checked.
  return {
    url: stringField(shape, "url"),
    issuer: stringField(shape, "issuer"),
    authorizationServer: stringField(shape, "authorization_server"),
    client: client.value as unknown as OAuthClientInformationMixed,
    ...(metadata !== undefined && { metadata: metadata as AuthorizationServerMetadata }),
    ...(tokens !== undefined && { tokens: tokens as OAuthTokens }),
    ...(resource !== undefined && { resource }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function findObject(value: Json | undefined): unknown {
  return value == null ? undefined : value;
}

/** The login with new tokens, which last from now on. */
export function withTokens(login: Login, tokens: OAuthTokens, now: Date): Login {
  const { expiresAt: _before, ...rest } = login;
  const { expires_in: seconds } = tokens;
  const isFinite = seconds !== undefined && seconds < MAX_LIFETIME_SECONDS;
  const ends = isFinite && { expiresAt: new Date(now.getTime() + seconds * 1000).toISOString() };
  return { ...rest, tokens, ...ends };
}

/** A hundred years: later dates need not be representable. */
const MAX_LIFETIME_SECONDS = 100 * 365 * 86_400;
const SOON_MS = 60_000;

/** Whether to renew the access token before the next request. */
export function endsSoon({ expiresAt, tokens }: Login, now: Date): boolean {
  if (expiresAt === undefined) return false;
  const lifetimeMs = (tokens?.expires_in ?? Number.POSITIVE_INFINITY) * 1000;
  const spareMs = Math.min(SOON_MS, lifetimeMs / 2);
  return Date.parse(expiresAt) - now.getTime() < spareMs;
}

/** Whether the user has to log in again. */
export function hasEnded({ tokens, expiresAt }: Login, now: Date): boolean {
  if (tokens === undefined) return true;
  if (tokens.refresh_token !== undefined || expiresAt === undefined) return false;
  return Date.parse(expiresAt) <= now.getTime();
}

/** The values that no text may contain. */
export function secretsOf({ client, tokens }: Pick<Login, "client" | "tokens">): readonly string[] {
  const { access_token, refresh_token, id_token } = tokens ?? {};
  const all = [access_token, refresh_token, id_token, client.client_secret];
  return all.filter((each): each is string => each !== undefined && each !== "");
}
