import { expect, test } from "vitest";
import { capped, toCallResult } from "./call-result.ts";

test("text parts are joined with blank lines, and empty ones left out", () => {
  const content = ["one", "", "two\nlines"].map((text) => ({ type: "text" as const, text }));
  expect(toCallResult({ content })).toEqual({ type: "success", content: "one\n\ntwo\nlines" });
});

test("foreign text stays as it came", () => {
  const text = "\u001b[31mred\u001b[0m\r\n\u202ebackwards";
  expect(toCallResult({ content: [{ type: "text", text }] }).content).toBe(text);
});

test("structured content stands in for text that is missing, not beside it", () => {
  const structuredContent = { moon: "full" };
  const image = { type: "image" as const, mimeType: "image/png", data: "AAAA" };
  expect([
    toCallResult({ content: [], structuredContent }).content,
    toCallResult({ content: [image], structuredContent }).content,
    toCallResult({ content: [{ type: "text", text: "full" }], structuredContent }).content,
  ]).toEqual([
    '{"moon":"full"}',
    '[image, image/png, 3 bytes; not shown]\n\n{"moon":"full"}',
    "full",
  ]);
});

test("bytes are counted, not shown", () => {
  const sizes = ["", "AA==", "AAA=", "AAAA"].map(
    (data) => toCallResult({ content: [{ type: "audio", mimeType: "audio/wav", data }] }).content,
  );
  expect(sizes).toEqual([0, 1, 2, 3].map((size) => `[audio, audio/wav, ${size} bytes; not shown]`));
});

test("an error without a word gets one", () => {
  expect(toCallResult({ content: [], isError: true })).toEqual({
    type: "error",
    content: "The tool failed and did not say why.",
  });
});

test("a mebibyte is shown whole, and a byte more is cut between two characters", () => {
  const whole = "x".repeat(1024 * 1024);
  expect(capped(whole)).toBe(whole);
  const cut = capped(`${whole.slice(0, -1)}ä`);
  expect(cut).toBe(`${whole.slice(0, -1)}\n[Truncated: 1 of 1048577 bytes omitted.]`);
});
