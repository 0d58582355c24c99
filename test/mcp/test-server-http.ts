/** The test server over HTTP: both generations of the protocol, without sessions. `/moved` redirects to it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { createTestServer } from "./test-server-tools.ts";

interface HttpOptions {
  readonly log?: (line: string) => void;
  /** Any free port if absent. */
  readonly port?: number;
  /** Clients without this bearer token are refused; any client may connect if absent. */
  readonly token?: string;
}

type AnswerRequest = (request: Request) => Promise<Response>;

export interface HttpTestServer {
  readonly url: string;
  readonly close: () => void;
}

export async function serveHttp(options: HttpOptions = {}): Promise<HttpTestServer> {
  const { log = () => undefined } = options;
  const handler = createMcpHandler(() => createTestServer({ log }));
  return listenForMcp((request) => handler.fetch(request), options);
}

/** Serves what answers requests at `/mcp`. */
export async function listenForMcp(
  answer: AnswerRequest,
  { log = () => undefined, port = 0, token }: HttpOptions = {},
): Promise<HttpTestServer> {
  const server = createServer((request, response) => {
    if (request.url === "/moved") {
      log("moved");
      response.writeHead(307, { location: "/mcp" }).end();
      return;
    }
    const { authorization } = request.headers;
    log(`${request.method} ${authorization ?? "without authorization"}`);
    if (token === undefined || authorization === `Bearer ${token}`)
      void respond(answer, request, response);
    else response.writeHead(401).end();
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${actual}/mcp`,
    close: () => server.close().closeAllConnections(),
  };
}

async function respond(
  answerRequest: AnswerRequest,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  const body: Buffer[] = await request.toArray();
  const headers = Object.entries(request.headers).map(([key, value]) => [key, String(value)]);
  const answer = await answerRequest(
    new Request(`http://localhost${request.url}`, {
      method: request.method ?? "GET",
      headers: Object.fromEntries(headers),
      signal: disconnected.signal,
      ...(body.length > 0 && { body: Buffer.concat(body) }),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else
    Readable.fromWeb(answer.body as ReadableStream) // The same type, by two names.
      .on("error", () => undefined)
      .pipe(response);
}
