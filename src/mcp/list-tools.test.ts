import type { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { listTools } from "./list-tools.ts";

const TOOL = { name: "moon", inputSchema: { type: "object" } };

test("all pages of a list together have one limit of time", async () => {
  counters("T-MCP-2");
  let pages = 0;
  const client = clientThat(() => {
    pages += 1;
    const isLast = pages === 3;
    return isLast ? new Promise(() => undefined) : { tools: [TOOL], nextCursor: "more" };
  });
  await expect(listTools(client, 20)).rejects.toThrow("it took more than 0.02 s");
});

test("all pages of a list together are no larger than one message", async () => {
  counters("T-MCP-2");
  let pages = 0;
  const description = "x".repeat(5 * 1024 * 1024);
  const client = clientThat(() => {
    pages += 1;
    return { tools: [{ ...TOOL, description }], nextCursor: "more" };
  });
  await expect(listTools(client, Number.POSITIVE_INFINITY)).rejects.toThrow("more than 32 MiB");
  expect(pages).toBe(7);
});

function clientThat(list: () => unknown): Client {
  const client = {
    getServerCapabilities: () => ({ tools: {} }),
    request: async () => list(),
  };
  return client as unknown as Client; // All that is used of it.
}
