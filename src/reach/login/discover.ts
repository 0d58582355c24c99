/** Finds out where a server wants its users to log in, and for what. */
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  computeScopeUnion,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type OAuthProtectedResourceMetadata,
} from "@modelcontextprotocol/client";
import { assertNotRedirected, isJpError, JpError, oneLine } from "../../util/index.ts";
import type { HttpServer } from "../mcp/index.ts";
import type { authFetch } from "./auth-fetch.ts";

/** Where to log in. */
export interface LoginPlace {
  readonly authorizationServer: string;
  readonly metadata?: AuthorizationServerMetadata;
  /** The server as the authorization server knows it. */
  readonly resource?: string;
  /** The scopes that the server asks for. */
  readonly scope?: string;
}

type Fetch = ReturnType<typeof authFetch>;

/** A request that changes nothing. The protocol's own first one would open a session. */
const PING = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" });

/** `approve` gets the address of the authorization server before anything is sent there, and throws to stop. */
export async function discover(
  { name, url }: HttpServer,
  fetchFn: Fetch,
  approve: (authorizationServer: URL) => Promise<void>,
): Promise<LoginPlace> {
  const challenge = await readChallenge(url, fetchFn);
  const described = await describeResource(url, challenge.resourceMetadataUrl, fetchFn);
  const [first] = described?.authorization_servers ?? [];
  if (described === undefined && !challenge.isRefused) throw needsNoLogin(name);
  // Servers of the first version of the protocol are their own authorization server.
  const authorizationServer = first ?? new URL("/", url).href;
  await approve(new URL(authorizationServer));
  const metadata = await discoverAuthorizationServerMetadata(authorizationServer, {
    fetchFn,
    // Then the address is a guess, and only the origin has to be right.
    skipIssuerValidation: first === undefined,
  });
  if (metadata !== undefined) assertOrigin(metadata.issuer, authorizationServer, first);
  const scope = challenge.scope ?? described?.scopes_supported?.join(" ");
  return {
    authorizationServer,
    ...(metadata !== undefined && { metadata }),
    ...(described !== undefined && { resource: described.resource }),
    ...(scope !== undefined && scope !== "" && { scope }),
  };
}

function assertOrigin(issuer: string, expected: string, described: string | undefined): void {
  if (described !== undefined || URL.parse(issuer)?.origin === new URL(expected).origin) return;
  throw new Error(`its login has the issuer ${issuer}, which is on another server`);
}

async function readChallenge(url: string, fetchFn: Fetch) {
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const response = await fetchFn(url, { method: "POST", headers, body: PING });
  await assertNotRedirected(url, response);
  return { isRefused: response.status === 401, ...extractWWWAuthenticateParams(response) };
}

/** Undefined if the server does not describe itself. Throws if it describes another. */
async function describeResource(
  url: string,
  resourceMetadataUrl: URL | undefined,
  fetchFn: Fetch,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  let described: OAuthProtectedResourceMetadata;
  try {
    described = await discoverOAuthProtectedResourceMetadata(url, options, fetchFn);
  } catch (error) {
    const isAbsent = !(error instanceof TypeError || isJpError(error));
    if (resourceMetadataUrl !== undefined || !isAbsent) throw error;
    return undefined;
  }
  const { resource } = described;
  if (!checkResourceAllowed({ requestedResource: url, configuredResource: resource })) {
    throw new JpError(
      "mcp_login_failed",
      oneLine(`The server says that it is ${resource}, not ${url}.`),
    );
  }
  return described;
}

function needsNoLogin(name: string): JpError {
  return new JpError("no_login_needed", `The MCP server "${name}" does not ask for a login.`, {
    hint: "If it wants an API key, set it in providers.mcp.<name>.headers.",
  });
}

/** The scopes to ask for, without repeats. Adds the one that makes a login last, where it is known. */
export function scopesFor(
  { scope, metadata }: LoginPlace,
  others: readonly (string | undefined)[],
): string | undefined {
  const wanted = computeScopeUnion(scope, ...others);
  const isLasting = metadata?.scopes_supported?.includes("offline_access") === true;
  return wanted !== undefined && isLasting ? computeScopeUnion(wanted, "offline_access") : wanted;
}
