/**
 * Logs in to an MCP server, as OAuth 2.1 has it: finds the authorization server, registers with it or uses the configured
 * id, sends the user there, and exchanges the code that comes back.
 */
import { randomBytes } from "node:crypto";
import {
  exchangeAuthorization,
  isStrictScopeSuperset,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/client";
import { isJpError, JpError, oneLine } from "../../util/index.ts";
import type { HttpServer } from "../mcp/index.ts";
import { authFetch, isSecure, reasonOfAuth } from "./auth-fetch.ts";
import { discover, type LoginPlace, scopesFor } from "./discover.ts";
import { type Login, secretsOf, withTokens } from "./login.ts";
import type { Redirect } from "./redirect.ts";

/** Settings of a login, from the config and the command line. */
export interface LoginSettings {
  /** Accept no other authorization server. */
  readonly authorizationServer?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

export interface LoginRequest {
  readonly server: HttpServer;
  readonly settings: LoginSettings;
  /** The login that this one replaces; it keeps its scopes. */
  readonly before?: Login | undefined;
  readonly redirectUrl: string;
  /** Called before anything is sent to the authorization server. Throws to stop. */
  readonly approve: (authorizationServer: URL) => Promise<void>;
  /** Sends the user to the link, and returns how they come back. */
  readonly visit: (link: URL, state: string) => Promise<Redirect>;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Throws `mcp_login_failed`, `no_login_needed`, what `approve` and `visit` throw, and the signal's reason. */
export async function logIn(request: LoginRequest): Promise<Login> {
  const { server, signal } = request;
  const secrets: string[] = [];
  try {
    return await run(request, secrets);
  } catch (error) {
    signal.throwIfAborted();
    if (isJpError(error)) throw error;
    throw failed(server, reasonOfAuth(error, secrets)); // No cause: it may quote a token.
  }
}

async function run(request: LoginRequest, secrets: string[]): Promise<Login> {
  const { server, settings, redirectUrl, approve, visit, signal } = request;
  const known = new Set([new URL(server.url).origin]);
  const fetchFn = authFetch({ check: (url) => checkOrigin(url, known, server), signal });
  if (settings.clientSecret !== undefined) secrets.push(settings.clientSecret);
  const place = await discover(server, fetchFn, async (address) => {
    checkAuthorizationServer(address, request);
    await approve(address);
    known.add(address.origin);
  });
  for (const endpoint of endpointsOf(place)) known.add(new URL(endpoint).origin);
  const { authorizationServer, metadata, resource } = place;
  const issuer = metadata?.issuer ?? authorizationServer;
  const before = request.before?.issuer === issuer ? request.before : undefined;
  const scope = scopesFor(place, [settings.scopes?.join(" "), before?.tokens?.scope]);
  const described = { ...(metadata !== undefined && { metadata }) };
  const client =
    findClient(request, place, { before, scope }) ??
    (await register(request, place, { fetchFn, scope }));
  secrets.push(...secretsOf({ client }));
  const state = randomBytes(32).toString("base64url");
  const common = {
    ...described,
    clientInformation: client,
    ...(resource !== undefined && { resource }),
  };
  const { authorizationUrl, codeVerifier } = await startAuthorization(authorizationServer, {
    ...common,
    redirectUrl,
    state,
    ...(scope !== undefined && { scope }),
  });
  checkPlace(authorizationUrl, server);
  const { code, error, description, issuer: iss } = await visit(authorizationUrl, state);
  if (code === undefined) throw refused(server, error, description);
  secrets.push(code, codeVerifier);
  const tokens = await exchangeAuthorization(authorizationServer, {
    ...common,
    authorizationCode: code,
    codeVerifier,
    redirectUri: redirectUrl,
    ...(iss !== undefined && { iss }),
    fetchFn,
  });
  const login: Login = {
    url: new URL(server.url).href,
    issuer,
    authorizationServer,
    ...described,
    ...(resource !== undefined && { resource }),
    client,
  };
  // A response without a scope grants what was asked for.
  const granted = tokens.scope ?? scope;
  const all = { ...tokens, ...(granted !== undefined && { scope: granted }) };
  return withTokens(login, all, request.now());
}

/** Nothing is sent to an origin that the user has not been told of, or that it has not named. */
function checkOrigin(url: URL, known: ReadonlySet<string>, server: HttpServer): void {
  if (!known.has(url.origin)) {
    const reason = `it sends jp to ${url.origin}, which is neither its own address nor where to log in`;
    throw failed(server, reason);
  }
  if (url.origin !== new URL(server.url).origin) checkPlace(url, server);
}

/** A remote server must not send jp, or a browser, to programs of this machine. */
function checkPlace(url: URL, server: HttpServer): void {
  if (!isSecure(url)) throw failed(server, `${url.origin} is not an https:// address`);
  const isRemote = new URL(server.url).protocol === "https:";
  if (isRemote && url.protocol !== "https:")
    throw failed(server, `${url.origin} is on this machine`);
}

function checkAuthorizationServer(address: URL, { server, settings }: LoginRequest): void {
  const { authorizationServer: expected } = settings;
  if (expected !== undefined && URL.parse(expected)?.href !== address.href) {
    throw failed(server, `it asks you to log in at ${address.href}, not at ${expected}`);
  }
  checkPlace(address, server);
}

/** The addresses that the authorization server has named itself. */
function endpointsOf({ metadata }: LoginPlace): readonly string[] {
  const { token_endpoint: token, registration_endpoint: registration } = metadata ?? {};
  return [token, registration].filter((each) => each !== undefined);
}

interface EarlierLogin {
  readonly before: Login | undefined;
  /** The scopes that this login requests. */
  readonly scope: string | undefined;
}

/** The configured client, or the one that an earlier login has registered. */
function findClient(
  { settings, redirectUrl }: LoginRequest,
  { metadata }: LoginPlace,
  { before, scope }: EarlierLogin,
): OAuthClientInformationMixed | undefined {
  const { clientId, clientSecret } = settings;
  const isDocument = clientId?.startsWith("https://") === true;
  const isUsable = !isDocument || metadata?.client_id_metadata_document_supported === true;
  if (clientId !== undefined && isUsable) {
    return {
      client_id: clientId,
      ...(clientSecret !== undefined && { client_secret: clientSecret }),
    };
  }
  const client = before?.client;
  if (client === undefined || !("redirect_uris" in client)) return undefined;
  // Some authorization servers hold clients to the scopes that they were registered with.
  const isEnough = client.scope === undefined || !isStrictScopeSuperset(scope, client.scope);
  return isEnough && client.redirect_uris.includes(redirectUrl) ? client : undefined;
}

async function register(
  { server, redirectUrl }: LoginRequest,
  { authorizationServer, metadata }: LoginPlace,
  {
    fetchFn,
    scope,
  }: { readonly fetchFn: ReturnType<typeof authFetch>; readonly scope: string | undefined },
): Promise<OAuthClientInformationMixed> {
  if (metadata !== undefined && metadata.registration_endpoint === undefined) {
    const reason = "its authorization server knows only clients that were registered by hand";
    throw failed(server, reason, {
      hint:
        `Register one with the redirect address ${redirectUrl}, and set ` +
        `providers.mcp.${server.name}.oauth.client_id.`,
    });
  }
  const clientMetadata: OAuthClientMetadata = {
    client_name: "jp",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
  };
  return registerClient(authorizationServer, {
    clientMetadata,
    ...(metadata !== undefined && { metadata }),
    ...(scope !== undefined && { scope }),
    fetchFn,
  });
}

function failed(
  { name }: HttpServer,
  reason: string,
  { hint }: { readonly hint?: string } = {},
): JpError {
  const message = `You are not logged in to the MCP server "${name}": ${reason}.`;
  return new JpError("mcp_login_failed", message, hint === undefined ? {} : { hint });
}

function refused(server: HttpServer, error = "", description = ""): JpError {
  if (error === "access_denied" && description === "") return failed(server, "access was denied");
  const text = oneLine(description === "" ? error : `${error}: ${description}`).slice(0, 300);
  return failed(server, `the authorization server refused: ${text.replace(/\.+$/, "")}`);
}
