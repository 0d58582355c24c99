import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

/** Few different lines, so that they repeat, with both kinds of line endings. */
const anyLine = fc.constantFrom("a", "b", "c", "", " ", "-x", "+y", "@@", "é𝄞", "\r");
const anyText = fc
  .array(
    fc.tuple(anyLine, fc.constantFrom("\n", "\r\n")).map((parts) => parts.join("")),
    { maxLength: 40 },
  )
  .chain((lines) => anyLine.map((last) => lines.join("") + last));

const hunkHeaders = (text: string) => text.match(/^@@.*@@$/gm);
const diff = (before: string, after: string) => unifiedDiff({ path: "a.txt", before, after });

describe("a diff", () => {
  test("applied to the old text gives the new one", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (before, after) => {
        expect(apply(before, await diff(before, after))).toBe(after);
      }),
      { numRuns: 1000 },
    );
  });

  test("of small edits in a long text gives the new text as well", async () => {
    const anyEdit = fc.tuple(fc.nat({ max: 500 }), fc.nat({ max: 3 }), fc.array(anyLine));
    await fc.assert(
      fc.asyncProperty(fc.array(anyEdit, { maxLength: 5 }), async (edits) => {
        const lines = Array.from({ length: 500 }, (_, index) => `line ${index}`);
        const before = `${lines.join("\n")}\n`;
        for (const [at, count, added] of edits) lines.splice(at, count, ...added);
        const after = `${lines.join("\n")}\n`;
        expect(apply(before, await diff(before, after))).toBe(after);
      }),
    );
  });

  test("changes as few lines as possible", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (before, after) => {
        const signs = (await diff(before, after)).split("\n").slice(2);
        const changed = signs.filter((line) => line.startsWith("-") || line.startsWith("+"));
        expect(changed.length).toBe(fewestEdits(linesOf(before), linesOf(after)));
      }),
    );
  });

  test("of equal texts is empty", async () => {
    const texts = ["", "a", "a\n", "a\r\n"];
    expect(await Promise.all(texts.map((text) => diff(text, text)))).toEqual(["", "", "", ""]);
  });

  test("has the format of `diff -u`", async () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n";
    const after = before.replace("2\n", "two\n").replace("16\n", "16\nseventeen");
    expect(await diff(before, after)).toBe(
      [
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,5 +1,5 @@",
        " 1",
        "-2",
        "+two",
        " 3",
        " 4",
        " 5",
        "@@ -14,3 +14,4 @@",
        " 14",
        " 15",
        " 16",
        "+seventeen",
        "\\ No newline at end of file",
        "",
      ].join("\n"),
    );
  });

  test("joins changes whose context touches", async () => {
    const before = Array.from({ length: 20 }, (_, index) => `${index}\n`).join("");
    const near = await diff(before, before.replace("4\n", "x\n").replace("11\n", "y\n"));
    const far = await diff(before, before.replace("4\n", "x\n").replace("12\n", "y\n"));
    expect([hunkHeaders(near), hunkHeaders(far)]).toEqual([
      ["@@ -2,14 +2,14 @@"],
      ["@@ -2,7 +2,7 @@", "@@ -10,7 +10,7 @@"],
    ]);
  });

  test("gives the ranges of empty texts and single lines as `diff -u` does", async () => {
    expect([await diff("", "a\n"), await diff("a\nb\n", ""), await diff("a", "b\n")]).toEqual([
      "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n",
      "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +0,0 @@\n-a\n-b\n",
      "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
    ]);
  });

  test("of long texts that have little in common is one replacement", async () => {
    const before = Array.from({ length: 50_000 }, (_, index) => `old ${index}\n`).join("");
    const after = Array.from({ length: 50_000 }, (_, index) => `new ${index}\n`).join("");
    const text = await diff(`same\n${before}end\n`, `same\n${after}end\n`);
    expect(hunkHeaders(text)).toEqual(["@@ -1,50002 +1,50002 @@"]);
    expect(apply(`same\n${before}end\n`, text)).toBe(`same\n${after}end\n`);
  });

  test("of a new file has /dev/null as its old name", async () => {
    expect(await unifiedDiff({ path: "a.txt", before: undefined, after: "a\n" })).toBe(
      "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n",
    );
  });

  test("lists removed lines before added ones", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (before, after) => {
        expect(await diff(before, after)).not.toMatch(/^\+(?!\+\+ ).*\n(?:\\.*\n)?-(?!-- )/m);
      }),
    );
  });
});

/** Applies a unified diff; throws if a line is not the expected one. */
function apply(before: string, patch: string): string {
  if (patch === "") return before;
  const old = linesOf(before);
  const result: string[] = [];
  let at = 0;
  for (const piece of patch.split(/^(?=@@ -)/m).slice(1)) {
    const [header = "", ...body] = linesOf(piece);
    const [, start = "", count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(header) ?? [];
    const first = count === "0" ? Number(start) : Number(start) - 1;
    while (at < first) result.push(old[at++] ?? "");
    for (const [index, line] of body.entries()) {
      if (line.startsWith("\\")) continue;
      const isLast = body[index + 1]?.startsWith("\\") === true;
      const content = isLast ? line.slice(1, -1) : line.slice(1);
      if (!line.startsWith("+")) {
        if (old[at] !== content) throw new Error(`line ${at} is ${old[at]}, not ${content}`);
        at += 1;
      }
      if (!line.startsWith("-")) result.push(content);
    }
  }
  return [...result, ...old.slice(at)].join("");
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** From the longest common subsequence, computed the slow way. */
function fewestEdits(old: readonly string[], fresh: readonly string[]): number {
  let row = Array.from({ length: fresh.length + 1 }, () => 0);
  for (const line of old) {
    const next = [0];
    for (const [index, other] of fresh.entries()) {
      const best = Math.max(row[index + 1] ?? 0, next[index] ?? 0);
      next.push(line === other ? (row[index] ?? 0) + 1 : best);
    }
    row = next;
  }
  return old.length + fresh.length - 2 * (row.at(-1) ?? 0);
}
