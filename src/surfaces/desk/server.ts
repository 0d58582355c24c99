/** Serves the desk over HTTP: the page, the API, and nothing else. */
import { type Directory } from "../../record/conversation/index.ts";
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, isIPv6, type Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import {
  type Clock,
  findForeignCaller,
  isJpError,
  isNotLoaded,
  listen,
  messageOf,
  systemErrorCode,
} from "../../util/index.ts";
import { Access, ANONYMOUS, type Caller } from "./access.ts";
import { API_PATH, loadDocument, OPERATIONS } from "./api.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";
import { EventStreams } from "./event-streams.ts";
import {
  ApiError,
  badRequest,
  type DeskEnv,
  PROTECTION,
  readTarget,
  toErrorResponse,
} from "./http.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import { type ApiParts, Gate, type Operation } from "./operation.ts";
import { hashOf, type PeopleLogEntry } from "../../settings/people/index.ts";
import { Passkeys } from "./passkeys.ts";
import type { Desk, PeopleReader, Person } from "./port.ts";
import type { Sessions } from "./sessions.ts";

/** A file of the page. */
export interface PageFile {
  /** The media type. */
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** How much the server puts up with. */
export interface DeskLimits extends ConnectionLimits {
  /** Worked on at once, besides event streams. */
  readonly requests: number;
  /** Clients that listen to events. */
  readonly streams: number;
  /** Kept for a client that reads events too slowly. */
  readonly bufferedBytes: number;
  /** How long a client may take to send the headers of a request, and all of it. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long nothing may move on a connection: longer than any response takes to come. */
  readonly idleMs: number;
}

/** What the desk serves, to whom, and where. */
export interface ServeDeskOptions {
  readonly desk: Desk;
  readonly people: PeopleReader;
  /** Whoever uses a one-time login. */
  readonly owner: Person;
  /** Who has which roles. Without it, everyone may decide what is for a role. */
  readonly directory?: Directory;
  /** Who is logged in on the page. */
  readonly sessions: Sessions;
  /** What is served, such as the workspace. A session does not count for a server with another scope or port. */
  readonly scope: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** More names and addresses of this machine that people may use. */
  readonly hosts?: readonly string[];
  /** The address that people open, if a proxy is in front: `https://desk.example.org`. */
  readonly origin?: string;
  /** Whether turns continue when their questions are answered. */
  readonly runs: boolean;
  /** The files of the page by path: `/` is the page itself. No other files are served. */
  readonly page: ReadonlyMap<string, PageFile>;
  readonly clock: Clock;
  readonly onProblem: (problem: string) => void;
  /** Called with a line of JSON about each login, logout and refused token. */
  readonly audit: (line: string) => void;
  /** Called with what was logged when someone has changed their keys. */
  readonly onKeyChange?: ((change: PeopleLogEntry) => void) | undefined;
  readonly limits?: Partial<DeskLimits>;
}

/** A desk that is being served. */
export interface DeskService {
  /** The origin that people open: `http://jp-0123abcd.localhost:4711`, or the one that was given. */
  readonly url: string;
  /** For programs, whose system may not know the name: `http://127.0.0.1:4711`, or the same. */
  readonly apiUrl: string;
  /** A one-time login for the owner. The page takes it from the fragment of its address: `#login=…`. */
  createLogin(): string;
  /** Ends all connections. The desk itself stays open. */
  close(): Promise<void>;
}

const LIMITS: DeskLimits = {
  connections: 1200,
  waitingPerAddress: 200,
  requests: 200,
  streams: 800,
  bufferedBytes: 256 << 10,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 90_000,
};
const MAX_HEADERS = 100;
/** They are accepted while others are being closed for them. */
const SPARE_CONNECTIONS = 100;
/** How long closing waits for responses that are being sent. */
const CLOSE_MS = 1000;
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const ANY_ADDRESS = new Set(["0.0.0.0", "::"]);

/** Throws `port_in_use` and `address_unavailable`. */
export async function serveDesk(options: ServeDeskOptions): Promise<DeskService> {
  const { clock } = options;
  const limits = { ...LIMITS, ...options.limits };
  const { servers, port } = await listenLocally(options, () => createServer(options, limits));
  const own = ownAddresses(options, port);
  const [{ origin, host }, direct = own[0]] = own;
  const isNamed = hasLocalName(options);
  const access = new Access({
    ...options,
    origins: isNamed ? [origin] : [origin, ...own.map((url) => url.origin)],
  });
  const events = new EventStreams({
    ...options,
    maxStreams: limits.streams,
    maxBufferedBytes: limits.bufferedBytes,
  });
  void loadDocument().catch(() => undefined); // Before an upgrade can replace it. Whoever asks for it is told.
  const connections = new Connections(limits, clock);
  const open = new Map<ServerResponse, Promise<unknown>>();
  const keys = new IdempotencyKeys(clock);
  const gate = new Gate(limits.requests);
  const passkeys = new Passkeys({ ...options, url: own[0] });
  const build = findBuild(options.page);
  const answer = createListener(options, { ...options, access, events, keys, gate, passkeys });
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (isPipelined(request, response)) return void request.socket.destroy();
    open.set(response, once(response, "close"));
    response.once("close", () => open.delete(response));
    for (const [name, value] of PROTECTION) response.setHeader(name, value);
    if (build !== undefined) response.setHeader("jp-build", build);
    const refusal = findRefusal(request, own);
    if (refusal !== undefined) refuse(response, refusal);
    else if (isNamed && isPageElsewhere(request, host)) redirect(response, `${origin}/`);
    else void answer(request, response);
  };
  for (const server of servers) {
    connections.watch(server);
    server.on("request", onRequest);
  }
  return {
    url: origin,
    apiUrl: isNamed ? direct.origin : origin,
    createLogin: () => access.createLogin(),
    close: async () => {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      events.close();
      const done = new AbortController();
      const timeout = clock.sleep(CLOSE_MS, done.signal).catch(() => undefined);
      await Promise.race([Promise.allSettled(open.values()), timeout]);
      done.abort();
      for (const server of servers) server.closeAllConnections();
      await Promise.all(closed);
    },
  };
}

/** The build that the page names. An open page of another one reloads. */
function findBuild(page: ServeDeskOptions["page"]): string | undefined {
  const html = Buffer.from(page.get("/")?.body ?? "").toString();
  return /<meta name="jp-build" content="(\w+)"/.exec(html)?.[1];
}

/** Whether the page has a name that only this machine knows: no other desk has its storage in the browser. */
function hasLocalName({ host, tls, origin }: ServeDeskOptions): boolean {
  return origin === undefined && tls === undefined && LOOPBACK.includes(host);
}

const MAX_PORTS = 20;

/**
 * A local name leads browsers to 127.0.0.1 or to ::1, whichever they like. So both are taken, and no one else on this
 * machine can get what is meant for the desk.
 */
async function listenLocally(options: ServeDeskOptions, create: () => Server) {
  const { host, port: wanted } = options;
  for (let tried = 1; ; tried += 1) {
    const server = create();
    const port = await listen(server, { host, port: wanted });
    if (!hasLocalName(options)) return { servers: [server], port };
    const other = create();
    const { family } = server.address() as AddressInfo; // It listens on a port.
    try {
      await listen(other, { host: family === "IPv6" ? "127.0.0.1" : "::1", port });
      return { servers: [server, other], port };
    } catch (error) {
      const isTaken = isJpError(error) && error.code === "port_in_use";
      if (!isTaken) return { servers: [server], port }; // This machine has only one of them.
      server.close();
      if (wanted !== 0 || tried === MAX_PORTS) throw error;
    }
  }
}

/** The page is opened by its own name only. Programs use any address. */
function isPageElsewhere({ headers, url }: IncomingMessage, host: string): boolean {
  return headers.host?.toLowerCase() !== host && readTarget(url).path === "/";
}

/** Browsers keep the fragment. */
function redirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location });
  response.end();
}

/** A client that sends or reads slowly, or not at all, does not keep its connection. */
function createServer({ tls }: ServeDeskOptions, limits: DeskLimits): Server {
  const { headersMs, requestMs, idleMs } = limits;
  const timeouts = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(headersMs, 5000),
  };
  const server =
    tls === undefined ? createHttpServer(timeouts) : createHttpsServer({ ...timeouts, ...tls });
  server.maxConnections = limits.connections + SPARE_CONNECTIONS;
  server.maxHeadersCount = MAX_HEADERS;
  server.timeout = idleMs;
  return server;
}

/** The first one is for people. */
function ownAddresses(options: ServeDeskOptions, port: number): readonly [URL, ...URL[]] {
  const { host, hosts = [], tls, origin } = options;
  const toUrl = (name: string) => {
    const scheme = tls === undefined ? "http" : "https";
    return new URL(`${scheme}://${isIPv6(name) ? `[${name}]` : name}:${port}`);
  };
  if (hasLocalName(options))
    return [toUrl(localName(options)), toUrl(host), ...LOOPBACK.map(toUrl)];
  const isAny = ANY_ADDRESS.has(host);
  const isLocal = isAny || LOOPBACK.includes(host);
  const names = [...(isAny ? [] : [host]), ...hosts, ...(isLocal ? LOOPBACK : [])].map(toUrl);
  const [first = toUrl("127.0.0.1"), ...rest] = names;
  return origin === undefined ? [first, ...rest] : [new URL(origin), first, ...rest];
}

/** The same after a restart, and another for each desk. */
function localName({ owner, scope }: ServeDeskOptions): string {
  return `jp-${hashOf(JSON.stringify([owner.name, scope])).slice(0, 8)}.localhost`;
}

const answering = new WeakSet<Socket>();

/**
 * Whether the request was sent before the last one of its connection was answered. Browsers and programs wait, and the
 * responses to a client that does not would all be kept in memory until it reads them.
 */
function isPipelined({ socket }: IncomingMessage, response: ServerResponse): boolean {
  if (answering.has(socket)) return true;
  answering.add(socket);
  response.once("close", () => answering.delete(socket));
  return false;
}

/** Hono trusts the host and resolves the path. So both are checked as they were sent. */
function findRefusal(request: IncomingMessage, own: readonly URL[]): ApiError | undefined {
  const foreign = findForeignCaller(request.headers, own);
  if (foreign !== undefined) return forbidden("foreign_caller", foreign);
  const { path } = readTarget(request.url);
  if (!path.startsWith("/")) return badRequest("The path has to start with a slash.");
  return isEncoded(path) ? undefined : badRequest("The path is not encoded properly.");
}

/** The result is used, because the build leaves out a call whose result is not, even if it may throw. */
function isEncoded(path: string): boolean {
  try {
    return decodeURIComponent(path) !== "";
  } catch {
    return false;
  }
}

function refuse(response: ServerResponse, { status, code, message }: ApiError): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify({ error: { code, message } })}\n`);
}

/** Codes of errors that are the request's own fault. */
const UNCLEAR = new Set(["ambiguous_conversation", "invalid_cursor"]);

/** Answers requests that are not refused. */
function createListener({ page, onProblem }: ServeDeskOptions, parts: ApiParts) {
  const toFailure = (error: unknown): Response => {
    if (error instanceof ApiError) return toErrorResponse(error);
    if (isJpError(error) && UNCLEAR.has(error.code)) return toFailure(badRequest(error.message));
    if (isNotLoaded(error)) {
      onProblem(`${messageOf(error)} To use a new version of jp, start the desk again.`);
      const message =
        "The desk cannot load a part of itself. Whoever runs it has to start it again.";
      return toFailure(new ApiError(503, "restart_needed", { message }));
    }
    // Such as a backslash.
    if (error instanceof RequestError) return toFailure(badRequest("The path is not valid."));
    const isGone = systemErrorCode(error) === "ECONNRESET"; // The client left while it was sending.
    if (!isGone) onProblem(messageOf(error));
    return toFailure(new ApiError(500, "internal", { message: "Internal error." }));
  };
  const app = new Hono<DeskEnv>({
    getPath: (_request, { env } = {}) => readPath(env?.incoming.url),
  });
  for (const [path, file] of page) {
    app.all(path, ({ req }) => sendPageFile(file, req.method));
  }
  for (const [path, operations] of Map.groupBy(OPERATIONS, (one) => one.path)) {
    // Not by method: Hono would answer HEAD like GET, and anything else with 404.
    app.all(`${API_PATH}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`, async (context) => {
      const { method } = context.req;
      const operation = operations.find((one) => one.method === method);
      if (operation === undefined) throw notAllowed(operations.map((one) => one.method));
      const caller = await admit(operation, context.env.incoming, parts.access);
      return operation.run(context, caller, parts);
    });
  }
  app.notFound(() => toFailure(new ApiError(404, "not_found", { message: "Not found." })));
  app.onError((error, { env: { outgoing } }) => {
    const failure = toFailure(error);
    if (!outgoing.headersSent) return failure;
    outgoing.destroy();
    return RESPONSE_ALREADY_SENT;
  });
  // The global objects stay Node's own: turns that run in this process use them too.
  return getRequestListener(app.fetch, { errorHandler: toFailure, overrideGlobalObjects: false });
}

/** Decoded except for `/` and others with a meaning, as routes expect it: Hono decodes the rest in parameters. */
function readPath(url: string | undefined): string {
  return decodeURI(readTarget(url).path.replaceAll("%25", "%2525"));
}

/** Checks who is calling, what they may do, and that they mean it. Throws an `ApiError`. */
async function admit(
  { needs }: Operation,
  request: IncomingMessage,
  access: Access,
): Promise<Caller> {
  // Browsers say where a request is from.
  const site = request.headers["sec-fetch-site"] ?? "none";
  if (site !== "same-origin" && site !== "none") {
    throw forbidden("foreign_caller", "Requests from other sites are not allowed.");
  }
  if (needs === "anyone") return ANONYMOUS;
  const caller = await access.identify(request);
  const { name, rights } = caller.person;
  if (needs === "person" || rights.includes(needs)) return caller;
  throw forbidden("forbidden", `${name} does not have the right to ${needs}.`);
}

function sendPageFile({ type, body }: PageFile, method: string): Response {
  if (method !== "GET" && method !== "HEAD") throw notAllowed(["GET", "HEAD"]);
  return new Response(body, { headers: { "content-type": type, "cache-control": "no-cache" } });
}

function forbidden(code: string, message: string): ApiError {
  return new ApiError(403, code, { message });
}

function notAllowed(methods: readonly string[]): ApiError {
  const allow = methods.join(", ");
  return new ApiError(405, "method_not_allowed", {
    message: `Allowed here: ${allow}.`,
    headers: { allow },
  });
}
