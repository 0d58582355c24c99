import { spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { quoteWord } from "./shell-quote.ts";

/** The words that a real shell finds. */
function wordsOf(line: string): string[] {
  const script = `for word in ${line}; do printf '%s\\0' "$word"; done`;
  const { stdout } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
  return stdout.split("\0").slice(0, -1);
}

test("code is quoted as one word of text", () => {
  const texts = [
    "",
    "a b",
    "it's",
    "$(id)",
    "`id`",
    "a;b&c|d",
    "*",
    "~",
    "\\",
    "\n",
    "-n",
    '"',
    "!",
  ];
  expect(wordsOf(texts.map(quoteWord).join(" "))).toEqual(texts);
});

test("any text survives a real shell", () => {
  counters("T-RUN-1");
  const text = fc.string({
    unit: fc.constantFrom(...Array.from("ab '\"\\$`;&|<>(){}[]*?#~!=\n\té日🦀")),
  });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      expect(wordsOf(texts.map(quoteWord).join(" "))).toEqual(texts);
    }),
    { numRuns: 50 },
  );
});
