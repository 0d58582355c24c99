import { describe, expect, test } from "vitest";
import {
  call,
  errorOf,
  GENERATIONS,
  inProcessServer,
  never,
  testServer,
  until,
} from "./support.ts";

describe("the list of tools", () => {
  test("contains all pages, and is requested only once", async () => {
    const { get, log } = inProcessServer("newer", { pages: 200 });
    const server = await get();
    const [tools, same] = await Promise.all([server.tools(never), server.tools(never)]);
    expect(tools).toBe(same);
    expect(await server.tools(never)).toBe(tools);
    const names = tools.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(["filler_0", "filler_1"]);
    expect(names).toEqual(expect.arrayContaining(["filler_198", "echo"]));
    expect(log().filter((line) => line.startsWith("listed"))).toHaveLength(200);
    const reason = new Error("never mind");
    await expect(server.tools(AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test.each(GENERATIONS)(
    "is requested again when it has changed (%s protocol)",
    async (generation) => {
      const { get, log } = inProcessServer(generation);
      const server = await get();
      await server.tools(never);
      await call(server, "grow");
      const names = (await server.tools(never)).map(({ name }) => name);
      expect(names).toContain("grown");
      expect(log().filter((line) => line.startsWith("listed"))).toHaveLength(2);
    },
  );

  test("is an error if the request fails, and is requested again next time", async () => {
    const { servers, get, log } = inProcessServer("newer", { refusals: 1 });
    expect(await errorOf(servers.get("test", never))).toMatchObject({
      code: "mcp_listing_failed",
      message: 'The MCP server "test" could not list its tools: the list is on the moon.',
    });
    await get();
    expect(log()).toEqual(["connected", "listed page 0"]);
  });

  test("is a warning if the request fails and the server is optional", async () => {
    const { servers } = inProcessServer("newer", { refusals: 1, settings: { isOptional: true } });
    expect(await servers.get("test", never)).toMatchObject({
      type: "absent",
      warning: { code: "mcp_listing_failed" },
    });
  });

  test("is an error if the server exits while listing", async () => {
    const { servers, log, pids } = testServer(["--pages=1000"]);
    const listing = errorOf(servers.get("test", never));
    await until(() => log().includes("listed page 3"));
    process.kill(pids()[0] ?? 0, "SIGKILL");
    expect(await listing).toMatchObject({
      code: "mcp_listing_failed",
      message:
        'The MCP server "test" could not list its tools: it was ended by the signal SIGKILL.',
    });
  });
});
