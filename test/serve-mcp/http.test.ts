/** Who is let in over HTTP, and who is not. */
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { freePort } from "../mcp/http-programs.ts";
import { serveHttp } from "../../src/serve-mcp/index.ts";
import { Served, TOKEN } from "./support.ts";
import { counters } from "../security/threats.ts";

const RIGHT = { authorization: `Bearer ${TOKEN}` };

/** What a request without a body gets from those who speak the protocol. */
const LET_IN = 406;

/** With any headers, which `fetch` would not allow. */
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
  test("is let in with the token only", async () => {
    counters("T-RUN-3");
    const served = await Served.start();
    const tokens = [undefined, TOKEN, `Bearer ${TOKEN}x`, "Bearer ", `bearer ${TOKEN}`];
    const refused = tokens.map((token) =>
      statusOf(served, token === undefined ? {} : { authorization: token }),
    );
    expect([await Promise.all(refused), await statusOf(served, RIGHT)]).toEqual([
      tokens.map(() => 401),
      LET_IN,
    ]);
  });

  test("for another host is refused, whatever its token", async () => {
    counters("T-RUN-3");
    const served = await Served.start();
    const { port } = new URL(served.service.url);
    const wrong = ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port}.evil`];
    const right = [`127.0.0.1:${port}`, `localhost:${port}`];
    const status = (host: string) => statusOf(served, { ...RIGHT, host });
    expect([await Promise.all(wrong.map(status)), await Promise.all(right.map(status))]).toEqual([
      wrong.map(() => 403),
      right.map(() => LET_IN),
    ]);
  });

  test("of a page is refused, unless the page is of this server", async () => {
    const served = await Served.start();
    const { port } = new URL(served.service.url);
    const origins = ["https://evil.example", "null", `http://localhost:${port}`];
    const statuses = origins.map((origin) => statusOf(served, { ...RIGHT, origin }));
    expect(await Promise.all(statuses)).toEqual([403, 403, LET_IN]);
  });

  test("for anything but the one address finds nothing", async () => {
    const served = await Served.start();
    const paths = ["/", "/mcp/x", "/../etc/passwd", "//", "/mcp?x=1"];
    const statuses = paths.map((path) => statusOf(served, RIGHT, { path }));
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404, LET_IN]);
  });

  test("of a session that is not there finds none", async () => {
    const served = await Served.start();
    const headers = { ...RIGHT, "mcp-session-id": "gone", accept: "text/event-stream" };
    expect(await statusOf(served, headers, { method: "GET" })).toBe(404);
  });

  test("that is too large is refused", async () => {
    const served = await Served.start();
    const headers = { ...RIGHT, "content-type": "application/json" };
    const response = await fetch(served.service.url, {
      method: "POST",
      headers,
      body: `"${"x".repeat(5 << 20)}"`,
    });
    expect(response.status).toBe(413);
  });
});

test("of many sessions the one that was not used for the longest time is given up", async () => {
  const served = await Served.start();
  const first = await served.connect();
  const second = await served.connect();
  await first.listTools();
  for (let count = 0; count < 63; count += 1) await served.connect();
  await expect(second.listTools()).rejects.toThrow("Session not found");
  expect((await first.listTools()).tools).toHaveLength(2);
});

test("a port that is taken is told as such", async () => {
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
