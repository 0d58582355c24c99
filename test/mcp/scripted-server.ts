/**
 * A server of the older protocol that sends whatever it is given, valid or not: the SDK does not check its
 * replies. In memory or over HTTP; `test/security/hostile-server-program.ts` is the same as a program.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/** A message of the client. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** The result of each method. What is absent is answered as a server without tools would. */
export type Results = Readonly<Record<string, unknown>>;

const METHOD_NOT_FOUND = { code: -32_601, message: "Method not found" };

/** Undefined for a notification, and for a reply to a question of the server. */
export function replyTo(
  { id, method, params }: Message,
  results: Results,
  unknownMethod: object = METHOD_NOT_FOUND,
): object | undefined {
  if (id === undefined || method === undefined) return undefined;
  const all: Results = {
    initialize: {
      protocolVersion: params?.["protocolVersion"],
      capabilities: { tools: {} },
      serverInfo: { name: "scripted", version: "1" },
    },
    "tools/list": { tools: [] },
    ...results,
  };
  const end = Object.hasOwn(all, method) ? { result: all[method] } : { error: unknownMethod };
  return { jsonrpc: "2.0", id, ...end };
}

/** The client's end of a connection to the server. */
export class ScriptedTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  readonly #results: Results;

  constructor(results: Results) {
    this.#results = results;
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    const reply = replyTo(message as Message, this.#results);
    if (reply === undefined) return;
    queueMicrotask(() => this.onmessage?.(reply as JSONRPCMessage)); // Whatever it is.
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}

/** The server over HTTP. The callback responds to calls of tools. */
export async function serveScriptedHttp(onCall: (response: ServerResponse) => void) {
  const server = createServer(async (request, response) => {
    const message = JSON.parse((await text(request)) || "{}") as Message;
    if (message.method === "tools/call") return onCall(response);
    const reply = replyTo(message, {});
    if (reply === undefined) return response.writeHead(202).end();
    return response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(reply));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () => server.close().closeAllConnections(),
  };
}
