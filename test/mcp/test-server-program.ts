/**
 * An MCP server that misbehaves on demand. How it is run is said by its arguments; what its tools do,
 * by `test-server-tools.ts`. With `--log=<file>` it logs what happens to it.
 */
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { createMcpHandler, type Transport } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTestServer } from "./test-server-tools.ts";

const flags = new Map(
  process.argv.slice(2).map((argument) => {
    const [name = "", ...value] = argument.slice(2).split("=");
    return [name, value.join("=")] as const;
  }),
);

log(`started ${process.pid}`);
if (flags.has("greet")) process.stdout.write("Welcome to the test server!\n");
if (flags.has("ignore-end")) {
  process.on("SIGTERM", () => log("SIGTERM ignored"));
  setInterval(() => undefined, 1000);
}

const make = () =>
  createTestServer({
    log,
    pages: Number(flags.get("pages") ?? 1),
    refusals: Number(flags.get("refusals") ?? 0),
    ...(flags.has("version") && { versions: [flags.get("version") ?? ""] }),
  });

switch (flags.get("mode")) {
  case "hang":
    process.stderr.write("waiting for the moon\n");
    setInterval(() => undefined, 1000);
    break;
  case "exit":
    process.stderr.write("no moon tonight\n");
    process.exitCode = 3;
    break;
  case "older":
    await make().connect(new StdioServerTransport());
    break;
  case "older-silent":
    await connectOlder(() => undefined);
    break;
  case "older-leaving":
    await connectOlder(() => process.exit(1));
    break;
  case "newer":
    serveStdio(make, { legacy: "reject" });
    break;
  case "http":
    serveHttp();
    break;
  default:
    serveStdio(make);
}

/** A server of before 2026 that does not answer to what it does not know. */
async function connectOlder(onUnknown: () => void): Promise<void> {
  const transport: Transport = new StdioServerTransport();
  await make().connect(transport);
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- A transport has no events.
  transport.onmessage = (message, extra) => {
    if ("method" in message && message.method === "server/discover") onUnknown();
    else deliver?.(message, extra);
  };
}

/** Says its port on standard output. */
function serveHttp(): void {
  const handler = createMcpHandler(make);
  const server = createServer((request, response) => {
    log(`${request.method} ${request.headers["authorization"] ?? "without authorization"}`);
    const isAllowed = flags.get("token") === undefined || hasToken(request);
    if (isAllowed) void respond(request, response);
    else response.writeHead(401).end();
  });
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const body: Buffer[] = await request.toArray();
    const headers = Object.entries(request.headers).map(([key, value]) => [key, String(value)]);
    const answer = await handler.fetch(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.fromEntries(headers),
        signal: gone.signal,
        ...(body.length > 0 && { body: Buffer.concat(body) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as ReadableStream) // The same, by two names.
        .on("error", () => undefined)
        .pipe(response);
  }
  server.listen(Number(flags.get("port") ?? 0), "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo; // It listens on a port.
    process.stdout.write(`${port}\n`);
  });
}

function hasToken(request: IncomingMessage): boolean {
  return request.headers["authorization"] === `Bearer ${flags.get("token")}`;
}

function log(line: string): void {
  const file = flags.get("log");
  if (file !== undefined) appendFileSync(file, `${line}\n`);
}
