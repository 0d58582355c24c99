import { describe, expect, test } from "vitest";
import { truncateWords, wrapCommand, wrapProse, wrapWords } from "./wrap.ts";

describe("rows of a line", () => {
  test("are wrapped at words, and within a word that is too wide", () => {
    expect(wrapWords("Apply it to 日本語 now, incomprehensibly?", 10)).toEqual([
      "Apply it",
      "to 日本語",
      "now,",
      "incomprehe",
      "nsibly?",
    ]);
  });

  test("keep their colours", () => {
    expect(wrapWords("\u001b[1mone two\u001b[22m", 4)).toEqual([
      "\u001b[1mone\u001b[22m",
      "\u001b[1mtwo\u001b[22m",
    ]);
  });
});

describe("prose", () => {
  test("is wrapped at words, but code and URLs are not", () => {
    const text = [
      "A sentence of some length.",
      "https://example.org/a/long/address",
      "    indented code that is long",
      "a\ttab in between, too",
      "```",
      "fenced code that is long",
      "```",
      "",
      "The end of it.",
    ];
    expect(wrapProse(text.join("\n"), 12)).toEqual([
      "A sentence",
      "of some",
      "length.",
      ...text.slice(1, 8),
      "The end of",
      "it.",
    ]);
  });

  test("is not wrapped where there is no screen", () => {
    expect(wrapProse("a b\nc", Number.POSITIVE_INFINITY)).toEqual(["a b", "c"]);
  });
});

test.each([
  ["Enter send · / commands · @ files", 33, "Enter send · / commands · @ files"],
  ["Enter send · / commands · @ files", 30, "Enter send · / commands · @ …"],
  ["Enter send · / commands · @ files", 22, "Enter send · / …"],
  ["Alt-Enter new line", 10, "Alt-Enter…"],
  ["incomprehensibly", 8, "incompr…"],
])("hints are cut between words: %j in %i columns", (text, width, expected) => {
  expect(truncateWords(text, width)).toBe(expected);
});

test("a command to copy continues after a backslash, between words", () => {
  const command = "jp conversation fork jp-c17673454200 --turn ..11 --activate";
  expect([wrapCommand(command, 61), wrapCommand(command, 60), wrapCommand(command, 24)]).toEqual([
    [`  ${command}`],
    ["  jp conversation fork jp-c17673454200 --turn ..11 \\", "    --activate"],
    ["  jp conversation fork \\", "    jp-c17673454200 \\", "    --turn ..11 \\", "    --activate"],
  ]);
});
