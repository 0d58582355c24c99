import { describe, expect, test } from "vitest";
import { createRegexSearch, createTextSearch, splitLines } from "./line-search.ts";

/** Longer than any test may take, so that no result depends on how fast the machine is. */
const NO_LIMIT_MS = 600_000;

async function find(pattern: string, text: string, limit = 10) {
  const { signal } = new AbortController();
  await using search = await createRegexSearch({ pattern, timeLimitMs: NO_LIMIT_MS, signal });
  return await search.find(text, limit);
}

/** Takes practically forever. */
const ENDLESS = { pattern: "^(a+)+$", text: `${"a".repeat(60)}b` };

describe("a regular expression", () => {
  test("is matched against each line without its line ending", async () => {
    expect([
      await find("^b.$", "a\nbc\r\nxbc\nbd"),
      await find("^$", "a\n\nb\n"),
      await find("c", ""),
      await find("a", "a\na\na", 2),
    ]).toEqual([
      [
        { line: 1, column: 0 },
        { line: 3, column: 0 },
      ],
      [{ line: 1, column: 0 }],
      [],
      [
        { line: 0, column: 0 },
        { line: 1, column: 0 },
      ],
    ]);
  });

  test("may use the `u` grammar or the older one", async () => {
    expect([
      (await find(String.raw`\p{Lu}`, "a\nÄ")).length,
      (await find("^.$", "𝄞")).length,
      (await find(String.raw`a\-b`, "a-b")).length,
    ]).toEqual([1, 1, 1]);
  });

  test("that is invalid is refused with the reason", async () => {
    await expect(find("(a", "a")).rejects.toThrow(
      "The pattern is not a valid regular expression (Invalid regular expression: /(a/: " +
        "Unterminated group). Correct it, or leave out regex to search for plain text.",
    );
  });

  test("that takes too long is stopped", async () => {
    const { signal } = new AbortController();
    const { pattern, text } = ENDLESS;
    await using search = await createRegexSearch({ pattern, timeLimitMs: 50, signal });
    await expect(search.find(text, 1)).rejects.toThrow(
      "took longer than 0.05 seconds on one file and was stopped",
    );
  });

  test("stops when the call is cancelled", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { pattern, text } = ENDLESS;
    await using search = await createRegexSearch({ pattern, timeLimitMs: NO_LIMIT_MS, signal });
    const found = search.find(text, 1);
    controller.abort(new Error("cancelled"));
    await expect(found).rejects.toThrow("cancelled");
    await expect(search.find(text, 1)).rejects.toThrow("cancelled");
  });

  test("is found after a million empty lines", async () => {
    expect(await find("x", `${"\n".repeat(1_000_000)}x`)).toEqual([{ line: 1_000_000, column: 0 }]);
  });

  test.each([
    "one\r\ntwo\n\nt\nwtwo",
    "two",
    "two\r",
    "\r\ntwo\r\r\n",
    "two\n",
    "\n\ntwo\n\n",
    "one",
  ])("finds the same lines of %j as a plain text search", async (text) => {
    const expected = await createTextSearch("two").find(text, 10);
    expect(await find("two", text)).toEqual(expected);
    expect(expected.map(({ line }) => line)).toEqual(
      splitLines(text).flatMap((line, index) => (line.includes("two") ? [index] : [])),
    );
  });
});
