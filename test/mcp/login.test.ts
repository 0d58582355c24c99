/** Logging in to a remote server, with a real authorization server. */
import { globSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  loadLogIn,
  loadLogOut,
  loadRedirect,
  type Login,
  type LoginRequest,
  type Logins,
  openLogins,
  type Redirect,
} from "../../src/reach/login/index.ts";
import { type McpError, McpServers } from "../../src/reach/mcp/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { type Clock, type JpError, systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { browse, type GuardedServer, startGuardedServer } from "./guarded-server.ts";
import { never } from "./support.ts";

const REDIRECT = "http://127.0.0.1:9/callback";

async function open(server: GuardedServer, clock: Clock = systemClock, folder = temporaryFolder()) {
  const logins = await openLogins({ folder, clock });
  return { logins, folder, named: { name: "notes", url: server.url } };
}

async function logIn(
  logins: Logins,
  server: GuardedServer,
  changed: Partial<LoginRequest> = {},
): Promise<Login> {
  const named = { name: "notes", url: server.url };
  const { logIn: start } = await loadLogIn();
  const login = await start({
    server: named,
    settings: {},
    before: logins.find(named),
    redirectUrl: REDIRECT,
    approve: async () => undefined,
    visit: (link, state) => visit(link.href, state),
    now: () => systemClock.now(),
    signal: never,
    ...changed,
  });
  await logins.save(named, login);
  return login;
}

async function visit(
  link: string,
  state: string,
  change = (address: string) => address,
): Promise<Redirect> {
  const { parseRedirect } = await loadRedirect();
  const redirect = parseRedirect(change(await browse(link, REDIRECT)), REDIRECT, state);
  if (redirect === undefined) throw new Error("This is not the reply to this login.");
  return redirect;
}

function serversWith(server: GuardedServer, logins: Logins): McpServers {
  const settings = {
    type: "http",
    name: "notes",
    url: server.url,
    headers: {},
    isOptional: false,
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 20_000,
  } as const;
  const context = {
    variables: {},
    cwd: ".",
    clientInfo: { name: "jp", version: "0" },
    findLogins: async () => logins,
  };
  return new McpServers(new Map([["notes", settings]]), context);
}

async function failureOf(action: Promise<unknown>): Promise<McpError | JpError> {
  return action.then(
    () => {
      throw new Error("It worked.");
    },
    (error: McpError) => error,
  );
}

/** How the server is reached: the number of its tools, or why not. */
async function reach(server: GuardedServer, logins: Logins): Promise<string> {
  await using servers = serversWith(server, logins);
  const reached = await servers.get("notes", never, false);
  return reached.type === "ready" ? "ready" : reached.warning.message;
}

test("a server that requires a login says which command to run, and after it can be used", async () => {
  const server = await startGuardedServer();
  const { logins } = await open(server);
  expect(await reach(server, logins)).toBe(
    'The MCP server "notes" requires a login: run `jp mcp login notes`.',
  );
  const asked: string[] = [];
  await logIn(logins, server, {
    approve: async ({ href }) => {
      asked.push(href, ...server.requests);
    },
  });
  expect(asked).toEqual([`${server.issuer}/`]); // Nothing was sent there before.
  expect(await reach(server, logins)).toBe("ready");
});

test("an access token is renewed before it ends, once for all processes, and after it is refused", async () => {
  const server = await startGuardedServer({ lifetimeSeconds: 600 });
  const clock = new FakeClock(new Date());
  const { logins, folder, named } = await open(server, clock);
  const first = await logIn(logins, server, { now: () => clock.now() });
  expect(await logins.findToken(named)).toBe(first.tokens?.access_token);
  clock.advance(560_000);
  const { logins: others } = await open(server, clock, folder);
  const renewed = await Promise.all([logins, others, logins].map((each) => each.findToken(named)));
  expect(new Set(renewed).size).toBe(1);
  expect(renewed[0]).not.toBe(first.tokens?.access_token);
  expect(server.grants).toEqual(["authorization_code", "refresh_token"]);

  expect(await reach(server, logins)).toBe("ready");
  server.refuseTokens();
  expect(await Promise.all([reach(server, logins), reach(server, others)])).toEqual([
    "ready",
    "ready",
  ]);
  expect(server.grants).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
});

test("a token that still lasts is used while its authorization server cannot be reached", async () => {
  const server = await startGuardedServer({ lifetimeSeconds: 600 });
  const clock = new FakeClock(new Date());
  const { logins, named } = await open(server, clock);
  const { tokens } = await logIn(logins, server, { now: () => clock.now() });
  server.stopAuthorizing();
  clock.advance(560_000);
  expect(await logins.findToken(named)).toBe(tokens?.access_token);
  clock.advance(60_000);
  const failed = await failureOf(logins.findToken(named));
  expect(failed.message).toContain('cannot renew your login to the MCP server "notes"');
});

test("a login that was revoked has to be made again, and is not tried any more", async () => {
  const server = await startGuardedServer();
  const { logins, named } = await open(server);
  await logIn(logins, server);
  server.revokeAll();
  const ended = 'Your login to the MCP server "notes" has ended: run `jp mcp login notes`.';
  expect(await reach(server, logins)).toBe(ended);
  const sent = server.requests.length;
  expect(await reach(server, logins)).toBe(ended);
  expect(server.requests.length).toBe(sent);
  expect(logins.findState(named)).toMatchObject({ hasEnded: true });
});

test("a login is ended where it was made, and its tokens are deleted", async () => {
  const server = await startGuardedServer();
  const { logins, folder, named } = await open(server);
  await logIn(logins, server);
  const login = await logins.remove(named);
  if (login === undefined) throw new Error("There was no login.");
  const { revoke } = await loadLogOut();
  expect(await revoke(login)).toEqual({ type: "revoked" });
  expect(server.requests.slice(-2)).toEqual(["POST /token/revocation", "POST /token/revocation"]);
  expect(globSync("**/*.json", { cwd: folder })).toEqual([]);
  expect(await reach(server, logins)).toContain("requires a login");
  await logins.save(named, login);
  expect(await reach(server, logins)).toContain("has ended");
});

test("a scope that a server asks for later is named, and a login adds it to the others", async () => {
  const server = await startGuardedServer();
  const { logins } = await open(server);
  await logIn(logins, server);
  server.require("mcp:write");
  expect(await reach(server, logins)).toBe(
    'The MCP server "notes" requires permissions that your login does not have: ' +
      "run `jp mcp login notes --scope 'mcp:write'`.",
  );
  const login = await logIn(logins, server, { settings: { scopes: ["mcp:write"] } });
  expect(login.tokens?.scope?.split(" ").toSorted()).toEqual(["mcp:read", "mcp:write"]);
  expect(await reach(server, logins)).toBe("ready");
});

test.each([
  [
    "the state of another login",
    (address: string) => address.replace(/state=[^&]+/, "state=other"),
  ],
  ["no state", (address: string) => address.replace(/state=[^&]+/, "")],
  ["another address", (address: string) => address.replace("/callback", "/other")],
])("a reply that does not belong to the login is not used: %s", async (_, change) => {
  counters("T-MCP-9");
  const server = await startGuardedServer();
  const { logins } = await open(server);
  const failed = logIn(logins, server, { visit: (link, state) => visit(link.href, state, change) });
  expect((await failureOf(failed)).message).toContain("This is not the reply to this login");
  expect(server.grants).toEqual([]);
});

function fromEvil(address: string): string {
  return address.replace(/iss=[^&]+/, "iss=https%3A%2F%2Fevil.example");
}

test("a reply from another authorization server gets no code", async () => {
  const server = await startGuardedServer();
  const { logins } = await open(server);
  const failed = logIn(logins, server, {
    visit: (link, state) => visit(link.href, state, fromEvil),
  });
  expect((await failureOf(failed)).message).toMatch(/issuer/i);
  expect(server.requests).not.toContain("POST /token");
});

test("an authorization server that calls itself another one is not used", async () => {
  counters("T-MCP-7");
  const server = await startGuardedServer({ issuer: "https://other.example" });
  const { logins } = await open(server);
  const failed = await failureOf(logIn(logins, server));
  expect(failed.message).toContain("Issuer mismatch");
  expect(server.requests.filter((each) => each.startsWith("POST"))).toEqual([]);
});

test("a remote server cannot send jp to a program of this machine", async () => {
  const { logIn: start } = await loadLogIn();
  const local = await startGuardedServer();
  const described = {
    resource: "https://notes.example/mcp",
    authorization_servers: [local.issuer],
  };
  const fetchHere = vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const isDescription = pathname.startsWith("/.well-known");
    return isDescription ? Response.json(described) : new Response("", { status: 401 });
  });
  onTestFinished(() => fetchHere.mockRestore());
  const asked: string[] = [];
  const failed = start({
    server: { name: "notes", url: "https://notes.example/mcp" },
    settings: {},
    redirectUrl: REDIRECT,
    approve: async ({ href }) => void asked.push(href),
    visit: async () => ({}),
    now: () => systemClock.now(),
    signal: never,
  });
  expect((await failureOf(failed)).message).toContain(`${local.issuer} is on this machine`);
  expect([asked, local.requests]).toEqual([[], []]);
});

test("only the expected authorization server is used", async () => {
  const server = await startGuardedServer();
  const { logins } = await open(server);
  const settings = { authorizationServer: "https://login.example/" };
  const failed = await failureOf(logIn(logins, server, { settings }));
  expect(failed.message).toBe(
    'You are not logged in to the MCP server "notes": ' +
      `it asks you to log in at ${server.issuer}/, not at https://login.example/.`,
  );
  expect(server.requests).toEqual([]);
});

test("no token goes to another server: neither by a redirect, nor under the name of this one", async () => {
  counters("T-MCP-7");
  const server = await startGuardedServer();
  const other = await startGuardedServer();
  const { logins } = await open(server);
  await logIn(logins, server);
  server.redirectTo(other.url);
  expect(await reach(server, logins)).toContain(
    "sends headers and messages only to the configured origin",
  );
  expect(await reach(other, logins)).toContain("requires a login");
  expect([...other.tokens]).toEqual([]);
});

test("tokens are only in their own file, which only the user can read", async () => {
  counters("T-MCP-8");
  const server = await startGuardedServer({ lifetimeSeconds: 600 });
  const { logins, folder } = await open(server);
  const { tokens, client } = await logIn(logins, server);
  const [file = "", ...others] = globSync("**/*.json", { cwd: folder });
  const whole = path.join(folder, file);
  expect(others).toEqual([]);
  expect([whole, path.dirname(whole)].map((each) => statSync(each).mode & 0o777)).toEqual([
    0o600, 0o700,
  ]);
  expect(readFileSync(whole, "utf8")).toContain(tokens?.access_token);
  expect(client.client_id).not.toBe("");
});
