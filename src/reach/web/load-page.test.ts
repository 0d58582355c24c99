import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { loadPage, type Lookup, type PageAccess } from "./load-page.ts";
import { servePages } from "./serve-pages.fixture.ts";

const { signal } = new AbortController();

/** All of loopback is private, so a test takes one of its addresses for the public one. */
const access: PageAccess = {
  mayConnect: (_url, { address }) => address === "127.0.0.1",
  mayFollow: () => true,
  wants: () => true,
};

/** What a name means, one answer after the other. */
function lookupOf(...answers: readonly (readonly string[])[]): Lookup {
  const rest = [...answers];
  return (_name, done) =>
    done(
      null,
      (rest.shift() ?? []).map((address) => ({ address, family: 4 })),
    );
}

test("a name with several addresses is reached only at those that are allowed", async () => {
  counters("T-WEB-1");
  await using server = await servePages((_path, response) => response.end("there"));
  const url = new URL(`http://mixed.example:${server.port}/`);
  const lookup = lookupOf(["127.0.0.2", "127.0.0.1", "127.0.0.3"]);
  const page = await loadPage(url, { signal, access, lookup });
  expect(page.type === "page" && page.bytes.toString()).toBe("there");
});

test("a name that means another address after a redirect is not reached there", async () => {
  counters("T-WEB-1");
  const paths: string[] = [];
  await using server = await servePages((path, response) => {
    paths.push(path);
    response.writeHead(302, { location: "/there" }).end();
  });
  const url = new URL(`http://flip.example:${server.port}/`);
  const lookup = lookupOf(["127.0.0.1"], ["127.0.0.2"]);
  await expect(loadPage(url, { signal, access, lookup })).rejects.toMatchObject({
    code: "address_private",
    message: `Cannot load http://flip.example:${server.port}/there: it leads to a private address, flip.example.`,
  });
  expect(paths).toEqual(["/"]);
});

test("a name is looked up once for a connection, which goes to the address that was checked", async () => {
  counters("T-WEB-1");
  await using server = await servePages((_path, response) => response.end("checked"));
  const url = new URL(`http://rebind.example:${server.port}/`);
  const lookup = lookupOf(["127.0.0.1"], ["127.0.0.2"]);
  const page = await loadPage(url, { signal, access, lookup });
  expect(page.type === "page" && page.bytes.toString()).toBe("checked");
});
