import { expect, test } from "vitest";
import { watchBuild } from "./build.ts";

/** What the browser keeps over a reload. */
class Tab {
  readonly #stored = new Map<string, string>();
  reloads = 0;

  readonly storage = {
    getItem: (key: string) => this.#stored.get(key) ?? null,
    setItem: (key: string, value: string) => void this.#stored.set(key, value),
  };

  /** The `fetch` of a page of this build. The server's build is the path of each request. */
  load(own: string | undefined, send: typeof fetch = respond) {
    const reload = () => (this.reloads += 1);
    return watchBuild(send, { own, storage: this.storage, reload });
  }
}

const respond: typeof fetch = async (input) => {
  const headers = typeof input === "string" && input !== "" ? { "jp-build": input } : {};
  return new Response("{}", { headers });
};

test("a page stays as it is while the server has its build, or does not name one", async () => {
  const tab = new Tab();
  const send = tab.load("a");
  await send("a");
  await send("");
  expect(tab.reloads).toBe(0);
});

test("a page reloads once when the server has another build", async () => {
  const tab = new Tab();
  const send = tab.load("a");
  await Promise.all([send("b"), send("b")]);
  expect(tab.reloads).toBe(1);
});

test("a page that is still the old one after a reload does not reload again", async () => {
  const tab = new Tab();
  await tab.load("a")("b");
  await tab.load("a")("b");
  expect(tab.reloads).toBe(1);
});

test("a page behind which two builds take turns reloads once for each, and then stays", async () => {
  const tab = new Tab();
  for (const [own, server] of ["ab", "ba", "ab", "ba", "ab"]) await tab.load(own)(server ?? "");
  expect(tab.reloads).toBe(2);
});

test("a page reloads for every upgrade", async () => {
  const tab = new Tab();
  await tab.load("a")("b");
  await tab.load("b")("b");
  await tab.load("b")("c");
  expect(tab.reloads).toBe(2);
});

test("a page reloads only once what it is sending has arrived", async () => {
  const tab = new Tab();
  const arrival = Promise.withResolvers<Response>();
  const send = tab.load("a", (input, init) =>
    init?.method === "POST" ? arrival.promise : respond(input, init),
  );
  const sent = send("a", { method: "POST" });
  await send("b");
  expect(tab.reloads).toBe(0);
  arrival.reject(new Error("gone"));
  await expect(sent).rejects.toThrow("gone");
  expect(tab.reloads).toBe(1);
});

test("a page that was not built, or cannot store that it has reloaded, never reloads", async () => {
  const tab = new Tab();
  await tab.load(undefined)("b");
  const storage = {
    ...tab.storage,
    setItem: () => {
      throw new Error("no room");
    },
  };
  const reload = () => (tab.reloads += 1);
  await watchBuild(respond, { own: "a", storage, reload })("b");
  expect(tab.reloads).toBe(0);
});
