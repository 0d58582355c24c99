import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { messageOf } from "../util/index.ts";
import { htmlToText } from "./html-text.ts";
import { isPrivateHost, type Lookup, readPage } from "./read-page.ts";

const { signal } = new AbortController();

/** A server on loopback. */
async function serve(answer: (path: string, response: ServerResponse) => void) {
  const server = createServer((request, response) => answer(request.url ?? "", response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

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

test.each([
  ["localhost", true],
  ["a.localhost", true],
  ["127.0.0.1", true],
  ["10.1.2.3", true],
  ["172.20.0.1", true],
  ["172.32.0.1", false],
  ["192.168.1.1", true],
  ["169.254.169.254", true],
  ["100.64.0.1", true],
  ["0.0.0.0", true],
  ["198.18.0.1", true],
  ["198.19.255.255", true],
  ["198.20.0.1", false],
  ["224.0.0.251", true],
  ["255.255.255.255", true],
  ["[64:ff9b::7f00:1]", true],
  ["[2002:7f00:1::]", true],
  ["[::7f00:1]", true],
  ["ff02::1", true],
  ["[::1]", true],
  ["::ffff:10.0.0.1", true],
  ["[::ffff:a00:1]", true],
  ["fd00::1", true],
  ["fe80::1", true],
  ["2606:4700::1111", false],
  ["1.1.1.1", false],
  ["example.com", false],
])("%s is private: %s", (host, isPrivate) => {
  expect(isPrivateHost(host)).toBe(isPrivate);
});

describe("HTML as text", () => {
  test("has headings, lists, links, code and tables as Markdown", () => {
    const html = `<!doctype html><html><head><title>My &quot;page&quot;</title><style>p{}</style></head><body>
      <nav><a href="#top">Top</a></nav><h2>One</h2><p>Some   <b>bold</b>
      text, <a class="x" href="https://a.b/?c&amp;d">a link</a>.</p>
      <ul><li>first<li>second</ul><pre><code>if (a &lt; b)\n  x();</code></pre>
      <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td><code>2</code></td></tr></table><!-- no -->end`;
    expect(htmlToText(html)).toBe(
      [
        '# My "page"',
        "Top",
        "## One",
        "Some bold text, a link (https://a.b/?c&d).",
        "- first\n- second",
        "```\nif (a < b)\n  x();\n```",
        "| k | v |\n| --- | --- |\n| 1 | `2` |",
        "end",
      ].join("\n\n"),
    );
  });

  test.each([
    [
      "parts and white space between its cells",
      `<table>
         <thead> <tr> <th>Name</th> <th>Size</th> </tr> </thead>
         <tbody> <tr> <td>a</td> <td>1</td> </tr> <tr> <th>b</th> <td>2</td> </tr> </tbody>
       </table>`,
      "| Name | Size |\n| --- | --- |\n| a | 1 |\n| b | 2 |",
    ],
    [
      "tags left out",
      "<table><tr><th>k<th>v<tr><td>1<td>2</table>",
      "| k | v |\n| --- | --- |\n| 1 | 2 |",
    ],
    ["no titles", "<table><tr><td>1</td><td>2</td></tr></table>", "1 | 2 |"],
  ])("writes the rows of a table with %s", (_what, html, expected) => {
    expect(htmlToText(html)).toBe(expected);
  });

  test.each([
    "a < b",
    "<p",
    '<a href="x',
    "<!-- open",
    "<script>x",
    "&#0; &#xfffffff; &nope;",
    "<",
  ])("is text even if the markup is broken: %j", (html) => {
    expect(htmlToText(html).length).toBeLessThanOrEqual(html.length);
  });

  test.each([
    ["tags", "<b>"],
    ["open brackets", "<"],
    ["attributes", '<a href="'],
    ["comments", "<!--"],
    ["spaces", "<pre>  "],
    ["entities", "&#x"],
  ])("takes no longer for each of many %s", (_what, piece) => {
    // With quadratic time this would take minutes.
    expect(htmlToText(piece.repeat(1_000_000 / piece.length))).toBeTypeOf("string");
  });
});
