/** A local HTTP server that plays scripted answers and records the requests. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CapturedRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
  /** Resolves when the client disconnects before the answer is complete. */
  readonly disconnected: Promise<void>;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: Iterable<string> | AsyncIterable<string>;
  /** After the chunks: end normally, break the connection, or send nothing more. */
  readonly ending?: "end" | "break" | "hang";
}

/** An answer that depends on the request. */
export type Answering = (request: CapturedRequest) => Answer | Promise<Answer>;

export class CaptureServer implements AsyncDisposable {
  readonly requests: CapturedRequest[] = [];
  readonly #answers: (Answer | Answering)[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  /** On any free port unless said otherwise. */
  static async start(port = 0): Promise<CaptureServer> {
    const server = new CaptureServer();
    server.#server.listen(port, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    // It listens on TCP.
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Played in order; the last one repeats. */
  answer(...answers: readonly (Answer | Answering)[]): this {
    this.#answers.push(...answers);
    return this;
  }

  /** The body of the last request. */
  get body(): unknown {
    return this.requests.at(-1)?.body;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = (await request.toArray()) as readonly Buffer[];
    const text = Buffer.concat(chunks).toString("utf8");
    const { promise: disconnected, resolve } = Promise.withResolvers<void>();
    response.once("close", () => (response.writableFinished ? undefined : resolve()));
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const captured = { path: request.url ?? "", headers: request.headers, body, disconnected };
    this.requests.push(captured);
    const next = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    const answer = typeof next === "function" ? await next(captured) : next;
    await play(answer ?? { status: 500 }, response);
  }
}

async function play(answer: Answer, response: ServerResponse): Promise<void> {
  const { status = 200, headers = {}, chunks = [], ending = "end" } = answer;
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  for await (const chunk of chunks) {
    await new Promise((resolve) => response.write(chunk, resolve));
  }
  if (ending === "end") response.end();
  if (ending === "break") response.destroy();
}
