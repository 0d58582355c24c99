import { describe, expect, test } from "vitest";
import { htmlToText } from "./html-text.ts";

function textOf(html: string): string {
  return htmlToText(html, new URL("https://a.example/docs/page.html"));
}

describe("HTML as text", () => {
  test("has headings, lists, links, code and tables as Markdown", () => {
    const html = `<!doctype html><html><head><title>My &quot;page&quot;</title><style>p{}</style></head><body>
      <nav><a href="#top">Top</a></nav><h2>One</h2><p>Some   <b>bold</b>
      text, <a class="x" href="https://a.b/?c&amp;d">a link</a>.</p>
      <ul><li>first<li>second</ul><pre><code>if (a &lt; b)\n  x();</code></pre>
      <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td><code>2</code></td></tr></table><!-- no -->end`;
    expect(textOf(html)).toBe(
      [
        '# My "page"',
        "Top",
        "## One",
        "Some bold text, a link (https://a.b/?c&d).",
        "- first\n- second",
        "```\nif (a < b)\n  x();\n```",
        "| k | v |\n| --- | --- |\n| 1 | `2` |",
        "end",
      ].join("\n\n"),
    );
  });

  test.each([
    [
      "parts and white space between its cells",
      `<table>
         <thead> <tr> <th>Name</th> <th>Size</th> </tr> </thead>
         <tbody> <tr> <td>a</td> <td>1</td> </tr> <tr> <th>b</th> <td>2</td> </tr> </tbody>
       </table>`,
      "| Name | Size |\n| --- | --- |\n| a | 1 |\n| b | 2 |",
    ],
    [
      "tags left out",
      "<table><tr><th>k<th>v<tr><td>1<td>2</table>",
      "| k | v |\n| --- | --- |\n| 1 | 2 |",
    ],
    ["no titles", "<table><tr><td>1</td><td>2</td></tr></table>", "1 | 2 |"],
  ])("writes the rows of a table with %s", (_what, html, expected) => {
    expect(textOf(html)).toBe(expected);
  });

  test.each([
    ["relative", '<a href="next.html">x</a>', "x (https://a.example/docs/next.html)"],
    ["to the root, unquoted", "<a href=/top>x</a>", "x (https://a.example/top)"],
    ["to another host", '<a href="//b.example">x</a>', "x (https://b.example/)"],
    [
      "relative to what the page says",
      '<head><base href="https://c.example/y/"></head><a href="z">x</a>',
      "x (https://c.example/y/z)",
    ],
    ["within the page", '<a href="#part">x</a>', "x"],
    ["to a script", '<a href="javascript:alert(1)">x</a>', "x"],
    ["without a text", '<a href="y"><img src="z"></a>', ""],
  ])("has the absolute addresses of links: %s", (_kind, html, expected) => {
    expect(textOf(html)).toBe(expected);
  });

  test.each([
    ["by its attribute", "a<div hidden>no<b>no</b></div>b"],
    ["for screen readers", 'a<div aria-hidden="true">no</div>b'],
    ["by its style", 'a<div style="color: red; display:none">no</div>b'],
    ["with others of its name in it", "a<div hidden>no<div>no</div>no<hr>no</div>b"],
    ["without an end, before the next of its kind", "<ul><li>a<li hidden>no<li>b</ul>"],
    ["without an end, in something that has one", "a<div><p hidden>no</div>b"],
    ["with a script in it", "a<div hidden><script></div></script>no</div>b"],
    ["with an end tag too many", "a<div hidden>no</b>no</div>b"],
  ])("leaves out what is hidden: %s", (_how, html) => {
    expect(textOf(html).match(/\w+/g)).toEqual(["a", "b"]);
  });

  test("shows what only looks hidden", () => {
    const html = '<p class="hidden">a</p><p style="display: block">b</p><input type="hidden">c';
    expect(textOf(html)).toBe("a\n\nb\n\nc");
  });

  test.each([
    "a < b",
    "<p",
    '<a href="x',
    "<!-- open",
    "<script>x",
    "&#0; &#xfffffff; &nope;",
    "<",
  ])("is text even if the markup is broken: %j", (html) => {
    expect(textOf(html).length).toBeLessThanOrEqual(html.length);
  });

  test.each([
    ["tags", "<b>"],
    ["open brackets", "<"],
    ["attributes", '<a href="'],
    ["comments", "<!--"],
    ["spaces", "<pre>  "],
    ["entities", "&#x"],
    ["hidden elements", "<div hidden>"],
    ["hidden elements that end", "<p hidden></div>"],
    ["attributes without a value", "<a hidden x "],
  ])("takes no longer for each of many %s", (_what, piece) => {
    // With quadratic time this would take minutes.
    expect(textOf(piece.repeat(1_000_000 / piece.length))).toBeTypeOf("string");
  });
});
