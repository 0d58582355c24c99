import highlighter from "highlight.js/lib/core";
import { describe, expect, test } from "vitest";
import { bracketed, linesOf, ruled, streamMarkdown } from "../markdown-stream.fixture.ts";
import { plain } from "../style.ts";
import { createMarkdownStream } from "./markdown-stream.ts";

/** The output after each piece. */
function writesFor(pieces: readonly string[], paint = plain): string[] {
  let written = "";
  const stream = createMarkdownStream({
    paint,
    width: 40,
    hyperlinks: false,
    write: (text) => {
      written += text;
    },
  });
  return pieces.map((piece) => {
    written = "";
    stream.push(piece);
    return written;
  });
}

/** OSC 8. */
function link(address: string, text: string): string {
  return `\x1b]8;;${address}\x1b\\${text}\x1b]8;;\x1b\\`;
}

test("after other output, text continues at the start of a line, inside its list", () => {
  let written = "";
  const write = (text: string) => {
    written += text;
  };
  const stream = createMarkdownStream({ paint: plain, width: 20, hyperlinks: false, write });
  stream.push("- one two three fo");
  stream.breakLine();
  stream.breakLine();
  write("(notice)\n");
  stream.push("ur five six seven eight ");
  expect(written.split("\n")).toEqual([
    "• one two three",
    "(notice)",
    "  four five six",
    "  seven",
  ]);
});

describe("while text arrives", () => {
  test("each word of a paragraph is written when the next one starts", () => {
    expect(writesFor(["Hel", "lo wor", "ld, how", " are\nyou", "?\n", "\n"])).toEqual([
      "",
      "Hello",
      " world,",
      " how are",
      "",
      " you?\n",
    ]);
  });

  test("words wait until the marks around them are closed", () => {
    expect(writesFor(["Some **bold ", "and `code ", "x", "` y** or", " not"])).toEqual([
      "Some",
      "",
      "",
      " **bold and `code x` y**",
      " or",
    ]);
  });

  test("sentences of scripts without spaces are written when they end", () => {
    expect(writesFor(["你好，世", "界。今天"])).toEqual(["你好，", "世界。"]);
  });

  test("a mark that is never closed does not hold back the text forever", () => {
    const words = "word ".repeat(300);
    const [written] = writesFor([`*.ts files: ${words}`]);
    expect(written?.startsWith("*.ts files: word word")).toBe(true);
  });

  test("code is written line by line", () => {
    expect(writesFor(["```\nfirst", "\nsec", "ond\n", "```\n"])).toEqual([
      "```\n",
      "first\n",
      "second\n",
      "```\n",
    ]);
  });

  test("list items are written one by one, word by word", () => {
    expect(writesFor(["- one t", "wo\n", "- three", "\n  - four"])).toEqual([
      "• one",
      "",
      " two\n",
      "• three\n",
    ]);
  });

  test("a table is written when it is complete", () => {
    expect(writesFor(["| a |\n", "|---|\n", "| long |\n", "\n"])).toEqual([
      "",
      "",
      "",
      "a\n────\nlong\n",
    ]);
  });

  test("a line that only looked like a table is a paragraph", () => {
    expect(writesFor(["| a |\n", "and more\n", "\n"])).toEqual(["", "| a | and", " more\n"]);
  });

  test("code in a known language waits for the highlighter, and so does everything after it", async () => {
    highlighter.unregisterLanguage("ini");
    let written = "";
    const stream = createMarkdownStream({
      paint: bracketed,
      width: 40,
      hyperlinks: false,
      write: (text) => {
        written += text;
      },
    });
    for (const piece of ["```ini\n", "[a]\nb", " = 1\n``", "`\nDone", " now."]) stream.push(piece);
    await stream.end();
    expect(written).toBe(
      `${ruled("ini")}\n<bold>[a]</>\n<cyan>b</> = <magenta>1</>\n${ruled()}\n\nDone now.\n`,
    );
  });

  test("code without colours does not wait for the highlighter", () => {
    highlighter.unregisterLanguage("ini");
    let written = "";
    const stream = createMarkdownStream({
      paint: bracketed,
      width: 40,
      hyperlinks: false,
      colorsCode: false,
      write: (text) => {
        written += text;
      },
    });
    stream.push("```ini\n[a]\n");
    expect(written).toBe(`${ruled("ini")}\n[a]\n`);
  });

  test("a failed write while the highlighter loads is reported by end", async () => {
    highlighter.unregisterLanguage("nix");
    const stream = createMarkdownStream({
      paint: bracketed,
      width: 40,
      hyperlinks: false,
      write: (text) => {
        if (text.includes("1")) throw new Error("closed");
      },
    });
    stream.push("```nix\n");
    stream.push("x = 1\n");
    await expect(stream.end()).rejects.toThrow("closed");
  });
});

describe("paragraphs", () => {
  test("are wrapped, separated by blank lines, and keep hard line breaks", async () => {
    const document = ["one two three", "four  ", "five\\", "six", "", "", "seven"];
    expect(await linesOf(document, { width: 12 })).toEqual([
      "one two",
      "three four",
      "five",
      "six",
      "",
      "seven",
    ]);
  });

  test("wrap wide characters anywhere but before punctuation", async () => {
    expect(await linesOf(["日本語日本語。日本語です"], { width: 12 })).toEqual([
      "日本語日本",
      "語。日本語で",
      "す",
    ]);
  });

  test("keep emoji of several code points whole", async () => {
    expect(await linesOf(["👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻"], { width: 12 })).toEqual(["👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻👩🏽‍💻", "👩🏽‍💻"]);
  });

  test("leave a word that is wider than the page whole", async () => {
    const address = "https://example.com/a/very/long/path";
    expect(await linesOf([`see ${address} there`], { width: 20 })).toEqual([
      "see",
      address,
      "there",
    ]);
  });

  test("accept the line endings of Windows and classic Mac OS", async () => {
    expect(await streamMarkdown(["one\r", "\ntwo\r\r", "three\r\n"])).toBe("one two\n\nthree\n");
  });
});

describe("marks in text", () => {
  test("become colours", async () => {
    const text = "**strong** *soft* `code  x` ~~gone~~ **_both_** ~5 2*3 snake_case_name \\*no\\*";
    expect(await linesOf([text], { paint: bracketed, width: 200 })).toEqual([
      "<bold>strong</> <italic>soft</> <cyan>code</>  <cyan>x</> <dim>~~</><dim>gone</><dim>~~</> <bold><italic>both</></> ~5 2*3 snake_case_name *no*",
    ]);
  });

  test("stay visible without colours", async () => {
    const text = "**strong** *soft* `` co`de `` ~~gone~~";
    expect(await linesOf([text])).toEqual(["**strong** *soft* ``co`de`` ~~gone~~"]);
  });

  test("span lines", async () => {
    expect(await linesOf(["a **b", "c** d"], { paint: bracketed })).toEqual([
      "a <bold>b</> <bold>c</> d",
    ]);
  });

  test("include entities and HTML tags", async () => {
    expect(await linesOf(["&lt;b&gt; &amp; &#x41; &nope; <b>x</b> a<br>b"])).toEqual([
      "<b> & A &nope; <b>x</b> a",
      "b",
    ]);
  });
});

describe("links", () => {
  const on = { hyperlinks: true, width: 200 };

  test.each([
    ["[text](https://a.b/c)", "text (https://a.b/c)"],
    ["[https://a.b](https://a.b)", "https://a.b"],
    ["<https://a.b> www.a.b me@a.b", "https://a.b www.a.b me@a.b"],
    ["![alt](a.png) ![](b.png)", "alt (a.png) image (b.png)"],
  ])("of %s are shown as %s if they are not safe to follow", async (text, shown) => {
    expect(await linesOf([text], { width: 200 })).toEqual([shown]);
  });

  test.each([
    ["a text", "[t](https://a.b/c?d=1&amp;e)", link("https://a.b/c?d=1&e", "t")],
    [
      "each word",
      "[t u](mailto:a@b.c)",
      `${link("mailto:a@b.c", "t")} ${link("mailto:a@b.c", "u")}`,
    ],
    ["an address", "https://a.b/c", link("https://a.b/c", "https://a.b/c")],
    ["no file", "[t](file:///etc/passwd)", "t (file:///etc/passwd)"],
    ["no script", "[t](javascript:alert)", "t (javascript:alert)"],
    ["nothing relative", "[t](./a.md)", "t (./a.md)"],
    [
      "another address than it says",
      "[https://good.org](https://evil.org/)",
      `${link("https://evil.org/", "https://good.org")} (https://evil.org/)`,
    ],
  ])("that can be followed: %s", async (_what, text, shown) => {
    expect(await linesOf([text], on)).toEqual([shown]);
  });

  test("find their definitions, which are also shown", async () => {
    const document = [
      "[One]: https://a.b 'x'",
      "[two]: <c d>",
      "",
      "[t][one], [ONE], [two] [three]",
    ];
    expect(await linesOf(document, { width: 80 })).toEqual([
      "[One]: https://a.b 'x'",
      "[two]: <c d>",
      "",
      "t (https://a.b), ONE (https://a.b), two (c d) [three]",
    ]);
  });
});

describe("headings and rules", () => {
  test("are bold or keep their marks, with blank lines between them", async () => {
    const document = ["# One #", "text", "## `Two`", "***", "#tag"];
    expect([
      await linesOf(document, { paint: bracketed, width: 10 }),
      await linesOf(document),
    ]).toEqual([
      [
        "<bold>One</>",
        "",
        "text",
        "",
        "<bold><cyan>Two</></>",
        "",
        `<dim>${"─".repeat(12)}</>`,
        "",
        "#tag",
      ],
      ["# One", "", "text", "", "## `Two`", "", "─".repeat(40), "", "#tag"],
    ]);
  });

  test("of the underlined kind get a line below", async () => {
    expect(await linesOf(["Ünder", "lined", "===", "", "日本", "--", "", "---"])).toEqual([
      "Ünder lined",
      "═══════════",
      "",
      "日本",
      "────",
      "",
      "─".repeat(40),
    ]);
  });
});

describe("HTML", () => {
  test("is shown unchanged up to its end", async () => {
    const document = ["<details>", "  <b>*x*</b>", "", "*y*", "", "<!-- a", "", "b -->", "z"];
    expect(await linesOf(document)).toEqual([
      "<details>",
      "  <b>*x*</b>",
      "",
      "*y*",
      "",
      "<!-- a",
      "",
      "b -->",
      "",
      "z",
    ]);
  });
});
