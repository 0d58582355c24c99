import type { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { truncateResult, listTools, toCallResult } from "./remote-tool.ts";

const TOOL = { name: "moon", inputSchema: { type: "object" } };

test("one time limit applies to all pages of a list together", async () => {
  counters("T-MCP-2");
  let pages = 0;
  const client = clientThat(() => {
    pages += 1;
    const isLast = pages === 3;
    return isLast ? new Promise(() => undefined) : { tools: [TOOL], nextCursor: "more" };
  });
  await expect(listTools(client, 20)).rejects.toThrow("it took more than 0.02 s");
});

test.each([
  [{ readOnlyHint: true }, true],
  [{ idempotentHint: true }, true],
  [{ readOnlyHint: false, destructiveHint: false }, undefined],
  [undefined, undefined],
])("a tool with the hints %j may be called twice: %s", async (annotations, isIdempotent) => {
  const client = clientThat(() => ({ tools: [{ ...TOOL, annotations }] }));
  const [tool] = await listTools(client, Number.POSITIVE_INFINITY);
  expect(tool?.isIdempotent).toBe(isIdempotent);
});

test.each([
  [{ destructiveHint: true }, true],
  [{ readOnlyHint: true, destructiveHint: true }, undefined],
  [{ destructiveHint: false }, undefined],
  [{}, undefined],
  [undefined, undefined],
])("a tool with the hints %j destroys: %s", async (annotations, isDestructive) => {
  const client = clientThat(() => ({ tools: [{ ...TOOL, annotations }] }));
  const [tool] = await listTools(client, Number.POSITIVE_INFINITY);
  expect(tool?.isDestructive).toBe(isDestructive);
});

test("one size limit applies to all pages of a list together", async () => {
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

test("text parts are joined with blank lines, without empty ones", () => {
  const content = ["one", "", "two\nlines"].map((text) => ({ type: "text" as const, text }));
  expect(toCallResult({ content })).toEqual({ type: "success", content: "one\n\ntwo\nlines" });
});

test("the text of a server is not changed", () => {
  const text = "\u001b[31mred\u001b[0m\r\n\u202ebackwards";
  expect(toCallResult({ content: [{ type: "text", text }] }).content).toBe(text);
});

test("structured content is used only if there is no text", () => {
  const structuredContent = { moon: "full" };
  const image = { type: "image" as const, mimeType: "image/png", data: "AAAA" };
  expect([
    toCallResult({ content: [], structuredContent }).content,
    toCallResult({ content: [image], structuredContent }).content,
    toCallResult({ content: [{ type: "text", text: "full" }], structuredContent }).content,
  ]).toEqual(['{"moon":"full"}', '[image, image/png, 3 bytes]\n\n{"moon":"full"}', "full"]);
});

test("the text for a model says how large binary content is", () => {
  const sizes = ["", "AA==", "AAA=", "AAAA"].map(
    (data) => toCallResult({ content: [{ type: "audio", mimeType: "audio/wav", data }] }).content,
  );
  expect(sizes).toEqual([0, 1, 2, 3].map((size) => `[audio, audio/wav, ${size} bytes]`));
});

test("an error without text gets one", () => {
  expect(toCallResult({ content: [], isError: true })).toEqual({
    type: "error",
    content: "The tool failed and gave no reason.",
  });
});

test("one mebibyte is kept, and one byte more is cut between two characters", () => {
  const whole = "x".repeat(1024 * 1024);
  expect(truncateResult(whole)).toBe(whole);
  const cut = truncateResult(`${whole.slice(0, -1)}ä`);
  expect(cut).toBe(`${whole.slice(0, -1)}\n[Truncated: 1 of 1048577 bytes omitted.]`);
});
