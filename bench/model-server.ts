/**
 * A llama.cpp server on loopback that also acts as Anthropic's API. It records the times of the last request and
 * reply.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { WIRE, type WireCall } from "../test/provider/wire.ts";

/** About one token. */
const PIECE = /[\s\S]{1,4}/g;
/** Long enough for the client to finish its other work. */
const THINKING_MS = 60;
/** Between the first token and the rest. */
const PAUSE_MS = 20;

export class ModelServer implements AsyncDisposable {
  /** When the last request arrived, by `performance.now()`. */
  askedAt = 0;
  /** When the first token was sent. Nothing comes before it, not even the headers. */
  spokeAt = 0;
  reply = "It is the first of many words.\n";
  /** Calls for the next reply to make instead of saying something. */
  readonly calls: WireCall[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<ModelServer> {
    const server = new ModelServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // It listens on a port.
    return `http://127.0.0.1:${port}`;
  }

  /** Config lines that select it. */
  get config(): readonly string[] {
    return [
      'assistant.model.id = "llamacpp/bench"',
      `providers.llm.llamacpp.base_url = "${this.url}"`,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    await once(request, "end");
    // Other requests of a llama.cpp client, such as for the server's properties.
    if (request.method !== "POST") return void response.writeHead(404).end();
    this.askedAt = performance.now();
    response.writeHead(200, { "content-type": "text/event-stream" }); // Sent with the first chunk.
    await setTimeout(THINKING_MS);
    this.spokeAt = performance.now();
    const calls = this.calls.splice(0);
    const chunks = request.url?.endsWith("/messages")
      ? WIRE.anthropic({ text: this.reply })
      : calls.length > 0
        ? WIRE.llamacpp({ calls })
        : llamaChunks(this.reply);
    const [first = "", ...rest] = chunks;
    response.write(first);
    await setTimeout(PAUSE_MS);
    for (const each of rest) response.write(each);
    response.end();
  }
}

/** The first chunk has the first token. */
function llamaChunks(reply: string): readonly string[] {
  const [first = "", ...rest] = reply.match(PIECE) ?? [];
  return [
    chunk({ role: "assistant", content: null }) + chunk({ content: first }),
    ...rest.map((content) => chunk({ content })),
    `${chunk({}, "stop")}data: [DONE]\n\n`,
  ];
}

function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const value = { id: "0", object: "chat.completion.chunk", created: 0, model: "bench", choices };
  return `data: ${JSON.stringify(value)}\n\n`;
}
