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

/** Server limits. */
export interface DeskLimits extends ConnectionLimits {
  /** Concurrent requests, besides event streams. */
  readonly requests: number;
  /** Concurrent event streams. */
  readonly streams: number;
  /** The buffer limit of a client that reads events too slowly. */
  readonly bufferedBytes: number;
  /** How long a client may take to send a request's headers, and the whole request. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a connection may be idle: longer than any response takes. */
  readonly idleMs: number;
}

/** Options of a served desk. */
export interface ServeDeskOptions {
  readonly desk: Desk;
  readonly people: PeopleReader;
  /** The person behind one-time logins. */
  readonly owner: Person;
  /** The known people. Without it, decisions that need known people cannot be made. */
  readonly directory?: Directory;
  /** The page's logins. */
  readonly sessions: Sessions;
  /** The served content, such as the workspace. Sessions are not valid for another scope or port. */
  readonly scope: string;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** More names and addresses of this machine that people may open. */
  readonly hosts?: readonly string[];
  /** The address that people open if there is a proxy, such as `https://desk.example.org`. */
  readonly origin?: string;
  /** Whether turns resume when their questions are answered. */
  readonly runs: boolean;
  /** The page's files by path: `/` is the page itself. No other files are served. */
  readonly page: ReadonlyMap<string, PageFile>;
  readonly clock: Clock;
  readonly onProblem: (problem: string) => void;
  /** Called with one line of JSON for each login, logout and refused token. */
  readonly audit: (line: string) => void;
  /** Called with the log entry when a person's keys change. */
  readonly onKeyChange?: ((change: PeopleLogEntry) => void) | undefined;
  readonly limits?: Partial<DeskLimits>;
}

/** A served desk. */
export interface DeskService {
  /** The origin that people open: `http://jp-0123abcd.localhost:4711`, or the configured one. */
  readonly url: string;
  /** For programs on systems that may not resolve that name: `http://127.0.0.1:4711`, or the same. */
  readonly apiUrl: string;
  /** A one-time login for the owner. The page reads it from its fragment: `#login=…`. */
  createLogin(): string;
  /** Closes all connections. The desk itself stays open. */
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
/** Extra connections, accepted while older ones are being closed. */
const SPARE_CONNECTIONS = 100;
/** How long `close` waits for responses in progress. */
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
  void loadDocument().catch(() => undefined); // Before an upgrade can replace it. Requests report a failure.
  const connections = new Connections(limits, clock);
  const open = new Map<ServerResponse, Promise<unknown>>();
  const keys = new IdempotencyKeys(clock);
  const gate = new Gate(limits.requests);
  const passkeys = new Passkeys({ ...options, url: own[0] });
  const build = findBuild(options.page);
  const toApiError = createToApiError(options.onProblem);
  const parts = { ...options, access, events, keys, gate, passkeys, toApiError };
  const answer = createListener(options.page, parts);
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

/** The build named in the page. An open page from another build reloads. */
function findBuild(page: ServeDeskOptions["page"]): string | undefined {
  const html = Buffer.from(page.get("/")?.body ?? "").toString();
  return /<meta name="jp-build" content="(\w+)"/.exec(html)?.[1];
}

/** Whether the page gets a name that is unique to this desk, so that no other desk shares its browser storage. */
function hasLocalName({ host, tls, origin }: ServeDeskOptions): boolean {
  return origin === undefined && tls === undefined && LOOPBACK.includes(host);
}

const MAX_PORTS = 20;

/**
 * Browsers resolve a local name to 127.0.0.1 or ::1. The desk listens on both, so that no other program on this machine
 * can receive its requests.
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
      if (!isTaken) return { servers: [server], port }; // This machine has only one of the two.
      server.close();
      if (wanted !== 0 || tried === MAX_PORTS) throw error;
    }
  }
}

/** The page opens only under its own name. Programs may use any address. */
function isPageElsewhere({ headers, url }: IncomingMessage, host: string): boolean {
  return headers.host?.toLowerCase() !== host && readTarget(url).path === "/";
}

/** Browsers keep the fragment. */
function redirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location });
  response.end();
}

/** Closes connections of clients that send or read too slowly. */
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

/** The first one is the one people open. */
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

/** Stable across restarts, different for each desk. */
function localName({ owner, scope }: ServeDeskOptions): string {
  return `jp-${hashOf(JSON.stringify([owner.name, scope])).slice(0, 8)}.localhost`;
}

const answering = new WeakSet<Socket>();

/**
 * Whether the request was sent before the previous one on its connection was answered. Browsers and programs wait; for
 * a client that does not, all responses would pile up in memory.
 */
function isPipelined({ socket }: IncomingMessage, response: ServerResponse): boolean {
  if (answering.has(socket)) return true;
  answering.add(socket);
  response.once("close", () => answering.delete(socket));
  return false;
}

/** Hono trusts the host and resolves the path, so both are checked as sent. */
function findRefusal(request: IncomingMessage, own: readonly URL[]): ApiError | undefined {
  const foreign = findForeignCaller(request.headers, own);
  if (foreign !== undefined) return forbidden("foreign_caller", foreign);
  const { path } = readTarget(request.url);
  if (!path.startsWith("/")) return badRequest("The path has to start with a slash.");
  return isEncoded(path) ? undefined : badRequest("The path is not encoded properly.");
}

/** Returns a result because the bundler drops calls whose result is unused, even if they may throw. */
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

/** Error codes caused by the request. */
const UNCLEAR = new Set(["ambiguous_conversation", "invalid_cursor"]);

/** The refusal for an error. Reports one that is not the client's. */
function createToApiError(onProblem: ServeDeskOptions["onProblem"]) {
  return (error: unknown): ApiError => {
    if (error instanceof ApiError) return error;
    if (isJpError(error) && UNCLEAR.has(error.code)) return badRequest(error.message);
    if (isNotLoaded(error)) {
      onProblem(`${messageOf(error)} To use a new version of jp, start the desk again.`);
      const message =
        "The desk cannot load a part of itself. Whoever runs it has to start it again.";
      return new ApiError(503, "restart_needed", { message });
    }
    // Such as a path with a backslash.
    if (error instanceof RequestError) return badRequest("The path is not valid.");
    const isGone = systemErrorCode(error) === "ECONNRESET"; // The client disconnected while sending.
    if (!isGone) onProblem(messageOf(error));
    return new ApiError(500, "internal", { message: "Internal error." });
  };
}

/** Handles requests that were not refused. */
function createListener(page: ServeDeskOptions["page"], parts: ApiParts) {
  const toFailure = (error: unknown) => toErrorResponse(parts.toApiError(error));
  const app = new Hono<DeskEnv>({
    getPath: (_request, { env } = {}) => readPath(env?.incoming.url),
  });
  for (const [path, file] of page) {
    app.all(path, ({ req }) => sendPageFile(file, req.method));
  }
  for (const [path, operations] of Map.groupBy(OPERATIONS, (one) => one.path)) {
    // Not routed by method: Hono would answer HEAD like GET, and any other method with 404.
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
  // Keep Node's global objects: turns in this process use them too.
  return getRequestListener(app.fetch, { errorHandler: toFailure, overrideGlobalObjects: false });
}

/** Decoded except for `/` and other reserved characters, as routes expect: Hono decodes the rest in parameters. */
function readPath(url: string | undefined): string {
  return decodeURI(readTarget(url).path.replaceAll("%25", "%2525"));
}

/** Checks the caller, their rights, and that the request is not cross-site. Throws an `ApiError`. */
async function admit(
  { needs }: Operation,
  request: IncomingMessage,
  access: Access,
): Promise<Caller> {
  // Browsers say whether a request is cross-site.
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
