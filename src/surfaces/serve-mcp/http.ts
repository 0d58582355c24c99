/** The HTTP server of `jp mcp serve`, for any number of local clients with its token. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { Socket } from "node:net";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { findForeignCaller, isSameSecret, listen, messageOf } from "../../util/index.ts";
import { ClientRecord } from "./client-record.ts";
import { ClientQuestions, PAUSE_TIMEOUT_MS } from "./client-questions.ts";
import { createServer, type ServerParts } from "./server.ts";
import { loadSdk, type Sdk, type ServeSetup } from "./setup.ts";

export interface HttpOptions {
  /** 0 picks a free port. */
  readonly port: number;
  readonly token: string;
}

export interface HttpService {
  readonly url: string;
  /** Resolves when everything is recorded and no client is connected. */
  close(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
const PATH = "/mcp";
/** How long `close` waits for clients to read their responses. */
const CLOSE_MS = 1000;

/** Throws `port_in_use`. */
export async function serveHttp(
  setup: ServeSetup,
  { port: wanted, token }: HttpOptions,
): Promise<HttpService> {
  const sdk = await loadSdk();
  const questions = new ClientQuestions(sdk, setup);
  const connections = new Connections();
  const connectionOf = (request: Request | undefined) => request && connections.of(request);
  const clients = createHandler(sdk, { setup, questions, connectionOf });
  const open = new Set<Promise<void>>();
  let port = wanted;
  const http = createHttpServer((request, response) => {
    const refusal = findRefusal(request.headers, { port, token });
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.message);
    const [path] = request.url?.split("?") ?? [];
    if (path !== PATH) return refuse(response, 404, `Not found. The MCP endpoint is ${PATH}.`);
    const responding = respond(request, response);
    open.add(responding);
    void responding.finally(() => open.delete(responding));
  });
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const received = toWebRequest(request, response);
      connections.add(received, request.socket);
      const answer = await clients.handle(received);
      await sendWebResponse(answer, response);
    } catch (error) {
      setup.onProblem(messageOf(error));
      if (!response.headersSent) refuse(response, 500, "Internal error.");
    }
  };
  // While a question is open, only a client that has exited should be without a connection.
  http.keepAliveTimeout = PAUSE_TIMEOUT_MS;
  port = await listen(http, { host: ADDRESS, port: wanted });
  return {
    url: `http://${ADDRESS}:${port}${PATH}`,
    close: async () => {
      const closed = once(http, "close");
      http.close();
      await questions.close();
      await clients.close();
      const done = new AbortController();
      const timeout = setup.clock.sleep(CLOSE_MS, done.signal);
      await Promise.race([Promise.allSettled(open), timeout]);
      done.abort();
      http.closeAllConnections();
      await closed;
    },
  };
}

/** Maps requests to their connections. */
class Connections {
  readonly #closed = new WeakMap<Socket, AbortSignal>();
  readonly #sockets = new WeakMap<Request, Socket>();

  add(request: Request, socket: Socket): void {
    this.#sockets.set(request, socket);
    if (this.#closed.has(socket)) return;
    const closed = new AbortController();
    socket.once("close", () => closed.abort());
    this.#closed.set(socket, closed.signal);
  }

  /** Aborted when the connection closes. */
  of(request: Request): AbortSignal | undefined {
    const socket = this.#sockets.get(request);
    return socket && this.#closed.get(socket);
  }
}

type Served = Required<Pick<ServerParts, "setup" | "questions" | "connectionOf">>;

/** Handles clients of both protocol generations, which differ in their requests. */
function createHandler(sdk: Sdk, { setup, questions, connectionOf }: Served) {
  const older = new OlderSessions({ sdk, setup, questions });
  // Newer clients have no sessions, so a name identifies the client in the record.
  const records = new Map<string, ClientRecord>();
  const recordOf = ({ name }: { readonly name: string }) => {
    const record = records.get(name) ?? new ClientRecord(setup);
    records.set(name, record);
    return record;
  };
  const newer = sdk.createMcpHandler(
    ({ era }) => createServer({ sdk, setup, questions, era, recordOf, connectionOf }),
    // A person may take longer than a client waits for a response's first byte.
    { legacy: "reject", responseMode: "sse" },
  );
  return {
    handle: async (request: Request): Promise<Response> =>
      (await sdk.isLegacyRequest(request)) ? older.handle(request) : newer.fetch(request),
    close: async () => {
      await Promise.all([older.close(), newer.close()]);
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    ...(status === 401 && { "www-authenticate": "Bearer" }),
  };
  response.writeHead(status, headers).end(`${message}\n`);
}

interface OlderSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly record: ClientRecord;
}

/** Most clients never close their session. */
const MAX_SESSIONS = 64;

class OlderSessions {
  readonly #parts: Omit<ServerParts, "era" | "recordOf">;
  /** Least recently used first. */
  readonly #sessions = new Map<string, OlderSession>();

  constructor(parts: Omit<ServerParts, "era" | "recordOf">) {
    this.#parts = parts;
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const session = id === null ? await this.#open() : this.#use(id);
    if (session === undefined) return notFound();
    return session.transport.handleRequest(request);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  /** Added when the client initializes it; the transport rejects any other first request. */
  async #open(): Promise<OlderSession> {
    const { sdk, setup } = this.#parts;
    const record = new ClientRecord(setup);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#add(id, { transport, record }),
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    const server = createServer({ ...this.#parts, era: "legacy", recordOf: () => record });
    await server.connect(transport);
    return { transport, record };
  }

  #use(id: string): OlderSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  #add(id: string, session: OlderSession): void {
    this.#sessions.set(id, session);
    if (this.#sessions.size <= MAX_SESSIONS) return;
    const oldest = [...this.#sessions].find(([, { record }]) => !record.isInUse);
    if (oldest === undefined) return;
    this.#sessions.delete(oldest[0]);
    void oldest[1].transport.close();
  }
}

function notFound(): Response {
  const error = { code: -32_001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}

interface Guarded {
  readonly port: number;
  readonly token: string;
}

interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

const NAMES = ["127.0.0.1", "localhost"];

/** Foreign callers are refused first: they must not learn whether a token is valid. */
function findRefusal(headers: IncomingHttpHeaders, { port, token }: Guarded): Refusal | undefined {
  const own = NAMES.map((name) => new URL(`http://${name}:${port}`));
  const foreign = findForeignCaller(headers, own);
  if (foreign !== undefined) return { status: 403, message: foreign };
  if (isSameSecret(headers.authorization ?? "", `Bearer ${token}`)) return undefined;
  return { status: 401, message: "The Authorization header does not contain the token." };
}

/** The request's signal aborts if the client disconnects before the response is sent. */
function toWebRequest(request: IncomingMessage, response: ServerResponse): Request {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) disconnected.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const { method = "GET" } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  // Host and path were already checked, so the URL no longer matters.
  return new Request("http://localhost/mcp", {
    method,
    headers,
    signal: disconnected.signal,
    ...(hasBody && { body: Readable.toWeb(request) as BodyInit, duplex: "half" }),
  });
}

/** Never rejects: the client may have disconnected. */
async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  // With this header, Node would not announce its keep-alive time, and clients would disconnect after a few seconds.
  const { connection: _connection, ...headers } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, headers);
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const body = Readable.fromWeb(answer.body as ReadableStream); // One type under two names.
  await pipeline(body, response).catch(() => undefined);
}
