/** An MCP server behind a real authorization server, on local ports, and a browser that follows links. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { Provider } from "oidc-provider";
import { onTestFinished } from "vitest";
import { listenForMcp } from "./test-server-http.ts";
import { createTestServer } from "./test-server-tools.ts";

export interface GuardedServerOptions {
  /** How long access tokens last. */
  readonly lifetimeSeconds?: number;
  /** The scope that the server requires. */
  readonly scope?: string;
  /** The issuer that the authorization server calls itself. */
  readonly issuer?: string;
  /** Replaces the address to which the server sends its users to log in. */
  readonly authorizationServer?: string;
}

export interface GuardedServer {
  /** The address of the MCP server. */
  readonly url: string;
  /** The address of the authorization server. */
  readonly issuer: string;
  /** The requests to the authorization server, such as `POST /token`. */
  readonly requests: readonly string[];
  /** The grants of token requests. */
  readonly grants: readonly string[];
  /** The access tokens that reached the MCP server. */
  readonly tokens: ReadonlySet<string>;
  /** From now on the server requires this scope. */
  require(scope: string): void;
  /** From now on no token is accepted, and none is renewed. */
  revokeAll(): void;
  /** From now on no access token that was given so far is accepted. */
  refuseTokens(): void;
  /** The authorization server cannot be reached any more. */
  stopAuthorizing(): void;
  /** From now on the MCP server redirects to this address. */
  redirectTo(url: string): void;
}

const ACCOUNT = "ada";
const SCOPES = ["mcp:read", "mcp:write"];

/** Closed when the test ends. */
export async function startGuardedServer(
  options: GuardedServerOptions = {},
): Promise<GuardedServer> {
  const requests: string[] = [];
  const grants: string[] = [];
  const tokens = new Set<string>();
  const refused = new Set<string>();
  let required = options.scope ?? "";
  let isRevoked = false;
  let redirect: string | undefined;
  const { server: authorizing, origin: issuer } = await open();
  const provider = createProvider(options.issuer ?? issuer, {
    seconds: options.lifetimeSeconds ?? 3600,
    resource: () => guarded.url,
  });
  const handle = provider.callback();
  authorizing.on("request", (request, response) => {
    requests.push(`${request.method} ${request.url?.split("?")[0]}`);
    if (request.url?.startsWith("/interaction/")) {
      const result = { login: { accountId: ACCOUNT }, consent: {} };
      void provider.interactionFinished(request, response, result);
    } else if (isRevoked && request.url === "/token") {
      response.writeHead(400, { "content-type": "application/json" });
      response.end('{"error":"invalid_grant","error_description":"grant request is invalid"}');
    } else handle(request, response);
  });
  provider.on("grant.success", (context) => {
    const { oidc } = context as {
      readonly oidc: { readonly params: { readonly grant_type: string } };
    };
    grants.push(oidc.params.grant_type);
  });

  const handler = createMcpHandler(() => createTestServer({ log: () => undefined }));
  const mcp = await listenForMcp(async (request) => {
    const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    if (token !== "") tokens.add(token);
    const found = token === "" ? undefined : await provider.AccessToken.find(token);
    const isGood = found?.isExpired === false && !isRevoked && !refused.has(token);
    if (!isGood) return challenge(401, "");
    const isMissing = required !== "" && !(found.scope ?? "").split(" ").includes(required);
    return isMissing ? challenge(403, 'error="insufficient_scope", ') : handler.fetch(request);
  });
  const { origin } = new URL(mcp.url);
  // Serves what the MCP server says of itself, and passes on everything else.
  const { server: front, origin: frontOrigin } = await open();
  const guarded = { url: `${frontOrigin}/mcp` };
  const describe = describing(frontOrigin, origin, options.authorizationServer ?? `${issuer}/`);
  front.on("request", (request, response) => {
    if (redirect === undefined) describe(request, response);
    else response.writeHead(307, { location: redirect }).end();
  });
  const challenge = (status: number, error: string) => {
    const scope = required === "" ? "" : `scope="${required}", `;
    const metadata = `resource_metadata="${frontOrigin}/.well-known/oauth-protected-resource/mcp"`;
    return new Response("", {
      status,
      headers: { "www-authenticate": `Bearer ${error}${scope}${metadata}` },
    });
  };
  onTestFinished(() => {
    mcp.close();
    for (const server of [authorizing, front]) server.close().closeAllConnections();
  });
  return {
    url: guarded.url,
    issuer,
    requests,
    grants,
    tokens,
    require: (scope) => {
      required = scope;
    },
    revokeAll: () => {
      isRevoked = true;
    },
    refuseTokens: () => {
      for (const token of tokens) refused.add(token);
    },
    stopAuthorizing: () => {
      authorizing.close().closeAllConnections();
    },
    redirectTo: (url) => {
      redirect = url;
    },
  };
}

async function open(): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return { server, origin: `http://127.0.0.1:${port}` };
}

function describing(own: string, mcp: string, authorizationServer: string): RequestListener {
  const described = {
    resource: `${own}/mcp`,
    authorization_servers: [authorizationServer],
    scopes_supported: ["mcp:read"],
  };
  return (request, response) => {
    if (request.url?.startsWith("/.well-known/oauth-protected-resource") === true) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(described));
    } else forward(request, response, mcp).catch(() => response.destroy());
  };
}

async function forward(
  request: IncomingMessage,
  response: Parameters<RequestListener>[1],
  to: string,
): Promise<void> {
  const body: Buffer[] = await request.toArray();
  const {
    host: _host,
    connection: _connection,
    "content-length": _length,
    ...headers
  } = request.headers;
  const answer = await fetch(new URL(request.url ?? "/", to), {
    method: request.method ?? "GET",
    headers: headers as Record<string, string>,
    ...(body.length > 0 && { body: Buffer.concat(body) }),
  });
  const {
    "content-encoding": _encoding,
    "transfer-encoding": _transfer,
    ...kept
  } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, kept);
  for await (const piece of answer.body ?? []) response.write(piece);
  response.end();
}

/** Logs everyone in as the same person, and grants everything. */
function createProvider(
  issuer: string,
  { seconds, resource }: { readonly seconds: number; readonly resource: () => string },
): Provider {
  const scope = SCOPES.join(" ");
  const provider: Provider = new Provider(issuer, {
    clientDefaults: { grant_types: ["authorization_code", "refresh_token"] },
    cookies: { keys: ["a key for tests"] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope,
          accessTokenFormat: "opaque",
          accessTokenTTL: seconds,
        }),
      },
    },
    scopes: [...SCOPES, "offline_access"],
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id }),
    }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    loadExistingGrant: async (context: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope([...SCOPES, "offline_access"].join(" "));
      grant.addResourceScope(resource(), scope);
      await grant.save();
      return grant;
    },
    ttl: { AccessToken: seconds },
  });
  return provider;
}

const MAX_STEPS = 10;

/** Follows the link with cookies, as a browser in which the user is quick. Returns the address at which it ends. */
export async function browse(link: string, until: string): Promise<string> {
  const cookies = new Map<string, string>();
  let address = link;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (address.startsWith(until)) return address;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, { redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null)
      throw new Error(`${address}: ${response.status} ${await response.text()}`);
    address = new URL(location, address).href;
  }
  throw new Error(`The browser was sent around: ${address}`);
}
