import { expect, onTestFinished, test } from "vitest";
import { call, isRunning, testServer, until, untilRestarted } from "./support.ts";

test("a server that crashes is restarted once, at the next call", async () => {
  const { get, pids } = testServer();
  const server = await get();
  expect(await call(server, "crash")).toEqual({
    type: "error",
    content:
      'The MCP server "test" exited while it ran "crash": it exited with status 7. ' +
      "The next call restarts it.\n\nIt wrote:\n  going down",
  });
  expect(await call(server, "pid")).toEqual({ type: "success", content: String(pids()[1]) });
  expect(await call(server, "crash")).toEqual({
    type: "error",
    content:
      'The MCP server "test" exited while it ran "crash": it exited with status 7. ' +
      "It will not be restarted.\n\nIt wrote:\n  going down",
  });
  expect(await call(server, "pid")).toEqual({
    type: "error",
    content:
      'The MCP server "test" exited twice and will not be restarted: it exited with status 7.' +
      "\n\nIt wrote:\n  going down",
  });
  expect(pids()).toHaveLength(2);
});

test("a crash fails all calls in progress, and later calls share one restart", async () => {
  const { get, pids, log } = testServer();
  const server = await get();
  const waiting = call(server, "wait");
  await until(() => log().includes("waiting"));
  const crashed = await Promise.all([waiting, call(server, "crash")]);
  expect(crashed.map(({ type }) => type)).toEqual(["error", "error"]);
  const after = await Promise.all(["pid", "pid"].map((name) => call(server, name)));
  expect(after.map(({ content }) => Number(content))).toEqual([pids()[1], pids()[1]]);
  expect(pids()).toHaveLength(2);
});

test("processes of a crashed server end with it", async () => {
  const { get } = testServer();
  const server = await get();
  const grandchild = Number((await call(server, "grandchild")).content);
  expect(isRunning(grandchild)).toBe(true);
  await call(server, "crash");
  await until(() => !isRunning(grandchild));
});

test("jp does not wait for a process that has left the group of a crashed server", async () => {
  const server = await testServer().get();
  const escaped = Number((await call(server, "escaped")).content);
  onTestFinished(() => void process.kill(escaped, "SIGKILL"));
  expect((await call(server, "crash")).content).toContain("it exited with status 7");
  expect(isRunning(escaped)).toBe(true);
});

test("a server that was killed between calls is restarted", async () => {
  const { get, pids } = testServer();
  const server = await get();
  process.kill(pids()[0] ?? 0, "SIGKILL");
  await untilRestarted(server);
  expect(pids()).toHaveLength(2);
});

test("a server that sends an endless message is treated as crashed", async () => {
  const { get, pids } = testServer();
  const server = await get();
  const { content } = await call(server, "large", { arguments: { characters: 17_000_000 } });
  expect(content).toContain("it sent a message of more than 32 MiB. The next call restarts it.");
  expect((await call(server, "pid")).type).toBe("success");
  expect(pids().map(isRunning)).toEqual([false, true]);
});
