/** Servers that answer the first request with nonsense, and the next one as they should. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { eventsOf } from "../../src/record/conversation/index.ts";
import { runTurn, type TurnUpdate } from "../../src/index.ts";
import {
  createHttpFetch,
  PROVIDER_NAMES,
  ProviderError,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import { modelAt } from "./support.ts";
import { sse, WIRE } from "./wire.ts";

const IDLE_MS = 1000;
const REQUEST = {
  maxRetries: 1,
  baseBackoffMs: 0,
  maxBackoffMs: 0,
  idleTimeoutMs: IDLE_MS,
  promptTimeoutMs: 10 * IDLE_MS,
  maxResponseBytes: 0,
};

/** How a server answers over its connection. */
type Bad = (provider: ProviderName, socket: Socket) => void;

function head(...fields: readonly string[]): string {
  return ["HTTP/1.1 200 OK", "content-type: text/event-stream", ...fields, "", ""].join("\r\n");
}

const CLOSED = head("connection: close");

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** The first half of the reply. */
function half(provider: ProviderName): string {
  const chunks = WIRE[provider]({ text: "Half of it" });
  const end = chunks.findIndex((each) => /alf of|Half/.test(each));
  return chunks.slice(0, end + 1).join("");
}

function line(provider: ProviderName, text: string): string {
  return provider === "ollama" ? `${text}\n` : `data: ${text}\n\n`;
}

const BAD: Readonly<Record<string, Bad>> = {
  "resets the connection after the headers": (_provider, socket) => {
    socket.write(head("transfer-encoding: chunked"), () => socket.resetAndDestroy());
  },
  "resets the connection in the middle of the reply": (provider, socket) => {
    socket.write(head("transfer-encoding: chunked") + chunk(half(provider)), () =>
      socket.resetAndDestroy(),
    );
  },
  "ends in the middle of a frame": (provider, socket) => {
    socket.end(CLOSED + half(provider).slice(0, -9));
  },
  "sends what is not JSON": (provider, socket) => {
    socket.end(CLOSED + half(provider) + line(provider, '{"nope'));
  },
  "sends JSON that is not an event": (provider, socket) => {
    socket.end(CLOSED + half(provider) + line(provider, '[1,{"a":null}]'));
  },
  "sends less than it says": (provider, socket) => {
    socket.end(head("content-length: 100000", "connection: close") + half(provider));
  },
  "sends more than it says": (provider, socket) => {
    socket.end(head("content-length: 20", "connection: close") + half(provider));
  },
  "sends a page": (_provider, socket) => {
    const page = "<!doctype html><html><body>Sign in to the network</body></html>";
    socket.end(CLOSED.replace("text/event-stream", "text/html") + page);
  },
  "breaks the encoding in chunks": (provider, socket) => {
    socket.end(`${head("transfer-encoding: chunked")}${chunk(half(provider))}zz\r\nnope\r\n`);
  },
  "sends garbage as gzip": (provider, socket) => {
    socket.end(head("content-encoding: gzip", "connection: close") + half(provider));
  },
  "sends NUL bytes": (provider, socket) => {
    socket.end(CLOSED + half(provider) + "\0".repeat(5000));
  },
  "sends nothing more": (provider, socket) => {
    socket.write(head("transfer-encoding: chunked") + chunk(half(provider)));
  },
  "sends nothing after the headers": (_provider, socket) => {
    socket.write(head("transfer-encoding: chunked"));
  },
  "only says that it is there": (provider, socket) => {
    socket.write(head("transfer-encoding: chunked"));
    const say = () => socket.write(chunk(provider === "ollama" ? "\n" : ": here\n\n"));
    const saying = setInterval(say, 1);
    socket.on("close", () => clearInterval(saying));
  },
  "sends an empty body": (_provider, socket) => {
    socket.end(head("content-length: 0", "connection: close"));
  },
  "sends an error in the middle": (provider, socket) => {
    const error = { type: "error", error: { type: "api_error", message: "It broke." } };
    const body = provider === "ollama" ? `${JSON.stringify(error)}\n` : sse(error);
    socket.end(CLOSED + half(provider) + body);
  },
  "sends invalid UTF-8": (provider, socket) => {
    socket.write(CLOSED + half(provider));
    socket.end(Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a, 0x0a]));
  },
  "is no HTTP server": (_provider, socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"),
};

/** Only time ends a request to these. */
const SILENT = new Set([
  BAD["sends nothing more"],
  BAD["sends nothing after the headers"],
  BAD["only says that it is there"],
]);

interface Outcome {
  readonly error: unknown;
  readonly record: readonly string[];
  readonly requests: number;
  readonly retries: readonly string[];
}

async function run(
  provider: ProviderName,
  bad: Bad,
  fetch: typeof globalThis.fetch,
): Promise<Outcome> {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      requests += 1;
      if (requests === 1) return bad(provider, request.socket);
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.end(WIRE[provider]({ text: "Done." }).join(""));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  const clock = new FakeClock();
  const retries: string[] = [];
  const observe = (update: TurnUpdate) => {
    if (update.type !== "retry_start") return;
    retries.push(update.error.kind);
    queueMicrotask(() => clock.advance(update.delayMs));
  };
  await using conversation = await new MemoryConversationStore(clock).create({});
  const model = await modelAt(`http://127.0.0.1:${port}`, provider, { fetch });
  const options = {
    conversation,
    model,
    clock,
    assistant: { request: REQUEST },
    observer: { observe },
  };
  const passing = setInterval(() => {
    const isSilent = SILENT.has(bad) && requests === 1 && retries.length === 0;
    if (isSilent) clock.advance(IDLE_MS / 2);
  }, 5);
  const error = await runTurn(options, "Look.").then(
    () => undefined,
    (reason: unknown) => reason,
  );
  clearInterval(passing);
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  const record = [...eventsOf(conversation.stream.entries)].flatMap((event) =>
    event.type === "chat_response" && event.content.type === "message" ? [event.content.text] : [],
  );
  return { error, record, requests, retries };
}

/** The others pass. */
function findFailure(provider: ProviderName, what: string): string | undefined {
  const isLocal = provider === "ollama" || provider === "llamacpp";
  if (what === "sends JSON that is not an event" && provider !== "ollama") return "other";
  // It may take long to read a prompt, and would take as long again.
  if (what === "sends nothing after the headers" && isLocal) return "stalled";
  return what === "only says that it is there" ? "stalled" : undefined;
}

describe.each(
  PROVIDER_NAMES.flatMap((provider) => [
    { provider, through: "node:http", fetch: createHttpFetch() },
    { provider, through: "fetch", fetch },
  ]),
)("a server of $provider through $through", ({ provider, fetch: used }) => {
  test.each(Object.entries(BAD))(
    "is asked again as announced, or is reported, if it %s",
    async (what, bad) => {
      const { error, record, requests, retries } = await run(provider, bad, used);
      const kind = error instanceof ProviderError ? error.kind : error;
      const failure = findFailure(provider, what);
      expect({
        kind,
        isDone: record.at(-1) === "Done.",
        requests,
        retries: retries.length,
      }).toEqual(
        failure === undefined
          ? { kind: undefined, isDone: true, requests: 2, retries: 1 }
          : { kind: failure, isDone: false, requests: 1, retries: 0 },
      );
    },
  );

  test("may end its reply twice", async () => {
    const twice: Bad = (_provider, socket) => {
      const reply = WIRE[provider]({ text: "Once." });
      socket.end(CLOSED + [...reply, ...reply.slice(-2)].join(""));
    };
    const { error, record, requests } = await run(provider, twice, used);
    expect([error, record.join("").slice(0, 5), requests]).toEqual([undefined, "Once.", 1]);
  });
});
