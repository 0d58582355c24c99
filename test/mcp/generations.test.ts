/** Negotiating the protocol of 2025 or 2026. */
import { expect, test } from "vitest";
import { AttemptedCall, answersOf, createTool } from "./attempted-call.ts";
import { call, inProcessServer, isRunning, testServer } from "./support.ts";

test.each([
  ["of both generations", "both", "newer"],
  ["of 2026", "newer", "newer"],
  ["of 2025", "older", "older"],
])("a server %s uses its newest protocol, in one process", async (_, mode, generation) => {
  const { get, pids } = testServer([`--mode=${mode}`]);
  expect(await call(await get(), "generation")).toEqual({ type: "success", content: generation });
  expect(pids()).toHaveLength(1);
});

test("a server that ignores the version request gets the older protocol", async () => {
  const { get, pids } = testServer(["--mode=older-silent"], { startupTimeoutMs: 3000 });
  expect((await call(await get(), "generation")).content).toBe("older");
  expect(pids()).toHaveLength(1);
});

test("a server that exits on the version request is restarted without it", async () => {
  const { get, pids } = testServer(["--mode=older-leaving"]);
  expect((await call(await get(), "generation")).content).toBe("older");
  expect(pids().map(isRunning)).toEqual([false, true]);
});

test.each(["2025-06-18", "2025-11-25"])(
  "a server that only supports %s can ask",
  async (version) => {
    const { servers, get } = inProcessServer("older", { versions: [version] });
    const { executor } = await createTool(servers, { source: "mcp.test.ask" });
    const attempted = new AttemptedCall(executor);
    expect((await attempted.ask()).question.id).toBe("name");
    expect(answersOf(await attempted.enter({ name: "Io" }))).toEqual([
      { moon: { action: "accept", content: { name: "Io" } } },
    ]);
    expect((await call(await get(), "version")).content).toBe(version);
  },
);
