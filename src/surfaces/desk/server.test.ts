/** Attacks on the server, and what it sends to protect the page. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { freePort } from "../../../test/mcp/http-programs.ts";
import { counters } from "../../../test/security/threats.ts";
import { RIGHTS } from "../../settings/people/index.ts";
import { bearer, FILE, PENDING, QUESTION_PATH, READ, ServedDesk, TLS } from "./served.fixture.ts";
import { loadModule } from "../../util/index.ts";

/** Sends bytes as they are, and returns the response once the server closes the connection. */
async function sendRaw({ port }: ServedDesk, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (received += chunk));
  socket.on("error", () => undefined);
  socket.write(text);
  // Not `once`, which throws if the server resets the connection.
  await new Promise((resolve) => socket.once("close", resolve));
  return received;
}

describe("a request", () => {
  test("is refused with another Host header, even with a token: DNS rebinding", async () => {
    counters("T-DESK-1");
    const served = await ServedDesk.start();
    const token = bearer(await served.addPerson("ada"));
    const { port } = served;
    const status = async (host: string) =>
      (await served.send("/me", { headers: { ...token, host } })).status;
    const wrong = ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port}.evil`];
    const right = [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`];
    expect(await Promise.all(wrong.map(status))).toEqual(wrong.map(() => 403));
    expect(await Promise.all(right.map(status))).toEqual(right.map(() => 200));
    expect((await served.send("/", { headers: { host: "evil.example" } }, "")).status).toBe(403);
  });

  test("is refused from a page of another site before its token is looked at", async () => {
    counters("T-DESK-1");
    const served = await ServedDesk.start();
    const token = bearer(await served.addPerson("ada"));
    const { port } = served;
    const status = async (headers: Record<string, string>) =>
      (await served.send("/me", { headers: { ...token, ...headers } })).status;
    const wrong = [
      "https://evil.example",
      "null",
      "http://localhost:1",
      `https://localhost:${port}`,
    ];
    expect(await Promise.all(wrong.map((origin) => status({ origin })))).toEqual(
      wrong.map(() => 403),
    );
    const sites = ["cross-site", "same-site", "same-origin", "none"];
    expect(await Promise.all(sites.map((site) => status({ "sec-fetch-site": site })))).toEqual([
      403, 403, 200, 200,
    ]);
    expect(await status({ origin: `http://localhost:${port}` })).toBe(200);
    const refused = { origin: "https://evil.example", ...bearer("x") };
    expect((await served.send("/me", { headers: refused })).status).toBe(403);
    expect(served.audit).toEqual([]);
  });

  test.each<[string, string, number, unknown?]>([
    ["GET", "/people", 200],
    ["POST", "/people", 201, { name: "eve" }],
    ["DELETE", "/people/bob", 200],
  ])("is refused from elsewhere whatever it does: %s %s", async (method, path, allowed, body) => {
    counters("T-DESK-1");
    const served = await ServedDesk.start();
    const token = bearer(await served.addPerson("ada", RIGHTS));
    await served.addPerson("bob");
    const send = async (more: Record<string, string>) =>
      (await served.send(path, { method, body, headers: { ...token, ...more } })).status;
    const foreign = [
      { host: "evil.example" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    expect(await Promise.all(foreign.map(send))).toEqual(foreign.map(() => 403));
    expect((await served.people.list()).map(({ name }) => name)).toEqual(["ada", "bob"]);
    expect(await send({ origin: served.service.url, "sec-fetch-site": "same-origin" })).toBe(
      allowed,
    );
  });

  test("gets no permission for other origins", async () => {
    counters("T-DESK-1");
    const served = await ServedDesk.start();
    const origin = `http://127.0.0.1:${served.port}`;
    const { status, headers } = await served.send("/me", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect([status, headers.allow]).toEqual([405, "GET"]);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test.each([
    "/../../../etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%2e%2e/package.json",
    "/app.js/../../package.json",
    "/app.js%00",
    "//app.js",
    "/./app.js",
    "/package.json",
    "/index.html/",
    "/api/v1/../../app.js",
    "/api/v1",
    "/api/v1/",
    "/api/v1//me",
    "/api/v1/me/",
    "/API/v1/me",
    "/constructor",
    "/__proto__",
  ])("finds no file but those of the page: %s", async (path) => {
    counters("T-DESK-4");
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    expect((await served.send(path, { headers }, "")).status).toBe(404);
  });

  test.each(["/%", "/%c3%28", "http://evil.example/", "*"])(
    "is not valid with a malformed path: %s",
    async (path) => {
      const served = await ServedDesk.start();
      expect((await served.send(path, {}, "")).status).toBe(400);
    },
  );

  test.each([
    ["a%2Fb", "a/b"],
    ["a%252Fb", "a%2Fb"],
    ["%25", "%"],
    ["a%3Fb", "a?b"],
    ["a%23b+c", "a#b+c"],
    ["a%5Cb", "a\\b"],
    ["..", ".."],
    ["%2e%2e", ".."],
    ["%F0%9F%A6%8A", "🦊"],
    ["a%00%0D%0A", "a\0\r\n"],
    ["__proto__", "__proto__"],
    [":inquiry", ":inquiry"],
    ["*", "*"],
  ])("finds the question with the id in its path: %s is %j", async (sent, id) => {
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    served.desk.findInquiry = async (ref) => ({ ...PENDING, id: ref.id });
    const path = `/conversations/${PENDING.conversation}/inquiries/${sent}`;
    expect((await served.send(path, { headers })).json).toEqual({ ...PENDING, id });
  });

  test("only reads with GET and HEAD, whatever its headers say", async () => {
    counters("T-DESK-2");
    const served = await ServedDesk.start();
    const headers = {
      ...bearer(await served.addPerson("ada")),
      "x-http-method-override": "POST",
      "x-http-method": "POST",
    };
    const status = async (method: string, path: string, at?: string) =>
      (await served.send(path, { method, headers }, at)).status;
    const answer = `${QUESTION_PATH}/answer`;
    expect(await status("GET", `${answer}?answer=true&_method=POST`)).toBe(405);
    expect(await status("HEAD", answer)).toBe(405);
    expect(await status("HEAD", "/me")).toBe(405);
    expect(await status("TRACE", "/me")).toBe(405);
    expect(await status("PUT", answer)).toBe(405);
    expect(await status("DELETE", QUESTION_PATH)).toBe(405);
    expect(await status("HEAD", "/", "")).toBe(200);
    expect(await status("POST", "/", "")).toBe(405);
    expect(served.desk.calls).toEqual([]);
  });

  test("loses its connection if it is sent too slowly", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start({ limits: { headersMs: 30, requestMs: 60 } });
    const headers = await sendRaw(served, "GET / HTTP/1.1\r\nHost: ");
    const token = await served.addPerson("ada");
    const body = await sendRaw(
      served,
      `POST /api/v1${QUESTION_PATH}/answer HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n` +
        `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    // A 408, if the client gets it before the connection closes.
    expect([headers, body].filter((text) => !/^(?:HTTP\/1.1 408 |$)/.test(text))).toEqual([]);
    expect(served.problems).toEqual([]);
  });

  test("closes the connection if it is sent before the last one was answered: responses do not pile up", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start();
    const request = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n\r\n`;
    const received = await sendRaw(served, request.repeat(1000));
    expect(received.split("HTTP/1.1").length).toBeLessThanOrEqual(2);
  });

  test("loses its connection if that stands still", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start({ limits: { idleMs: 50 } });
    const token = await served.addPerson("ada");
    const received = await sendRaw(
      served,
      `GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(received).toMatch(/^HTTP\/1.1 200 /);
  });

  test("takes the place of a connection on which nothing came, beyond their number", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start({ limits: { connections: 1 } });
    const first = connect(served.port, "127.0.0.1").on("error", () => undefined);
    await once(first, "connect");
    const closed = once(first, "close");
    expect((await served.send("/openapi.json")).status).toBe(200);
    await closed;
  });
});

describe("a body", () => {
  const path = `${QUESTION_PATH}/answer`;

  test.each<[string, number, string]>([
    ["a field that is unknown", 400, '{"answer":true,"as":"bob"}'],
    ["a prototype", 400, '{"answer":true,"__proto__":{"rights":["administer"]}}'],
    ["a prototype inside", 400, '{"answer":{"__proto__":{"x":1}}}'],
    ["a prototype in disguise", 400, '{"answer":true,"__pr\\u006fto__":{}}'],
    ["a field of another type", 400, '{"answer":true,"note":5}'],
    ["no answer", 400, "{}"],
    ["an array", 400, "[]"],
    ["null", 400, "null"],
    ["invalid JSON", 400, '{"answer":'],
    ["too many levels", 400, `{"answer":${"[".repeat(20_000)}${"]".repeat(20_000)}}`],
    ["a long note", 413, JSON.stringify({ answer: true, note: "x".repeat(64 << 10) })],
    ["long content", 413, JSON.stringify({ answer: true, content: "x".repeat(2 << 20) })],
  ])("is refused if it is malformed or too large: %s with %i", async (_title, expected, body) => {
    counters("T-DESK-5");
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    const { status, json } = await served.send(path, { method: "POST", headers, body });
    expect([status, served.desk.calls, served.problems]).toEqual([expected, [], []]);
    expect(json).toMatchObject({ error: { message: expect.any(String) as unknown } });
  });

  test("is refused before it is sent if it says that it is far too large", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start();
    const token = await served.addPerson("ada");
    const received = await sendRaw(
      served,
      `POST /api/v1${path} HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nConnection: close\r\n` +
        `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{`,
    );
    expect(received).toMatch(/^HTTP\/1.1 413 /);
  });

  test("is read in chunks, up to the same size", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start();
    const headers = {
      ...bearer(await served.addPerson("ada")),
      "transfer-encoding": "chunked",
    };
    const status = async (body: unknown) =>
      (await served.send(path, { method: "POST", headers, body })).status;
    expect(await status({ answer: true, content: "x".repeat(2 << 20) })).toBe(413);
    expect(await status({ answer: true, content: "x", ...READ })).toBe(200);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])(
    "is refused if forms of other sites can send its type: %j",
    async (type) => {
      counters("T-DESK-2");
      const served = await ServedDesk.start();
      const headers = { ...bearer(await served.addPerson("ada")), "content-type": type };
      const body = { answer: true };
      const { status } = await served.send(path, { method: "POST", headers, body });
      expect([status, served.desk.answeredBy]).toEqual([415, undefined]);
    },
  );

  test("may have a megabyte of content for a delivery", async () => {
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    const content = "x".repeat(1 << 20);
    const body = { answer: true, content, ...READ };
    expect((await served.send(path, { method: "POST", headers, body })).status).toBe(200);
    expect(served.desk.calls).toEqual([{ answer: true, content }]);
  });
});

describe("a response", () => {
  test.each(["/", "/app.js", "/api/v1/me", "/api/v1/openapi.json", "/nothing"])(
    "lets no other site use it, and runs no script but the page's own: %s",
    async (path) => {
      counters("T-DESK-3");
      const served = await ServedDesk.start();
      const { headers } = await served.send(path, {}, "");
      expect(headers).toMatchObject({
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
          "img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": path.length > 1 && path !== "/app.js" ? "no-store" : "no-cache",
      });
      expect(headers["x-powered-by"]).toBeUndefined();
    },
  );

  test.each(["/", "/api/v1/me", "/api/v1/openapi.json", "/nothing"])(
    "names the build of the page, so that an open page of another one reloads: %s",
    async (path) => {
      const body = '<!doctype html><meta name="jp-build" content="0a1b2c3d" />';
      const page = new Map([["/", { type: "text/html", body }]]);
      const served = await ServedDesk.start({ page });
      const { headers } = await served.send(path, {}, "");
      expect(headers["jp-build"]).toBe("0a1b2c3d");
    },
  );

  test("has no headers from ids and names", async () => {
    counters("T-DESK-3");
    const served = await ServedDesk.start();
    const headers = bearer(await served.addPerson("ada"));
    const path = `/conversations/${PENDING.conversation}/inquiries/x%0d%0aset-cookie:%20a=b`;
    const { status, headers: received } = await served.send(path, { headers });
    expect([status, received["set-cookie"]]).toEqual([404, undefined]);
  });

  test.each([
    ["an error", new Error("ENOENT: /home/olga/secret")],
    ["something else that is thrown", "ENOENT: /home/olga/secret"],
  ])(
    "does not say more about an error of the desk, and the owner is told: %s",
    async (_title, thrown) => {
      const served = await ServedDesk.start();
      const headers = bearer(await served.addPerson("ada"));
      served.desk.listPending = () => Promise.reject(thrown);
      const { status, json } = await served.send("/inquiries?state=pending", { headers });
      expect([status, json]).toEqual([
        500,
        { error: { code: "internal", message: "Internal error." } },
      ]);
      expect(served.problems).toEqual(["ENOENT: /home/olga/secret"]);
    },
  );
});

test("a part of the desk that an upgrade has replaced is answered with 503, and named on the terminal", async () => {
  const served = await ServedDesk.start();
  const headers = bearer(await served.addPerson("ada"));
  const gone: string = "./gone.ts"; // No file has this name.
  served.desk.listPending = () => loadModule(() => import(gone));
  const { status, json } = await served.send("/inquiries?state=pending", { headers });
  expect([status, json, served.problems]).toEqual([
    503,
    {
      error: {
        code: "restart_needed",
        message: "The desk cannot load a part of itself. Whoever runs it has to start it again.",
      },
    },
    [expect.stringMatching(/^jp cannot load a part of itself: .*gone.*start the desk again\.$/)],
  ]);
});

describe("over HTTPS", () => {
  test("the page is served with a certificate", async () => {
    const served = await ServedDesk.start({ tls: TLS });
    const { origin, port } = new URL(served.service.url);
    expect([origin, served.service.apiUrl]).toEqual([`https://127.0.0.1:${port}`, origin]);
    const sent = httpsRequest(`${origin}/`, { ca: TLS.cert });
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  test("the address of a proxy is accepted, and that of no other", async () => {
    const port = await freePort();
    const url = "https://desk.example.org";
    const served = await ServedDesk.start({ origin: url, port });
    expect([served.service.url, served.service.apiUrl]).toEqual([url, url]);
    const headers = { host: "desk.example.org", origin: url };
    const challenge = (more: Record<string, string>) =>
      served.send("/challenge", { method: "POST", headers: { ...headers, ...more } });
    expect((await challenge({})).status).toBe(200);
    expect((await challenge({ host: `127.0.0.1:${port}` })).status).toBe(200);
    expect((await challenge({ origin: "https://example.org" })).status).toBe(403);
    expect((await served.login()).headers.authorization).not.toContain("undefined");
  });

  test("no name is accepted on all addresses unless it was given", async () => {
    const served = await ServedDesk.start({ host: "0.0.0.0", hosts: ["box.lan", "192.0.2.7"] });
    expect(served.service.url).toBe(`http://box.lan:${served.port}`);
    const hosts = ["box.lan", "192.0.2.7", "localhost", "0.0.0.0", "other.lan"];
    const sent = hosts.map((host) =>
      served.send("/", { headers: { host: `${host}:${served.port}` } }, ""),
    );
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([
      200, 200, 200, 403, 403,
    ]);
  });
});

describe("on this machine", () => {
  test("the page has a name of its own, the same after a restart, and programs have an address", async () => {
    const served = await ServedDesk.start();
    const { port } = served;
    expect(served.service.url).toMatch(new RegExp(`^http://jp-[0-9a-f]{8}\\.localhost:${port}$`));
    expect(served.service.apiUrl).toBe(`http://127.0.0.1:${port}`);
    await served.service.close();
    const [again, other] = [
      await ServedDesk.start({ port }),
      await ServedDesk.start({ scope: "x" }),
    ];
    expect(again.service.url).toBe(served.service.url);
    expect(other.service.url.slice(0, 18)).not.toBe(served.service.url.slice(0, 18));
  });

  test("the page is opened by its name, wherever it was looked for", async () => {
    const served = await ServedDesk.start();
    const open = (host: string) =>
      served.send("/", { headers: { host: `${host}:${served.port}` } }, "");
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const { status, headers } = await open(host);
      expect([status, headers.location]).toEqual([307, `${served.service.url}/`]);
    }
    expect((await open(new URL(served.service.url).hostname)).status).toBe(200);
    expect((await open("jp-00000000.localhost")).status).toBe(403);
  });

  test("no one else can listen where the name may lead", async () => {
    counters("T-DESK-8");
    const { port } = await ServedDesk.start();
    const taken = await Promise.all(
      ["127.0.0.1", "::1"].map(async (host) => {
        const server = createServer().listen(port, host);
        const [error] = (await once(server, "error")) as [NodeJS.ErrnoException];
        return error.code;
      }),
    );
    expect(taken[0]).toBe("EADDRINUSE");
    expect(["EADDRINUSE", "EADDRNOTAVAIL"]).toContain(taken[1]); // Some machines have no ::1.
  });
});

test("a port that is in use is an error", async () => {
  const { port } = await ServedDesk.start();
  await expect(ServedDesk.start({ port })).rejects.toMatchObject({ code: "port_in_use" });
});

test("closing ends open connections", async () => {
  const served = await ServedDesk.start();
  const socket = connect(served.port, "127.0.0.1");
  await once(socket, "connect");
  const closed = once(socket, "close");
  await served.service.close();
  expect(await closed).toEqual([false]);
});

test("a file of a model is only ever a download, with a name of its digest, for those who may see it", async () => {
  counters("T-FILE-8");
  const served = await ServedDesk.start();
  const headers = bearer(await served.addPerson("ada", ["see"]));
  const path = `/conversations/${PENDING.conversation}/files`;
  const { status, headers: sent, text } = await served.send(`${path}/${FILE.digest}`, { headers });
  expect([status, text, sent]).toMatchObject([
    200,
    FILE.bytes.toString(),
    {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${FILE.digest}.png"`,
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "no-store",
    },
  ]);
  const others = ["5", "..%2f..%2fetc", `${FILE.digest}.png`, "0".repeat(64)];
  const found = others.map(
    async (name) => (await served.send(`${path}/${name}`, { headers })).status,
  );
  expect(await Promise.all(found)).toEqual([404, 404, 404, 404]);
  const blind = bearer(await served.addPerson("eve", ["answer"]));
  expect((await served.send(`${path}/${FILE.digest}`, { headers: blind })).status).toBe(403);
});
