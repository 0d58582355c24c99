/** A server for any number of clients on this machine that have its token. */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { CodedError, messageOf } from "../util/index.ts";
import { ClientRecord } from "./client-record.ts";
import { QuestionDesk } from "./desk.ts";
import { createServer, type ServerParts } from "./server.ts";
import { loadSdk, type Sdk, type ServeSetup } from "./setup.ts";

export interface HttpOptions {
  /** 0 for any that is free. */
  readonly port: number;
  readonly token: string;
}

export interface HttpService {
  readonly url: string;
  /** When it resolves, everything is on record and no client is connected. */
  close(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
const PATH = "/mcp";
/** For clients that do not read what they were sent. */
const GOODBYE_MS = 1000;

/** Throws `port_in_use`. */
export async function serveHttp(
  setup: ServeSetup,
  { port: wanted, token }: HttpOptions,
): Promise<HttpService> {
  const sdk = await loadSdk();
  const desk = new QuestionDesk(sdk, setup);
  const clients = createHandler(sdk, { setup, desk });
  const open = new Set<Promise<void>>();
  let port = wanted;
  const http = createHttpServer((request, response) => {
    const refusal = findRefusal(request.headers, { port, token });
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.message);
    const [path] = request.url?.split("?") ?? [];
    if (path !== PATH) return refuse(response, 404, `There is nothing here but ${PATH}.`);
    const responding = respond(request, response);
    open.add(responding);
    void responding.finally(() => open.delete(responding));
  });
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const answer = await clients.handle(toWebRequest(request, response));
      await sendWebResponse(answer, response);
    } catch (error) {
      setup.onProblem(messageOf(error));
      if (!response.headersSent) refuse(response, 500, "Something unexpected happened.");
    }
  };
  http.listen(wanted, ADDRESS);
  await once(http, "listening").catch((error: unknown) => {
    throw cannotListen(error, wanted);
  });
  ({ port } = http.address() as AddressInfo); // It listens on a port.
  return {
    url: `http://${ADDRESS}:${port}${PATH}`,
    close: async () => {
      const closed = once(http, "close");
      http.close();
      await desk.close();
      await clients.close();
      const done = new AbortController();
      const patience = setup.clock.sleep(GOODBYE_MS, done.signal);
      await Promise.race([Promise.allSettled(open), patience]);
      done.abort();
      http.closeAllConnections();
      await closed;
    },
  };
}

interface Served {
  readonly setup: ServeSetup;
  readonly desk: QuestionDesk;
}

/** Clients of both kinds, told apart by their requests. */
function createHandler(sdk: Sdk, { setup, desk }: Served) {
  const older = new OlderSessions({ sdk, setup, desk });
  // These have no sessions: for the record, who has the same name is the same client.
  const records = new Map<string, ClientRecord>();
  const recordOf = ({ name }: { readonly name: string }) => {
    const record = records.get(name) ?? new ClientRecord(setup);
    records.set(name, record);
    return record;
  };
  const newer = sdk.createMcpHandler(
    ({ era }) => createServer({ sdk, setup, desk, era, recordOf }),
    // A person may take longer than a client waits for the first byte of a response.
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

function cannotListen(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException; // That is what listening throws.
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const why = code === "EACCES" ? "is not allowed" : "is in use";
  return new CodedError("port_in_use", `Port ${port} of ${ADDRESS} ${why}.`, {
    hint: "Give another one with --port, or none for any that is free.",
    cause: error,
  });
}

interface OlderSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly record: ClientRecord;
}

/** Few clients say goodbye. */
const MOST_SESSIONS = 64;

class OlderSessions {
  readonly #parts: Omit<ServerParts, "era" | "recordOf">;
  /** The one that was not used for the longest time comes first. */
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

  /** It counts once its client has introduced itself; anything else is refused by the transport. */
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
    if (this.#sessions.size <= MOST_SESSIONS) return;
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

/**
 * A host name that was pointed at this machine shows in `host`, a page in `origin`. Both are
 * looked at first: such a caller must not even learn whether a token is right.
 */
function findRefusal(headers: IncomingHttpHeaders, { port, token }: Guarded): Refusal | undefined {
  const own = NAMES.map((name) => new URL(`http://${name}:${port}`));
  if (!own.some(({ host }) => host === headers.host)) {
    return { status: 403, message: "The Host header names another server." };
  }
  const { origin } = headers;
  if (origin !== undefined && !own.some((url) => url.origin === origin)) {
    return { status: 403, message: "Pages of other origins are not served." };
  }
  if (isEqual(headers.authorization ?? "", `Bearer ${token}`)) return undefined;
  return { status: 401, message: "The Authorization header does not hold the token." };
}

/** Takes the same time wherever they differ, and however long they are. */
function isEqual(given: string, expected: string): boolean {
  const [left, right] = [given, expected].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}

/** The signal of the request is aborted when its line is cut before the response was sent. */
function toWebRequest(request: IncomingMessage, response: ServerResponse): Request {
  const cut = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) cut.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const { method = "GET" } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  // What was asked for by whom is decided before: nothing depends on the address any more.
  return new Request("http://localhost/mcp", {
    method,
    headers,
    signal: cut.signal,
    ...(hasBody && { body: Readable.toWeb(request) as BodyInit, duplex: "half" }),
  });
}

/** Never rejects: a client that does not listen any more is no problem of ours. */
async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const body = Readable.fromWeb(answer.body as ReadableStream); // The same, by two names.
  await pipeline(body, response).catch(() => undefined);
}
