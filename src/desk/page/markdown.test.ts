import { h } from "preact";
import { render } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { beginningOf, Code, diffKind, DiffLines } from "./code.tsx";
import { highlight, piecesOf } from "./highlight.ts";
import { Markdown, summaryOf } from "./markdown.tsx";

const html = (text: string) => render(h(Markdown, { text }));
/** What a person reads. */
const shown = (text: string) =>
  html(text)
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

describe("Markdown", () => {
  test("becomes paragraphs, lists, tables and emphasis", () => {
    const page = html("# Head\n\nSome **bold** `code`.\n\n2. two\n3. three\n\n|a|\n|-|\n|b|\n");
    expect(page).toContain('<p class="heading heading-1">Head</p>');
    expect(page).toContain("<p>Some <strong>bold</strong> <code>code</code>.</p>");
    expect(page).toContain('<ol start="2"><li>two</li><li>three</li></ol>');
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
    expect(shown("a\u{202e}b&#x202e;c&#27;d")).toBe("a<U+202E>b<U+202E>c␛d");
  });

  test.each([
    ["Deploy **0.4.0** to `fra` now?", "Deploy 0.4.0 to fra now?"],
    ["# Plan\n\nMore", "Plan …"],
    ["- one _two_", "one two"],
    ["[docs](https://a.example) ![cat](b.png) <b>&lt;", "docs cat <b><"],
    ["a\u{202e}b", "a<U+202E>b"],
    ["", ""],
  ])("is one line of plain words in lists: %j", (text, line) => {
    expect(summaryOf(text)).toBe(line);
  });

  test("is short in lists", () => {
    expect(summaryOf("x".repeat(1_000_000))).toHaveLength(302);
  });

  test("decodes each reference once", () => {
    expect(shown("&amp;lt; &nosuch; &#0; &lt;b&gt;")).toBe("&lt; &nosuch; \u{fffd} <b>");
  });

  test.each([">".repeat(50_000), "- ".repeat(3000), "[".repeat(20_000), "*a".repeat(5000)])(
    "survives text that is nested without end (%#)",
    (text) => {
      expect(html(text).length).toBeGreaterThan(10);
    },
  );

  test("shows the beginning of a long text, with a button for the rest", () => {
    const text = Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n\n");
    expect(html(text)).toContain("Show the whole text");
    expect(html(text)).not.toContain("line 499");
  });
});

describe("code", () => {
  test("is plain text until the highlighter is loaded", () => {
    expect(render(h(Code, { text: "a < b", language: "ts" }))).toContain("<code>a &lt; b</code>");
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
    const nested = '<span class="hljs-string">a<span class="hljs-subst">b</span>c</span>d&amp;';
    expect(piecesOf(nested)).toEqual([
      { text: "a", scope: "string" },
      { text: "b", scope: "subst" },
      { text: "c", scope: "string" },
      { text: "d&" },
    ]);
  });
});

describe("a diff", () => {
  test.each([
    ["--- a/x", "file"],
    ["+++ b/x", "file"],
    ["@@ -1 +1 @@", "place"],
    ["+new", "added"],
    ["-old", "removed"],
    [" same", "same"],
  ])("knows the line %j", (line, kind) => {
    expect(diffKind(line)).toBe(kind);
  });

  test("keeps the signs of its lines", () => {
    const page = render(h(DiffLines, { text: "-old\n+new" }));
    expect(page).toContain('<span class="line diff-removed">-old\n</span>');
    expect(page).toContain('<span class="line diff-added">+new\n</span>');
  });

  test("is recognized without being named", () => {
    expect(render(h(Code, { text: "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y" }))).toContain("diff-added");
  });
});
