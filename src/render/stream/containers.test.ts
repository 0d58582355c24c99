import { describe, expect, test } from "vitest";
import { bracketed, linesOf } from "../../../test/support/markdown-stream.ts";

describe("lists", () => {
  test("are nested, wrapped below their text, and as loose as they were written", async () => {
    const document = [
      "Things:",
      "- one that is too long for its line",
      "  - nested that is too long",
      "    1. deep",
      "- two",
      "",
      "- three",
      "",
      "  its second paragraph",
      "* another list",
    ];
    expect(await linesOf(document, { width: 20 })).toEqual([
      "Things:",
      "",
      "• one that is too",
      "  long for its line",
      "  • nested that is",
      "    too long",
      "    1. deep",
      "• two",
      "",
      "• three",
      "",
      "  its second",
      "  paragraph",
      "",
      "• another list",
    ]);
  });

  test("count on from their first number", async () => {
    const document = ["9. a", "9. b", "   b", "1. c", "", "text", "", "7) d"];
    expect(await linesOf(document)).toEqual(["9. a", "10. b b", "11. c", "", "text", "", "7) d"]);
  });

  test("show the boxes of tasks", async () => {
    const document = ["- [x] done", "- [ ] open", "  more", "- [x]no", "1. [X] first"];
    expect(await linesOf(document)).toEqual([
      "[x] done",
      "[ ] open more",
      "• [x]no",
      "",
      "1. [X] first",
    ]);
  });

  test("hold code, quotes, tables and nothing", async () => {
    const document = [
      "1. a",
      "   ```",
      "     code",
      "",
      "   ```",
      "   > quote",
      "2.",
      "3. | a | b |",
      "   |---|---|",
      "   | 1 | 2 |",
      "-",
      "",
      "  text",
    ];
    expect(await linesOf(document)).toEqual([
      "1. a",
      "   ```",
      "     code",
      "",
      "   ```",
      "   │ quote",
      "2.",
      "3. a │ b",
      "   ──┼──",
      "   1 │ 2",
      "",
      "•",
      "",
      "text",
    ]);
  });

  test("are not begun by a number in the middle of a paragraph", async () => {
    expect(await linesOf(["It was", "1984. Really.", "- a list"])).toEqual([
      "It was 1984. Really.",
      "",
      "• a list",
    ]);
  });

  test("measure tabs in columns", async () => {
    expect(await linesOf(["-\ta", "", "\tb", "\t- c", "1.\td"])).toEqual([
      "• a",
      "",
      "  b",
      "  • c",
      "",
      "1. d",
    ]);
  });
});

describe("quotes", () => {
  test("have a bar before each line, also where lines were left bare", async () => {
    const document = ["> one two three", "four", ">", "> > five", "> - six", "", "> seven"];
    expect(await linesOf(document, { width: 14 })).toEqual([
      "│ one two",
      "│ three four",
      "│",
      "│ │ five",
      "│",
      "│ • six",
      "",
      "│ seven",
    ]);
  });

  test("have a dim bar where there are colours", async () => {
    expect(await linesOf(["> a", ">", "> b"], { paint: bracketed })).toEqual([
      "<dim>│</> a",
      "<dim>│</>",
      "<dim>│</> b",
    ]);
  });

  test("of more levels than make sense are text", async () => {
    const bars = "│ ".repeat(12);
    expect(await linesOf([`${">".repeat(14)} deep`])).toEqual([`${bars}>> deep`]);
  });
});

describe("code", () => {
  test("stands between fences as it is, in no language that is known", async () => {
    const document = [
      "~~~ what-is-this *x*",
      "  a <b> *c*",
      "\tlong line that is not wrapped by us",
      "```",
      "~~~",
      "after",
    ];
    expect(await linesOf(document, { paint: bracketed })).toEqual([
      "<dim>```what-is-this *x*</>",
      "  a <b> *c*",
      "\tlong line that is not wrapped by us",
      "```",
      "<dim>```</>",
      "",
      "after",
    ]);
  });

  test("is coloured in its language, across lines", async () => {
    const document = ["```TS title=x", "const a = `b", "c`; /* d", "e */ f();", "```"];
    expect(await linesOf(document, { paint: bracketed })).toEqual([
      "<dim>```TS title=x</>",
      "<magenta>const</> a = <green>`b</>",
      "<green>c`</>; <dim>/* d</>",
      "<dim>e */</> <bold>f</>();",
      "<dim>```</>",
    ]);
  });

  test("ends with the text, or with the container, where nobody closed it", async () => {
    expect(await linesOf(["> ```", "> a", "b", "```", "c"])).toEqual([
      "│ ```",
      "│ a",
      "│ ```",
      "",
      "b",
      "",
      "```",
      "c",
      "```",
    ]);
  });

  test("that is indented is code too, without the blank lines behind it", async () => {
    expect(await linesOf(["    a", "", "      b", "", "", "c"])).toEqual([
      "```",
      "a",
      "",
      "  b",
      "```",
      "",
      "c",
    ]);
  });
});
