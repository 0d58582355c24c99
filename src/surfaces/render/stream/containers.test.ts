import { describe, expect, test } from "vitest";
import { bracketed, linesOf, ruled } from "../markdown-stream.fixture.ts";

describe("lists", () => {
  test("are nested, wrapped below their text, and keep their spacing", async () => {
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

  test("count up from their first number", async () => {
    const document = ["9. a", "9. b", "   b", "1. c", "", "text", "", "7) d"];
    expect(await linesOf(document)).toEqual(["9. a", "10. b b", "11. c", "", "text", "", "7) d"]);
  });

  test("show checkboxes", async () => {
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

  test("do not start with a number in the middle of a paragraph", async () => {
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
  test("have a bar before each line, even before lazy continuation lines", async () => {
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

  test("nested too deeply are text", async () => {
    const bars = "│ ".repeat(12);
    expect(await linesOf([`${">".repeat(14)} deep`])).toEqual([`${bars}>> deep`]);
  });
});

describe("code", () => {
  test("is shown unchanged between fences if its language is unknown", async () => {
    const document = [
      "~~~ what-is-this *x*",
      "  a <b> *c*",
      "\tlong line that is not wrapped by us",
      "```",
      "~~~",
      "after",
    ];
    expect(await linesOf(document, { paint: bracketed })).toEqual([
      ruled("what-is-this *x*"),
      "  a <b> *c*",
      "\tlong line that is not wrapped by us",
      "```",
      ruled(),
      "",
      "after",
    ]);
  });

  test("is coloured in its language, across lines", async () => {
    const document = ["```TS title=x", "const a = `b", "c`; /* d", "e */ f();", "```"];
    expect(await linesOf(document, { paint: bracketed })).toEqual([
      ruled("TS title=x"),
      "<magenta>const</> a = <green>`b</>",
      "<green>c`</>; <dim>/* d</>",
      "<dim>e */</> <bold>f</>();",
      ruled(),
    ]);
  });

  test("ends with the text or its container if it is not closed", async () => {
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

  test("can also be indented, and then ends before trailing blank lines", async () => {
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
