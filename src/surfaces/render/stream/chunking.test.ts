import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bracketed, type Looks, streamMarkdown } from "../markdown-stream.fixture.ts";

/** Where text in pieces has gone wrong elsewhere, or could here. */
const TRICKY: readonly string[] = [
  "- a\n  - b\n\n    ```js\n    let x = `1\n    2`\n\n    ```\n  - c\n\n    d\n- e\n1. f\n   1) g\n",
  "> - a\n> b\n>\n> > c\nd\n> ```\n> e\nf\n```\ng",
  "| a | b |\n|---|:-:|\n| `x|y` | 日本 |\n| c\n# d\n| e |\n| f |\n\n| g | h\n|--|--\nx | y\n\n| i |",
  "a | b\n--|--\n1 | 2\n\na\n--|--\nb\n\n| c | d |\n:-:|--\n| e | f |",
  "text\n| a |\n|---|\n| b |\n> | c |\n|---|\n",
  "```python\ndef f():\n  '''\n  doc\n\n",
  "~~~\n```\n~~~~\n~~~ js\n1\n  ~~~  \nx",
  "Title\n===\nOther\n---\n---\nnot\n = =\n- item\n===\n- item\n  ---\n",
  "[a]: http://x.y\n[b]:\nhttp://z\n[a] [b][a] [c\n](d) [e]: f\n\n[f]\n:g\n[a\\]b]: c\n",
  "<div>\n*a*\n\n<!-- b\n\n--> c\n<x-y>\nd\n</x-y>\n\n<b>e</b> f\n<pre>\n\n</pre>\ng <br> h <http://i j> <k",
  `${"word".repeat(400)} ${"日".repeat(300)} **${"open ".repeat(400)} end** *a b* \`${"c".repeat(3000)}\` ${"*x".repeat(2500)}\nz`,
  "a\r\nb  \r\nc\\\r\nd\r\n\r\n- e\r\n\r\n  f\r\r```js\r\n1\r\n```\r",
  "***a** b* **c *d*** _e_f_ __g__ *h*i* ** j ** ~~k~~l ~m~ `n``o` ``p`q`` \\*r* [s *t](u) v* ![w](<x y> 'z)') [](y)",
  "1\\. a\n1. b\n\n\n2. c\n 3. d\n10) e\n-f\n- \n-\n  g\n+ [ ] h\n+ [x]\n+ [x] \n* * *\n*i\n_j_k\n",
  "\ta\n\n\tb\n  c\n     d\n-\te\n\n\tf\n>\tg\n",
  "###### a ##\n####### b\n#c\n#\n# #\n  ## d `e` #f\n",
  "&amp; &#27;[2J &#x9b; &bogus; http://a.b/c_d_e?f=*g* www.x.y. me@x.y (http://a.b/(c))\n你好，**世界**。再见！ok、_a_。\n",
  "a **b\n\nc** d `e\n\nf` [g\n\n](h)\n> **i\nj**\n- *k\n- l*\n",
  "",
  "\n\n \n\t\n",
];

const fragments = fc.oneof(
  fc.constantFrom(
    "- ",
    "1. ",
    "> ",
    "# ",
    "    ",
    "  ",
    "\t",
    "```",
    "```js",
    "~~~",
    "| ",
    "|--|",
    "===",
    "---",
  ),
  fc.constantFrom(
    "**",
    "*",
    "_",
    "`",
    "``",
    "~~",
    "[",
    "](",
    ")",
    "]: ",
    "![",
    "<",
    ">",
    "\\",
    "&lt;",
    "<b>",
  ),
  fc.constantFrom(
    "[ ] ",
    "[x] ",
    "[a]: http://b\n",
    "http://c.d/e_f",
    "* * *",
    "<div>",
    "<!--",
    "-->",
    "$",
  ),
  fc.constantFrom("\n", "\n", "\n", "\n\n", " ", " ", "  \n", "\r\n", "\r", "\\\n"),
  fc.constantFrom(
    "word",
    "two words",
    "日本語、",
    "👩🏽‍💻",
    "let x = 1",
    "/* c",
    "\x1b[2J",
    "\u202e",
    "…",
  ),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const anyMarkdown = fc.array(fragments, { maxLength: 60 }).map((parts) => parts.join(""));

/** Pieces of one, two, three… characters as the numbers say, over and over. */
function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const size = sizes[pieces.length % sizes.length] ?? 1;
    pieces.push(text.slice(start, start + size));
    start += size;
  }
  return pieces;
}

const COLOURED: Looks = { paint: bracketed, hyperlinks: true };

describe("the output does not depend on how the text is split into deltas", () => {
  test.each(TRICKY.map((document) => [document.slice(0, 30), document]))(
    "%j",
    async (_name, document) => {
      const looks = [{ width: 20 }, { width: 80 }, COLOURED];
      for (const look of looks) {
        const whole = await streamMarkdown([document], look);
        for (const sizes of [[1], [2], [3], [7], [20], [1, 0, 64]]) {
          expect(await streamMarkdown(cut(document, sizes), look)).toBe(whole);
        }
      }
    },
  );

  test("whatever the text and the pieces", async () => {
    const anySizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 });
    const anyWidth = fc.integer({ min: 1, max: 100 });
    await fc.assert(
      fc.asyncProperty(anyMarkdown, anySizes, anyWidth, async (document, sizes, width) => {
        const whole = await streamMarkdown([document], { ...COLOURED, width });
        expect(await streamMarkdown(cut(document, sizes), { ...COLOURED, width })).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });
});
