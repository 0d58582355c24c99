import * as fc from "fast-check";
import { h } from "preact";
import { render } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { beginningOf } from "./folded.tsx";
import { highlight } from "./highlight.ts";
import { Code, Markdown } from "./markdown.tsx";
import { Arguments, diffLines, toRows, Verbatim } from "./verbatim.tsx";

const html = (text: string) => render(h(Markdown, { text }));
/** What a person reads. */
const shown = (text: string) =>
  html(text)
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

/** Numbers of lists are drawn by the browser. */
const lettersOf = (text: string) => text.match(/\p{L}/gu)?.join("") ?? "";

describe("Markdown", () => {
  test("becomes paragraphs, lists, tables and emphasis", () => {
    const page = html("# Head\n\nSome **bold** `code`.\n\n2. two\n3. three\n\n|a|\n|-|\n|b|\n");
    expect(page).toContain('<p class="heading heading-1">Head</p>');
    expect(page).toContain("<p>Some <strong>bold</strong> <code>code</code>.</p>");
    expect(page).toContain('<ol><li value="2">two</li><li value="3">three</li></ol>');
    expect(page).toContain("<th>a</th>");
    expect(page).toContain("<td>b</td>");
  });

  test.each([
    "<script>alert(1)</script>",
    'a <img src="https://evil.example/x" onerror="alert(1)"> b',
    "<!-- hidden -->",
    "<style>p{color:red}</style>",
  ])("shows HTML as text: %s", (text) => {
    expect(shown(text)).toBe(text);
    expect(html(text)).not.toMatch(/<(script|img|style|!--)/);
  });

  test("shows links and images as text with their address, and loads nothing", () => {
    const text =
      "[docs](https://a.example/?x=1&amp;y) ![cat](https://b.example/c.png) <https://c.example>";
    expect(html(text)).not.toMatch(/<a |<img|href=|src=/);
    expect(shown(text)).toBe(
      "docs <https://a.example/?x=1&y> [image: cat <https://b.example/c.png>] <https://c.example>",
    );
  });

  test("shows where a link leads even if its words are another address", () => {
    expect(shown("[https://good.example](javascript:alert(1))")).toBe(
      "https://good.example <javascript:alert(1)>",
    );
  });

  test("makes control and direction characters visible, also those written as references", () => {
    expect(shown("a\u{202e}b&#x202e;c&#27;d")).toBe("a<U+202E>b&#x202e;c&#27;d");
    expect(shown("a&#x202e;b")).toBe("a&#x202e;b");
  });

  test.each([
    ["a definition", '[x]: https://a.example "rm -rf"'],
    ["the title of a link", '[x](https://a.example "rm -rf")'],
    ["the title of an image", '![x](https://a.example "rm -rf")'],
    ["the words after the language of a fence", "```sh rm -rf\nls\n```"],
    ["surplus cells of a table", "| a |\n|---|\n| b | rm -rf |"],
    ["surplus cells behind an escaped backslash", "| a |\n|---|\n| b \\\\| rm -rf |"],
    ["surplus cells of a table in a list", "- | a |\n  |---|\n  | b | rm -rf |"],
    ["a definition in a quote", '> [x]: y "rm -rf"'],
    ["a comment", "a <!-- rm -rf --> b"],
    ["the label of a link", "[x][rm -rf]\n\n[rm -rf]: y"],
  ])("leaves out no words: %s", (_title, text) => {
    expect(shown(text)).toContain("rm -rf");
  });

  test("shows a block as it was written if its nodes would lack anything of it", () => {
    const part = fc.constantFrom(...Array.from('a[]()|-\n`:<>"*\\!'), "1.");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const text = parts.join(" ").replaceAll("a", () => "word");
        const { length } = lettersOf(text);
        expect(lettersOf(shown(text)).length).toBeGreaterThanOrEqual(length);
      }),
    );
  });

  test("keeps the numbers of a list", () => {
    expect(html("1. a\n1. b")).toContain('<ol><li value="1">a</li><li value="1">b</li></ol>');
  });

  test("decodes references once, or shows them if that could mislead", () => {
    expect(shown("&nosuch; &lt;b&gt;")).toBe("&nosuch; <b>");
    expect(shown("&amp;lt; &#65;")).toBe("&amp;lt; &#65;");
  });

  test.each([">".repeat(50_000), "- ".repeat(3000), "[".repeat(20_000), "*a".repeat(5000)])(
    "survives text that is nested without end (%#)",
    (text) => {
      expect(html(text).length).toBeGreaterThan(10);
    },
  );

  test("shows the beginning of a long text, with a button for the rest", () => {
    const text = Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n\n");
    expect(html(text)).toContain("Show all 999 lines");
    expect(html(text)).not.toContain("line 499");
  });
});

describe("code", () => {
  test("is plain text until the highlighter is loaded", () => {
    expect(render(h(Code, { text: "a < b", info: "ts" }))).toContain("<code>a &lt; b</code>");
  });

  test("keeps whole lines when it is collapsed, and little is left as it is", () => {
    expect(beginningOf("a\nb\nc\nd", 2, 100)).toBe("a\nb");
    expect(beginningOf("abcdefghij", 5, 9)).toBe("abcdefghij");
    expect(beginningOf("x".repeat(40), 5, 9)).toBe("x".repeat(9));
    expect(beginningOf(`${"x".repeat(8)}😀${"x".repeat(9)}`, 5, 9)).toBe("x".repeat(8));
  });

  test("is cut into pieces with their meaning, and never becomes HTML", () => {
    expect(highlight("const a = '<b>';", "ts")).toEqual([
      { text: "const", scope: "keyword" },
      { text: " a = " },
      { text: "'<b>'", scope: "string" },
      { text: ";" },
    ]);
    expect(highlight("x", "nosuch")).toBeUndefined();
  });

  test("keeps the meaning of the outer piece after an inner one", () => {
    expect(highlight("`a${b}c`;", "ts")).toEqual([
      { text: "`a", scope: "string" },
      { text: "${b}", scope: "subst" },
      { text: "c`", scope: "string" },
      { text: ";" },
    ]);
  });

  test("keeps every character, also of a language in another one", () => {
    const source = "<p id='a'>&amp; b</p><script>const a = 1;</script>";
    const pieces = highlight(source, "html") ?? [];
    expect(pieces.map(({ text }) => text).join("")).toBe(source);
    expect(pieces).toContainEqual({ text: "const", scope: "keyword" });
  });
});

const numbered = (text: string, isHunks?: boolean) =>
  diffLines(text, isHunks).map(({ kind, number, old }) => [kind, number, old]);

describe("a diff", () => {
  test("has the numbers of the file's own lines, the old one's for what is removed", () => {
    const diff = "--- a/x\n+++ b/x\n@@ -7,4 +9,4 @@ f()\n a\n-b\n+c\n\n d\n@@ -50 +52 @@\n-e\n+f";
    expect(numbered(diff)).toEqual([
      ["file", undefined, undefined],
      ["file", undefined, undefined],
      ["place", undefined, undefined],
      ["same", 9, 7],
      ["removed", 8, undefined],
      ["added", 10, undefined],
      ["same", 11, 9],
      ["same", 12, 10],
      ["place", undefined, undefined],
      ["removed", 50, undefined],
      ["added", 52, undefined],
    ]);
  });

  test("takes a removed line for what it is, even if it looks like the name of a file", () => {
    const lines = numbered(
      "@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n y\n\\ No newline\n--- a/z\n+++ b/z",
    );
    expect(lines.map(([kind]) => kind)).toEqual([
      "place",
      "removed",
      "added",
      "same",
      "same",
      "file",
      "file",
    ]);
    expect(lines.map(([, number]) => number).slice(1, 4)).toEqual([1, 1, 2]);
  });

  test("of a new file starts at its first line", () => {
    expect(numbered("+--- a\n+b", true)).toEqual([
      ["added", 1, undefined],
      ["added", 2, undefined],
    ]);
  });

  test("puts removed lines beside the added ones that follow", () => {
    const rows = toRows(diffLines("@@ -1,4 +1,3 @@\n a\n-b\n-c\n+d\n e\n+f"));
    expect(rows.map((row) => row.map((line) => line?.text))).toEqual([
      ["@@ -1,4 +1,3 @@"],
      [" a", " a"],
      ["-b", "+d"],
      ["-c", undefined],
      [" e", " e"],
      [undefined, "+f"],
    ]);
    expect(rows[4]?.map((line) => line?.number)).toEqual([4, 3]);
  });

  test("keeps the signs of its lines", () => {
    const page = render(h(Verbatim, { text: "@@ -7 +9 @@\n-old\n+ new", label: "Change" }));
    expect(page).toContain('<span class="line diff-removed" data-number="7">-old\n</span>');
    expect(page).toContain('<span class="line diff-added" data-number="9">+ new\n</span>');
    expect(page).toContain('data-number="·"');
  });

  test("is recognized without being named", () => {
    expect(render(h(Code, { text: "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y" }))).toContain("diff-added");
  });
});

/** Those of a short text are all drawn at once. */
function linesOf(text: string): readonly (string | undefined)[] {
  const page = render(h(Verbatim, { text, label: "Text" }));
  return [...page.matchAll(/data-number="\d+">([^<]*)\n/g)].map(([, line]) => line);
}

describe("values", () => {
  test("have all their lines, the last one too if it is empty", () => {
    expect(linesOf("a\n b")).toEqual(["a", " b"]);
    expect(linesOf("a\n b\n")).toEqual(["a", " b", ""]);
    expect(linesOf("")).toEqual([""]);
  });

  test("are not folded unless they may be", () => {
    const text = "x\n".repeat(100);
    const page = (folds: boolean) => render(h(Verbatim, { text, label: "Text", folds }));
    expect([page(false), page(true)].map((each) => each.includes("Show all"))).toEqual([
      false,
      true,
    ]);
  });

  test("that are arguments are JSON, apart from texts of several lines", () => {
    const value = { path: "a b", is: true, text: 'one\n"two"' };
    const page = render(h(Arguments, { value }));
    expect(page).toContain('"path": "a b",'.replaceAll('"', "&quot;"));
    expect(page).toContain("&quot;two&quot;");
    expect(page).toContain('Argument <span class="verbatim">text</span>');
  });
});
