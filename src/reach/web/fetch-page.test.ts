import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { FakeClock } from "../../testing/index.ts";
import { fetchPage, type FetchPageOptions } from "./fetch-page.ts";
import type { Lookup } from "./load-page.ts";
import { servePages } from "./serve-pages.fixture.ts";

const { signal } = new AbortController();

function fetched(url: string, options: Partial<FetchPageOptions> = {}) {
  return fetchPage(url, { signal, privateHosts: [], ...options });
}

/** Every name means this address. */
function lookupOf(address: string): Lookup & { readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: Lookup = (name, done) => {
    asked.push(name);
    done(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
  };
  return Object.assign(lookup, { asked });
}

describe("a fetched page", () => {
  test("is text with its type and its address, and HTML becomes Markdown", async () => {
    await using server = await servePages((path, response) => {
      response.writeHead(200, { "content-type": path === "/a" ? "text/html" : "application/json" });
      response.end(path === "/a" ? '<h1>Hi</h1><a href="b">next</a>' : '{"a":1}');
    });
    const pages = ["/a#part", "/data.json"].map((path) =>
      fetched(server.url + path, { privateHosts: [server.host] }),
    );
    expect(await Promise.all(pages)).toEqual([
      {
        type: "text",
        url: `${server.url}/a`,
        mediaType: "text/html",
        text: `# Hi\n\nnext (${server.url}/b)`,
      },
      {
        type: "text",
        url: `${server.url}/data.json`,
        mediaType: "application/json",
        text: '{"a":1}',
      },
    ]);
  });

  test("is asked for without cookies, keys, or a word about the user", async () => {
    const headers: string[] = [];
    await using server = await servePages((_path, response, request) => {
      headers.push(...Object.keys(request.headers).toSorted());
      response.writeHead(200, { "set-cookie": "a=b" }).end("x");
    });
    await fetched(server.url, { privateHosts: [server.host] });
    await fetched(server.url, { privateHosts: [server.host] });
    const sent = ["accept", "connection", "host", "user-agent"];
    expect(headers).toEqual([...sent, ...sent]);
  });

  test("of another type is not read: only its type and size are known", async () => {
    await using server = await servePages((_path, response) => {
      response.writeHead(200, { "content-type": "image/png", "content-length": "123456" });
      response.write("x".repeat(10)); // And never the rest.
    });
    const page = await fetched(`${server.url}/logo.png`, { privateHosts: [server.host] });
    expect(page).toEqual({
      type: "other",
      url: `${server.url}/logo.png`,
      description: "image/png, 123 kB",
    });
  });

  test("of an unknown type is text if it reads as text", async () => {
    await using server = await servePages((path, response) => {
      if (path !== "/none") response.setHeader("content-type", "application/octet-stream");
      response.end(path === "/binary" ? Buffer.from([0, 1, 2]) : "text");
    });
    const pages = ["/none", "/stream", "/binary"].map((path) =>
      fetched(server.url + path, { privateHosts: [server.host] }),
    );
    const [none, stream, binary] = await Promise.all(pages);
    expect([none, stream]).toMatchObject([{ text: "text" }, { text: "text" }]);
    expect(binary).toMatchObject({ description: "application/octet-stream, 3 B" });
  });
});

describe("an address", () => {
  test.each([
    ["another scheme", "file:///etc/passwd", /starts with https/],
    ["no scheme", "example.com", /starts with https/],
    ["too few slashes", "https:example.com", /starts with https/],
    ["too many slashes", "https:///example.com", /starts with https/],
    ["not a host", "https://exa mple.com/", /starts with https/],
    ["a user name", "https://example.com@evil.example/", /user name/],
    ["a password", "https://:secret@example.com/", /user name/],
    ["a line break that URLs ignore", "https://exam\nple.com/", /control characters/],
    ["a space before it", " https://example.com/", /starts with https/],
    ["a backslash", String.raw`https://example.com\@evil.example/`, /backslashes/],
    ["an invisible letter", "https://example\u200b.com/", /control characters/],
    ["a host with a dot at its end", "https://example.com./", /ends with a dot/],
    ["more than a person reads", `https://example.com/${"x".repeat(2000)}`, /longer than 2000/],
  ])("is refused before anything is looked up: %s", async (_what, url, problem) => {
    counters("T-WEB-2");
    const lookup = lookupOf("1.1.1.1");
    await expect(fetched(url, { lookup })).rejects.toThrow(problem);
    await expect(fetched(url, { lookup })).rejects.toMatchObject({ code: "address_invalid" });
    expect(lookup.asked).toEqual([]);
  });

  test.each([
    "http://127.0.0.1/",
    "http://localhost/",
    "http://0/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://１２７.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
  ])("is private in any notation: %s", async (url) => {
    counters("T-WEB-1");
    const page = fetched(url);
    await expect(page).rejects.toMatchObject({ code: "address_private" });
  });
});

describe("a private address", () => {
  test("is not reached by a public name, and its server gets no connection", async () => {
    counters("T-WEB-1");
    let requests = 0;
    await using server = await servePages((_path, response) => {
      requests += 1;
      response.end("secret");
    });
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "::1"]) {
      const page = fetched(`http://public.example:${server.port}/`, {
        lookup: lookupOf(address),
      });
      await expect(page).rejects.toMatchObject({
        code: "address_private",
        reason: "it leads to a private address, public.example",
      });
    }
    expect(requests).toBe(0);
  });

  test.each([
    ["its host and port", (port: number) => `127.0.0.1:${port}`, true],
    ["its host in another notation", (port: number) => `127.1:${port}`, true],
    ["another port", (port: number) => `127.0.0.1:${port + 1}`, false],
    ["its host without the port", () => "127.0.0.1", false],
    ["another name for it", (port: number) => `localhost:${port}`, false],
  ])("is reached only if the user has named it: %s", async (_what, host, isReached) => {
    counters("T-WEB-1");
    await using server = await servePages((_path, response) => response.end("named"));
    const page = await fetched(server.url, { privateHosts: [host(server.port)] }).catch(
      (error: unknown) => error,
    );
    expect(page).toMatchObject(isReached ? { text: "named" } : { code: "address_private" });
  });

  test("may be reached by a name that the user has named, whatever address it has", async () => {
    await using server = await servePages((_path, response) => response.end("named"));
    const host = `Intra.example:${server.port}`;
    const lookup = lookupOf("127.0.0.1");
    const page = await fetched(`http://intra.example:${server.port}/`, {
      privateHosts: [host],
      lookup,
    });
    expect([page, lookup.asked]).toMatchObject([{ text: "named" }, ["intra.example"]]);
  });
});

describe("a redirect", () => {
  test("is followed on its own host", async () => {
    await using server = await servePages((path, response) => {
      if (path === "/new") response.end("here");
      else response.writeHead(301, { location: "new" }).end();
    });
    const page = await fetched(`${server.url}/old`, { privateHosts: [server.host] });
    expect(page).toMatchObject({ type: "text", url: `${server.url}/new`, text: "here" });
  });

  test.each([
    ["another host", "https://other.example/x", "https://other.example/x"],
    ["another port", "http://127.0.0.1:1/", "http://127.0.0.1:1/"],
    ["another name of the host", "//localhost/x", "http://localhost/x"],
  ])("is not followed, but named: to %s", async (_where, location, to) => {
    counters("T-WEB-3");
    await using server = await servePages((_path, response) =>
      response.writeHead(302, { location }).end(),
    );
    const page = await fetched(server.url, { privateHosts: [server.host] });
    expect(page).toEqual({ type: "redirect", url: `${server.url}/`, to });
  });

  test.each([
    ["to a file", "file:///etc/passwd", /not a page/],
    ["to an address with a password", "https://a:b@other.example/", /does not load/],
    ["to the same host with a password", "//me@127.0.0.1:PORT/", /does not load/],
    ["to a very long address", `https://other.example/${"x".repeat(3000)}`, /does not load/],
    ["in a circle", "/", /more than 5 times/],
  ])("is refused if it cannot be named: %s", async (_where, location, problem) => {
    counters("T-WEB-3");
    await using server = await servePages((_path, response) =>
      response.writeHead(302, { location: location.replace("PORT", String(server.port)) }).end(),
    );
    await expect(fetched(server.url, { privateHosts: [server.host] })).rejects.toThrow(problem);
  });
});

function compressQuickly(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
}

describe("a server that misbehaves", () => {
  test.each([
    ["gzip", (bytes: Buffer) => gzipSync(bytes)],
    ["br", compressQuickly],
  ])("cannot make jp decompress without end: %s", async (encoding, compress) => {
    counters("T-WEB-4");
    const bomb = compress(Buffer.alloc(10_000_000));
    await using server = await servePages((_path, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(bomb);
    });
    await expect(fetched(server.url, { privateHosts: [server.host] })).rejects.toMatchObject({
      code: "page_too_large",
    });
  });

  test("cannot send without end", async () => {
    counters("T-WEB-4");
    await using server = await servePages((_path, response) => {
      const more = () => {
        while (response.write("x".repeat(100_000)));
      };
      response.on("drain", more);
      more();
    });
    await expect(fetched(server.url, { privateHosts: [server.host] })).rejects.toMatchObject({
      code: "page_too_large",
    });
  });

  test.each([
    ["never answers", false],
    ["begins to answer, and stops", true],
  ])("is given up after a time: it %s", async (_how, begins) => {
    counters("T-WEB-4");
    const clock = new FakeClock();
    await using server = await servePages((_path, response) => {
      if (begins) response.write("a");
      clock.advance(30_000);
    });
    await expect(fetched(server.url, { clock, privateHosts: [server.host] })).rejects.toThrow(
      /no response within 30 s/,
    );
    expect(clock.sleepers).toBe(0);
  });

  test("is given up with the call", async () => {
    const stop = new AbortController();
    await using server = await servePages((_path, response) => {
      response.write("a");
      stop.abort(new Error("enough"));
    });
    const options = { signal: stop.signal, privateHosts: [server.host] };
    await expect(fetched(server.url, options)).rejects.toThrow("enough");
  });

  test.each([
    ["an error", 404, "identity", /status 404/],
    ["an unknown compression", 200, "compress", /compressed in a way/],
    ["a wrong compression", 200, "gzip", /incorrect header check/],
  ])("is reported with the reason: %s", async (_what, status, encoding, problem) => {
    await using server = await servePages((_path, response) => {
      response.writeHead(status, { "content-encoding": encoding }).end("not compressed");
    });
    await expect(fetched(server.url, { privateHosts: [server.host] })).rejects.toThrow(problem);
  });
});
