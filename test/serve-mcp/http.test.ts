/** Which HTTP requests are accepted. */
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { freePort } from "../mcp/http-programs.ts";
import { serveHttp } from "../../src/surfaces/serve-mcp/index.ts";
import { Served, TOKEN } from "./support.ts";
import { counters } from "../security/threats.ts";

const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

/** The status of an accepted request: it has no body, which the protocol requires. */
const ACCEPTED = 406;

/** Allows any headers, unlike `fetch`. */
function statusOf(
  served: Served,
  headers: Readonly<Record<string, string>>,
  { path = "/mcp", method = "POST" } = {},
): Promise<number | undefined> {
  const { port } = new URL(served.service.url);
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  sent.on("error", reject);
  sent.end();
  return promise;
}

describe("a request", () => {
  test("is accepted only with the token", async () => {
    counters("T-RUN-3");
    const served = await Served.start();
    const tokens = [undefined, TOKEN, `Bearer ${TOKEN}x`, "Bearer ", `bearer ${TOKEN}`];
    const refused = tokens.map((token) =>
      statusOf(served, token === undefined ? {} : { authorization: token }),
    );
    expect([await Promise.all(refused), await statusOf(served, AUTHORIZED)]).toEqual([
      tokens.map(() => 401),
      ACCEPTED,
    ]);
  });

  test("is refused with another Host header, even with the token", async () => {
    counters("T-RUN-3");
    const served = await Served.start();
    const { port } = new URL(served.service.url);
    const wrong = ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port}.evil`];
    const right = [`127.0.0.1:${port}`, `localhost:${port}`];
    const status = (host: string) => statusOf(served, { ...AUTHORIZED, host });
    expect([await Promise.all(wrong.map(status)), await Promise.all(right.map(status))]).toEqual([
      wrong.map(() => 403),
      right.map(() => ACCEPTED),
    ]);
  });

  test("is refused from a web page, unless this server is its origin", async () => {
    const served = await Served.start();
    const { port } = new URL(served.service.url);
    const origins = ["https://evil.example", "null", `http://localhost:${port}`];
    const statuses = origins.map((origin) => statusOf(served, { ...AUTHORIZED, origin }));
    expect(await Promise.all(statuses)).toEqual([403, 403, ACCEPTED]);
  });

  test("gets 404 for any other path", async () => {
    const served = await Served.start();
    const paths = ["/", "/mcp/x", "/../etc/passwd", "//", "/mcp?x=1"];
    const statuses = paths.map((path) => statusOf(served, AUTHORIZED, { path }));
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404, ACCEPTED]);
  });

  test("gets 404 with an unknown session", async () => {
    const served = await Served.start();
    const headers = { ...AUTHORIZED, "mcp-session-id": "gone", accept: "text/event-stream" };
    expect(await statusOf(served, headers, { method: "GET" })).toBe(404);
  });

  test("gets a response after which the client may keep its connection, as long as a question may be open", async () => {
    const served = await Served.start();
    const clientInfo = { name: "x", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const accept = "application/json, text/event-stream";
    const response = await fetch(served.service.url, {
      method: "POST",
      headers: { ...AUTHORIZED, accept, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    await response.text();
    expect([response.status, response.headers.get("keep-alive")]).toEqual([200, "timeout=3600"]);
  });

  test("gets 413 if it is too large", async () => {
    const served = await Served.start();
    const headers = { ...AUTHORIZED, "content-type": "application/json" };
    const response = await fetch(served.service.url, {
      method: "POST",
      headers,
      body: `"${"x".repeat(5 << 20)}"`,
    });
    expect(response.status).toBe(413);
  });
});

test("the least recently used session is closed when there are too many", async () => {
  const served = await Served.start();
  const first = await served.connect();
  const second = await served.connect();
  await first.listTools();
  for (let count = 0; count < 63; count += 1) await served.connect();
  await expect(second.listTools()).rejects.toThrow("Session not found");
  expect((await first.listTools()).tools).toHaveLength(2);
});

test("a port that is in use is an error", async () => {
  const port = await freePort();
  const setup = {
    onProblem: () => undefined,
    clock: { now: () => new Date(), sleep: async () => {} },
  };
  const first = await serveHttp(setup as never, { port, token: TOKEN });
  await expect(serveHttp(setup as never, { port, token: TOKEN })).rejects.toMatchObject({
    code: "port_in_use",
    message: `Port ${port} of 127.0.0.1 is in use.`,
  });
  await first.close();
});
