import { describe, expect, test } from "vitest";
import { call, errorOf, isRunning, never, testServer, until } from "./support.ts";

describe("closing", () => {
  test("ends a server that exits when its input ends", async () => {
    const { servers, get, pids } = testServer();
    await get();
    await servers.close();
    expect(pids().map(isRunning)).toEqual([false]);
  });

  test("ends a server that ignores SIGTERM, and its child processes", async () => {
    const { servers, get, pids } = testServer(["--ignore-end"]);
    const grandchild = Number((await call(await get(), "grandchild")).content);
    const all = [...pids(), grandchild];
    expect(all.map(isRunning)).toEqual([true, true]);
    await servers.close();
    await until(() => !all.some(isRunning));
  });

  test("ends a server that is still starting", async () => {
    const { servers, get, pids } = testServer(["--mode=hang"]);
    const waiting = errorOf(get());
    await until(() => pids().length === 1);
    await servers.close();
    expect((await waiting).code).toBe("mcp_closed");
    expect(pids().map(isRunning)).toEqual([false]);
  });

  test("fails calls in progress and later ones", async () => {
    const { servers, get, log } = testServer();
    const server = await get();
    const waiting = call(server, "wait");
    await until(() => log().includes("waiting"));
    await servers.close();
    expect((await waiting).type).toBe("error");
    expect(await call(server, "echo")).toEqual({
      type: "error",
      content: 'The MCP server "test" was closed.',
    });
    expect((await errorOf(servers.get("test", never))).code).toBe("mcp_closed");
  });

  test("may be repeated, and works if nothing was started", async () => {
    const { servers, pids } = testServer();
    await servers.close();
    await servers[Symbol.asyncDispose]();
    expect(pids()).toEqual([]);
  });
});
