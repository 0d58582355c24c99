import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { messageOf } from "../../util/index.ts";
import type { Lookup } from "../web/index.ts";
import { servePages as serve } from "../web/serve-pages.fixture.ts";
import { readPage } from "./read-page.ts";

const { signal } = new AbortController();

describe("a page", () => {
  test("is read as text, HTML as Markdown, and an image as a file", async () => {
    await using server = await serve((path, response) => {
      const type = path === "/page" ? "text/html; charset=utf-8" : "text/plain";
      const png = Buffer.from("89504e470d0a1a0a00", "hex");
      response.writeHead(200, { "content-type": type });
      response.end(path === "/logo.png" ? png : "<h1>Hi &amp; bye</h1><script>x()</script>");
    });
    const pages = ["/page", "/text", "/logo.png"].map((path) =>
      readPage(server.url + path, signal),
    );
    expect(await Promise.all(pages)).toEqual([
      "# Hi & bye",
      "<h1>Hi &amp; bye</h1><script>x()</script>",
      { mediaType: "image/png", data: "iVBORw0KGgoA", filename: "logo.png" },
    ]);
  });

  test("is read in the encoding that its server names", async () => {
    await using server = await serve((_path, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=Shift_JIS" });
      response.end(Buffer.from("<h1>\x93\xfa\x96\x7b</h1>", "latin1"));
    });
    expect(await readPage(server.url, signal)).toBe("# 日本");
  });

  test("may be compressed, and is limited in what it becomes", async () => {
    counters("T-ATT-2");
    await using server = await serve((path, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end(gzipSync(path === "/small" ? "small" : "x".repeat(6_000_000)));
    });
    expect(await readPage(`${server.url}/small`, signal)).toBe("small");
    await expect(readPage(`${server.url}/bomb`, signal)).rejects.toThrow(/larger than 5\.0 MB/);
  });

  test("may redirect on its own host", async () => {
    await using server = await serve((path, response) => {
      if (path === "/new") return response.end("here");
      return response.writeHead(302, { location: "/new" }).end();
    });
    expect(await readPage(`${server.url}/old`, signal)).toBe("here");
  });

  test.each([
    ["answers with an error", "/gone", /status 404/],
    [
      "redirects to another service of the same host",
      "/elsewhere",
      /private address, 127\.0\.0\.1/,
    ],
    ["redirects to another name for one", "/named", /private address, localhost/],
    [
      "redirects to the address of a cloud's secrets",
      "/cloud",
      /private address, 169\.254\.169\.254/,
    ],
    ["redirects to a file", "/file", /not a page/],
    ["redirects in a circle", "/circle", /redirects more than 5 times/],
  ])("is refused if it misbehaves: it %s", async (_does, path, problem) => {
    counters("T-ATT-4");
    await using server = await serve((asked, response) => {
      const targets: Readonly<Record<string, string>> = {
        "/elsewhere": `http://127.0.0.1:${server.port + 1}/`,
        "/named": `http://localhost:${server.port + 1}/`,
        "/cloud": "http://169.254.169.254/latest/meta-data",
        "/file": "file:///etc/passwd",
        "/circle": "/circle",
      };
      const location = targets[asked];
      if (location === undefined) response.writeHead(404).end();
      else response.writeHead(301, { location }).end();
    });
    await expect(readPage(server.url + path, signal)).rejects.toThrow(problem);
  });

  test.each([
    ["that now means another address", "127.0.0.2", /private address, flip\.example/],
    ["that means the same address", "127.0.0.1", undefined],
  ])("is followed on its own host only to the address it came from: a name %s", async (...args) => {
    counters("T-ATT-4");
    const [, later, problem] = args;
    await using server = await serve((path, response) => {
      if (path === "/there") response.end("there");
      else response.writeHead(307, { location: "/there" }).end();
    });
    const addresses = ["127.0.0.1", later];
    const lookup: Lookup = (_name, done) =>
      done(null, [{ address: addresses.shift() ?? later, family: 4 }]);
    const page = readPage(`http://flip.example:${server.port}/`, signal, lookup);
    const outcome = await page.catch((error: unknown) => messageOf(error));
    expect(outcome).toMatch(problem ?? /^there$/);
  });

  test("is not read over a connection that another page has left open", async () => {
    counters("T-ATT-4");
    const address = "127.0.0.1";
    const lookup: Lookup = (_name, done) => done(null, [{ address, family: 4 }]);
    await using named = await serve((_path, response) => response.end("private"));
    const target = `http://named.example:${named.port}/`;
    await using other = await serve((_path, response) =>
      response.writeHead(307, { location: target }).end(),
    );
    const first = await readPage(target, signal, lookup);
    const second = readPage(`${other.url}/`, signal, lookup);
    expect(first).toBe("private");
    await expect(second).rejects.toThrow("private address, named.example");
  });

  test("is named with the reason if it cannot be reached", async () => {
    await using server = await serve(() => undefined);
    await server[Symbol.asyncDispose]();
    await expect(readPage(`${server.url}/x`, signal)).rejects.toThrow(
      /Cannot attach http:\/\/127\.0\.0\.1:\d+\/x: .*ECONNREFUSED/,
    );
  });

  test("is given up with the signal's reason", async () => {
    await using server = await serve(() => stop.abort(new Error("enough")));
    const stop = new AbortController();
    await expect(readPage(server.url, stop.signal)).rejects.toThrow("enough");
  });
});
