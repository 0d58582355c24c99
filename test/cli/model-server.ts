/** A llama.cpp server on loopback that sends scripted replies and records requests. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Json, JsonObject } from "../../src/util/index.ts";

interface ReplyParts {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments?: JsonObject }[];
  /** An HTTP error instead of a reply. */
  readonly status?: number;
  readonly problem?: string;
  /** Breaks the connection after the text. */
  readonly isCut?: boolean;
  /** Sends nothing after the text, and never ends. */
  readonly hangs?: boolean;
  /** Sends the rest when this resolves. */
  readonly after?: Promise<unknown>;
  /** Of the text, or in pieces that come when they come. */
  readonly rest?: string | AsyncIterable<Piece>;
  /** The finish reason, if not the usual one. */
  readonly finish?: string;
  readonly usage?: JsonObject;
}

export interface Piece {
  readonly text?: string;
  readonly reasoning?: string;
}

export type Reply = string | ReplyParts;

interface ChatMessage {
  readonly role: string;
  readonly content?: Json;
}

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly [key: string]: unknown;
}

/** The instructions; empty if there are none. */
export function systemText(body: ChatBody | undefined): string {
  const { content = "" } = body?.messages[0] ?? {};
  return typeof content === "string" ? content : JSON.stringify(content);
}

export type Replies = readonly Reply[] | ((body: ChatBody, index: number) => Reply | undefined);

export class ModelServer implements AsyncDisposable {
  readonly requests: ChatBody[] = [];
  /** Of each request: resolves when its connection is no longer used, by whoever has ended it. */
  readonly ended: Promise<unknown>[] = [];
  /** What the server says about itself and its model. */
  properties: JsonObject = {};
  readonly #server: Server;
  readonly #replies: Replies;
  readonly #models: readonly string[];

  private constructor(replies: Replies, models: readonly string[]) {
    this.#replies = replies;
    this.#models = models;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** Takes one reply per request in order, or a function that makes them. */
  static async start(replies: Replies, models = ["scripted"]): Promise<ModelServer> {
    const server = new ModelServer(replies, models);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  /** An address where no server listens: the port was free a moment ago. */
  static async closedUrl(): Promise<string> {
    await using server = await ModelServer.start([]);
    return server.url;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // It listens on a port.
    return `http://127.0.0.1:${port}`;
  }

  /** The config that a workspace needs to use this server. */
  get config(): string {
    return [
      'assistant.model.id = "llamacpp/scripted"',
      "assistant.request.base_backoff_ms = 10",
      `providers.llm.llamacpp.base_url = "${this.url}"`,
      "",
    ].join("\n");
  }

  /** The contents of the last message of each request. */
  get lastMessages(): readonly (Json | undefined)[] {
    return this.requests.map(({ messages }) => messages.at(-1)?.content);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      const data = this.#models.map((id) => ({ id }));
      response.end(JSON.stringify({ object: "list", data, ...this.properties }));
      return;
    }
    const body = (await json(request)) as ChatBody;
    const index = this.requests.push(body) - 1;
    this.ended.push(once(response, "close"));
    const { length } = this.requests;
    const reply =
      typeof this.#replies === "function" ? this.#replies(body, index) : this.#replies[index];
    if (reply === undefined) response.writeHead(400).end(`no reply for request ${length}`);
    else await stream(typeof reply === "string" ? { text: reply } : reply, index, response);
  }
}

async function stream(reply: ReplyParts, index: number, response: ServerResponse): Promise<void> {
  const { calls = [], status, isCut, hangs, after, rest = "" } = reply;
  if (status !== undefined) {
    response.writeHead(status, { "content-type": "application/json" });
    const { problem = "as scripted" } = reply;
    response.end(JSON.stringify({ error: { message: problem, code: status } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: JsonObject, more: JsonObject = {}) =>
    response.write(`data: ${JSON.stringify(chunk(delta, more))}\n\n`);
  const sendPiece = ({ text: words = "", reasoning: thoughts }: Piece) => {
    if (thoughts !== undefined) send({ reasoning_content: thoughts });
    for (const piece of words.match(/[\s\S]{1,7}/g) ?? []) send({ content: piece });
  };
  sendPiece(reply);
  await after;
  for await (const piece of typeof rest === "string" ? [{ text: rest }] : rest) sendPiece(piece);
  if (isCut === true) {
    await new Promise((resolve) => response.write("\n", resolve)); // Wait until the text was sent.
    return void response.destroy();
  }
  if (hangs === true) return;
  for (const [position, { name, arguments: args = {} }] of calls.entries()) {
    const id = `call_${index + 1}_${position + 1}`;
    const call = { name, arguments: JSON.stringify(args) };
    send({ tool_calls: [{ index: position, id, type: "function", function: call }] });
  }
  const { usage, finish = calls.length > 0 ? "tool_calls" : "stop" } = reply;
  send({}, { finish_reason: finish, ...(usage !== undefined && { usage }) });
  response.end("data: [DONE]\n\n");
}

function chunk(delta: JsonObject, { usage, finish_reason = null }: JsonObject): JsonObject {
  return {
    id: "chat",
    object: "chat.completion.chunk",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, delta, finish_reason }],
    ...(usage !== undefined && { usage }),
  };
}
