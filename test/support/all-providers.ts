/** A local server that speaks the APIs of all six providers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { PROVIDER_NAMES, type ProviderName } from "../../src/reach/provider/index.ts";
import { WIRE, type WireReply } from "../provider/wire.ts";

/** `body` is the request as text. */
export type Reply = (body: string) => WireReply;

export class AllProviders implements AsyncDisposable {
  /** The providers that got requests, in order. */
  readonly asked: ProviderName[] = [];
  readonly #reply: Reply;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor(reply: Reply) {
    this.#reply = reply;
  }

  static async start(reply: Reply): Promise<AllProviders> {
    const providers = new AllProviders(reply);
    providers.#server.listen(0, "127.0.0.1");
    await once(providers.#server, "listening");
    return providers;
  }

  /** The variables that make jp use this server. */
  get variables(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo; // It listens on a port.
    return Object.fromEntries(
      PROVIDER_NAMES.map((name) => [
        `JP_CFG_PROVIDERS_LLM_${name.toUpperCase()}_BASE_URL`,
        // The path says which provider a request is for.
        `http://127.0.0.1:${port}/${name}`,
      ]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, first] = (request.url ?? "").split("/");
    const provider = PROVIDER_NAMES.find((name) => name === first);
    const body = await text(request);
    if (provider === undefined) return void response.writeHead(404).end();
    if (request.method === "GET") {
      const model = { id: "scripted", name: "scripted", model: "scripted" };
      response.end(JSON.stringify({ data: [model], models: [model] }));
      return;
    }
    this.asked.push(provider);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(WIRE[provider](this.#reply(body)).join(""));
  }
}
