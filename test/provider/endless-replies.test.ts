/** Servers that send more than a reply may have, in shapes that no part of the reply shows. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { runTurn } from "../../src/index.ts";
import {
  createHttpFetch,
  PROVIDER_NAMES,
  ProviderError,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import { modelAt } from "./support.ts";
import { WIRE } from "./wire.ts";

const MAX_RESPONSE_BYTES = 100_000;
/** The server gives up here. */
const MAX_SENT = 64 * 1024 * 1024;

type Part = (provider: ProviderName, index: number) => string;

const KB = "x".repeat(1024);
/** Repeated without end. */
const ENDLESS: Readonly<Record<string, Part>> = {
  "a line that does not end": (provider, index) => {
    const start = provider === "ollama" ? '{"x":"' : 'data: {"x":"';
    return (index === 0 ? start : "") + KB.repeat(64);
  },
  "an event that does not end": (provider) =>
    provider === "ollama" ? `{"x":"${KB}"}\n` : `data: "${KB.repeat(16)}"\n`,
  "events that say nothing": (provider) =>
    provider === "ollama" ? `{"x":"${KB}"}\n` : `: ${KB.repeat(16)}\n\n`,
};

interface Outcome {
  readonly error: unknown;
  readonly requests: number;
  readonly sent: number;
}

async function run(
  provider: ProviderName,
  part: Part,
  fetch: typeof globalThis.fetch,
): Promise<Outcome> {
  let requests = 0;
  let sent = 0;
  const sendOn = (response: ServerResponse, first: number) => {
    for (let index = first; !response.destroyed; index += 1) {
      if (sent > MAX_SENT) return void response.end();
      const text = part(provider, index);
      sent += text.length;
      if (!response.write(text)) {
        response.once("drain", () => sendOn(response, index + 1));
        return;
      }
    }
  };
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      requests += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      sendOn(response, 0);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  const clock = new FakeClock();
  await using conversation = await new MemoryConversationStore(clock).create({});
  const request = {
    maxRetries: 0,
    baseBackoffMs: 0,
    maxBackoffMs: 0,
    idleTimeoutMs: 0,
    promptTimeoutMs: 0,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  };
  const model = await modelAt(`http://127.0.0.1:${port}`, provider, { fetch });
  const options = { conversation, model, clock, assistant: { request } };
  const error = await runTurn(options, "Look.").then(
    () => undefined,
    (reason: unknown) => reason,
  );
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  return { error, requests, sent };
}

describe.each(
  PROVIDER_NAMES.flatMap((provider) => [
    { provider, through: "node:http", fetch: createHttpFetch() },
    { provider, through: "fetch", fetch },
  ]),
)("a reply of $provider through $through", ({ provider, fetch: used }) => {
  test.each(Object.entries(ENDLESS))("is ended as too long if it has %s", async (_what, part) => {
    const { error, requests, sent } = await run(provider, part, used);
    expect({
      kind: error instanceof ProviderError ? error.kind : error,
      requests,
      isCutEarly: sent < MAX_SENT,
    }).toEqual({ kind: "response_too_long", requests: 1, isCutEarly: true });
  });
});

test.each(PROVIDER_NAMES)("a reply of %s may not have calls without end", async (provider) => {
  const calls = Array.from({ length: 4000 }, (_, index) => ({
    id: `c${index}`,
    name: "a",
    input: "{}",
  }));
  const text = WIRE[provider]({ calls }).join("");
  const { error } = await run(provider, (_provider, index) => (index === 0 ? text : "\n"), fetch);
  expect(error).toMatchObject({ kind: "response_too_long" });
});
