import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { withinOrigin } from "../../util/index.ts";
import { createHttpFetch, withActivity } from "./http-fetch.ts";
import { HttpHeaders } from "./http-headers.ts";

const httpFetch = createHttpFetch();

async function serve(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return { url: `http://127.0.0.1:${port}/path?a=b`, server };
}

test("sends the method, the headers and the body, and reads status, headers and text", async () => {
  const { url } = await serve((request, response) => {
    const { method, url: path, headers } = request;
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      response.writeHead(418, "Teapot", { "x-reply": ["one", "two"] });
      response.end(JSON.stringify({ method, path, body, key: headers["x-key"] }));
    });
  });
  const sent = { method: "POST", headers: { "X-Key": "s" }, body: "Grüße" };
  const response = await httpFetch(url, sent);
  expect({
    ok: response.ok,
    status: response.status,
    statusText: response.statusText,
    header: response.headers.get("X-Reply"),
    body: await response.json(),
  }).toEqual({
    ok: false,
    status: 418,
    statusText: "Teapot",
    header: "one, two",
    body: { method: "POST", path: "/path?a=b", body: "Grüße", key: "s" },
  });
});

test("reports when a request has left, before there is a response", async () => {
  const { promise: isSent, resolve: onSent } = Promise.withResolvers<void>();
  const { url } = await serve((request, response) => {
    request.resume();
    void isSent.then(() => response.end("done"));
  });
  const response = await createHttpFetch({ onSent })(url, { method: "POST", body: "{}" });
  expect(await response.text()).toBe("done");
});

test("does not report a question to the server about itself as a request that has left", async () => {
  const { url } = await serve((_request, response) => response.end("done"));
  let sent = 0;
  const response = await createHttpFetch({ onSent: () => (sent += 1) })(url);
  expect([await response.text(), sent]).toEqual(["done", 0]);
});

test.each([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
])("reads a reply compressed with %s", async (encoding, compress) => {
  const { url } = await serve((_request, response) => {
    response.writeHead(200, { "content-encoding": encoding }).end(compress("so short"));
  });
  expect(await (await httpFetch(url)).text()).toBe("so short");
});

test.each([
  ["this one", httpFetch],
  ["Node's own", withinOrigin(fetch)],
])("sends nothing to another host that it is redirected to: %s", async (_name, sending) => {
  counters("T-SEC-12");
  const seen: unknown[] = [];
  const { url: stranger } = await serve((request, response) => {
    seen.push(request.headers);
    response.end("thanks");
  });
  const { url } = await serve((_request, response) => {
    response.writeHead(307, { location: stranger }).end();
  });
  const sent = { method: "POST", headers: { "x-api-key": "s" }, body: "{}" };
  const response = await sending(url, sent);
  expect([response.status, response.ok, seen]).toEqual([307, false, []]);
});

test("gives up on redirects in a circle", async () => {
  const { url } = await serve((_request, response) => {
    response.writeHead(308, { location: "/again" }).end();
  });
  expect((await httpFetch(url)).status).toBe(308);
});

test.each([301, 302, 303])(
  "does not turn a request into another one where it is redirected: %i",
  async (status) => {
    const { url } = await serve((request, response) => {
      if (request.url === "/there") response.end("found");
      else response.writeHead(status, { location: "/there" }).end();
    });
    expect((await httpFetch(url, { method: "POST", body: "{}" })).status).toBe(status);
  },
);

test("follows a redirect on the same host", async () => {
  const { url } = await serve((request, response) => {
    if (request.url === "/there") response.end("found");
    else response.writeHead(307, { location: "/there" }).end();
  });
  expect(await (await httpFetch(url, { method: "POST", body: "{}" })).text()).toBe("found");
});

test("passes on pieces that arrive together as one", async () => {
  const { url } = await serve(({ socket }) => {
    const pieces = ["so", " many", " words"].map(
      (text) => `${text.length.toString(16)}\r\n${text}`,
    );
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.end(`${head}${[...pieces, "0"].join("\r\n")}\r\n\r\n`);
  });
  const { body } = await httpFetch(url);
  const seen: string[] = [];
  for await (const piece of body ?? []) seen.push(new TextDecoder().decode(piece));
  expect(seen).toEqual(["so many words"]);
});

test("reads no further ahead than it is read", async () => {
  let written = 0;
  const { url } = await serve((_request, response) => {
    const piece = Buffer.alloc(1 << 16);
    const write = () => {
      while (written < 1e8 && response.write(piece)) written += piece.length;
      if (written < 1e8) response.once("drain", write);
      else response.end();
    };
    write();
  });
  const { body } = await httpFetch(url);
  const reader = body?.getReader();
  await reader?.read();
  const ahead = written;
  await reader?.cancel();
  expect(ahead).toBeLessThan(5e7);
});

test("rejects with the reason of its signal, before and during the reply", async () => {
  const { url } = await serve((_request, response) => void response.write("half"));
  const reason = new Error("no longer wanted");
  await expect(httpFetch(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const controller = new AbortController();
  const response = await httpFetch(url, { signal: controller.signal });
  const text = response.text();
  controller.abort(reason);
  await expect(text).rejects.toBe(reason);
});

test("fails like fetch if there is no server, or the connection is lost", async () => {
  const { url, server } = await serve((_request, response) => void response.write("half"));
  const response = await httpFetch(url);
  const text = response.text();
  server.closeAllConnections();
  await expect(text).rejects.toMatchObject({ message: "terminated" });
  server.close();
  await once(server, "close");
  await expect(httpFetch(url)).rejects.toMatchObject({
    message: "fetch failed",
    cause: { code: "ECONNREFUSED" },
  });
});

test("headers are found in any case, and combined", () => {
  const headers = new HttpHeaders([
    ["Accept", "a"],
    ["accept", "b"],
  ]);
  headers.set("X-One", " 1 ");
  headers.delete("x-none");
  expect([[...headers], headers.get("ACCEPT"), headers.get("none"), headers.has("x-one")]).toEqual([
    [
      ["accept", "a, b"],
      ["x-one", "1"],
    ],
    "a, b",
    null,
    true,
  ]);
});

test("sends a request again if the server has closed the connection that was kept", async () => {
  const used = new WeakSet<Socket>();
  const { url } = await serve(({ socket }, response) => {
    if (used.has(socket)) return socket.destroy();
    used.add(socket);
    return response.end("done");
  });
  const texts = [];
  for (const body of ["1", "2", "3"]) {
    const response = await httpFetch(url, { method: "POST", body });
    texts.push(await response.text());
  }
  expect(texts).toEqual(["done", "done", "done"]);
});

test("does not send a request again if a new connection fails", async () => {
  let requests = 0;
  const { url } = await serve(({ socket }) => {
    requests += 1;
    socket.destroy();
  });
  await expect(httpFetch(url, { method: "POST", body: "1" })).rejects.toThrow("fetch failed");
  expect(requests).toBe(1);
});

function delta(content: string): string {
  return `data: ${JSON.stringify({ delta: { content } })}\n\n`;
}

test("merges deltas of a reply that arrive together, and counts the bytes that arrived", async () => {
  const sent = delta("a") + delta("b") + delta("c");
  const arrived: number[] = [];
  const reply = (type: string) => async () =>
    new Response(sent, { headers: { "content-type": type } });
  const read = async (type: string) =>
    await (await withActivity(reply(type), (bytes) => arrived.push(bytes))("http://a")).text();
  expect(await read("text/event-stream; charset=utf-8")).toBe(delta("abc"));
  expect(arrived).toEqual([0, sent.length, 0]);
  expect(await read("text/plain")).toBe(sent);
});
