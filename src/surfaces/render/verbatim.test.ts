import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { verbatim, verbatimLines, verbatimProse } from "./verbatim.ts";
import { wrapVerbatim, wrapVerbatimLine } from "./wrap.ts";

/** Any text, with many of the characters that matter here. */
const anyValue = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 3 }),
      fc.string({ unit: "grapheme", maxLength: 3 }),
      fc.constantFrom(
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "<",
        "<U+",
        "00A0>",
        "spaces>",
        "RTL>",
        "⇥",
        "␛",
        "\u2421",
        "\x7f",
        "↳",
      ),
      fc.constantFrom(
        "\u00a0",
        "\u3000",
        "\u200b",
        "\u0301",
        "\u0338",
        "\ufe0f",
        "\u202e",
        "\u2800",
      ),
      fc.constantFrom(
        "a",
        "а",
        "α",
        "ж",
        "é",
        "א",
        "ب",
        "1",
        "١",
        "カ",
        "力",
        "ー",
        "한",
        "\ud800",
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

/** Undoes the notation: what can be read back cannot look like anything else. */
function readBack(shown: string): string {
  return shown.replaceAll(
    /<U\+([0-9A-F]+)>|<(\d+) spaces>|<\/?RTL>|⇥ {3}/g,
    (mark, code?: string, count?: string) => {
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      if (count !== undefined) return " ".repeat(Number(count));
      return mark.startsWith("⇥") ? "\t" : "";
    },
  );
}

/** Undoes the wrapping. */
function unwrap([first = "", ...others]: readonly string[]): string {
  return first + others.map((row) => (row.startsWith("↳") ? row.slice(1) : ` ${row}`)).join("");
}

/** Characters that are invisible, or look like a space. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800\p{Zl}\p{Zp}[\p{Zs}--[ ]]]/v;

/** Fails unless each value can be read back from how it is shown. */
function checkShown(show: (value: string) => string): void {
  fc.assert(
    fc.property(anyValue, (value) => {
      expect(readBack(show(value))).toBe(value);
    }),
  );
}

/** Undoes the pictures of controls. */
function withoutPictures(shown: string): string {
  return shown.replaceAll(/[\u2400-\u2421]/g, (one) =>
    one === "␡" ? "\x7f" : String.fromCharCode(one.charCodeAt(0) - 0x2400),
  );
}

describe("any two values that differ are shown differently", () => {
  test.each([
    ["on one line", verbatim],
    ["on several lines", (text: string) => verbatimLines(text).join("\n")],
    ["in prose", (text: string) => withoutPictures(verbatimProse(text))],
    ["on a page", (value: string) => verbatim(value, { marksDirection: false })],
  ])("wherever they are shown: %s", (_where, show) => {
    counters("T-TERM-11");
    expect(() => checkShown((value) => show(value))).not.toThrow();
  });

  test("on a screen of any width", () => {
    const widths = fc.integer({ min: 12, max: 40 });
    fc.assert(
      fc.property(anyValue, widths, (value, columns) => {
        const rows = wrapVerbatim(verbatim(value), columns);
        const endings = rows.slice(0, -1).filter((row) => row.endsWith(" "));
        expect([readBack(unwrap(rows)), endings]).toEqual([value, []]);
      }),
    );
  });
});

test("nothing is shown that cannot be seen, or that has another form", () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const shown = verbatim(value);
      expect(shown).not.toMatch(UNSEEN);
      expect([/\p{M}{4}/u.test(shown), shown.normalize("NFC")]).toEqual([false, shown]);
    }),
  );
});

test.each([
  ["two spaces", "a  b.txt", "a<2 spaces>b.txt"],
  ["a space at an end", " a.txt ", "<U+0020>a.txt<U+0020>"],
  ["many spaces", `ls${" ".repeat(300)}; rm -rf /`, "ls<300 spaces>; rm -rf /"],
  ["spaces of other widths", "a\u00a0b\u2003c\u3000d", "a<U+00A0>b<U+2003>c<U+3000>d"],
  ["white space that structures lines", "a\tb\r\nc", "a<U+0009>b<U+000D><U+000A>c"],
  ["the notation itself", "<U+00A0> <2 spaces> <b>", "<U+003C>U+00A0> <U+003C>2 spaces> <b>"],
  ["controls", "\x1b[2J\x9b\x7f", "<U+001B>[2J<U+009B><U+007F>"],
  ["direction controls", "a\u202eb\u2066", "a<U+202E>b<U+2066>"],
  [
    "what no font draws",
    "a\u200d\ufe0f\u00ad\u3164\u2800\u{e0041}",
    "a<U+200D><U+FE0F><U+00AD><U+3164><U+2800><U+E0041>",
  ],
  ["what is not assigned", "\ue000\u0378\ud800", "<U+E000><U+0378><U+D800>"],
  ["an accent that could be part of its letter", "cafe\u0301 café", "cafe<U+0301> café"],
  ["accents on nothing", "\u0301a/\u0338", "<U+0301>a/<U+0338>"],
  ["too many accents", "x\u0323\u0331\u0300\u0301", "x\u0323\u0331\u0300<U+0301>"],
  ["other forms of a letter", "ﬁ Ａ 𝐚 \u212a", "<U+FB01> <U+FF21> <U+1D41A> <U+212A>"],
  ["a word of two scripts", "pаypal", "p<U+0430>ypal"],
  [
    "a word that looks like a Latin one",
    "сору рос",
    "<U+0441><U+043E><U+0440><U+0443> <U+0440><U+043E><U+0441>",
  ],
  ["other digits", "৪ ١", "<U+09EA> <U+0661>"],
  [
    "signs that look like those of a shell",
    "rm –rf ‘x’ ∕",
    "rm <U+2013>rf <U+2018>x<U+2019> <U+2215>",
  ],
  [
    "letters that look like those of another Japanese script",
    "カ 口シア デ一タ",
    "<U+30AB> <U+53E3>シア デ<U+4E00><U+30BF>",
  ],
  ["right-to-left words", "א1 1א שלום עולם", "<RTL>א</RTL>1 1<RTL>א שלום עולם</RTL>"],
])("%s", (_what, value, shown) => {
  expect(verbatim(value)).toBe(shown);
});

test.each([
  "naïve café, Đà Nẵng, 10 € — don’t",
  "Россия, шапка; Ελλάδα; Հայաստան",
  "日本語 データ ロシア Tシャツ 한국어 中文，",
  "हिन्दी বাংলা ไทย น้ำ ქართული",
  "😀 👍 ✓ “so”",
])("words of living languages stay as they are: %s", (value) => {
  expect(verbatim(value)).toBe(value);
});

test("lines keep their indentation, and show what ends them", () => {
  expect(verbatimLines("if (a) {\r\n\tb  = 1; \n    \n}\n")).toEqual([
    "if (a) {<U+000D>",
    "⇥   b  = 1;<U+0020>",
    "<4 spaces>",
    "}",
    "",
  ]);
});

test("a row says whether it continues a word", () => {
  expect([
    wrapVerbatim("abcdef", 3),
    wrapVerbatim("abc def", 4),
    wrapVerbatim("ab 日本", 4),
    wrapVerbatim(verbatim("ab\u00a0cdefghi\u00a0"), 10),
    wrapVerbatim("one two three", 7, 4),
  ]).toEqual([
    ["abc", "↳de", "↳f"],
    ["abc", "def"],
    ["ab", "日本"],
    ["ab<U+00A0>", "↳cdefghi", "↳<U+00A0>"],
    ["one", "two", "three"],
  ]);
});

test("a row says that it continues a line, and keeps the spaces between", () => {
  expect([wrapVerbatimLine("+ab   cdef gh", 8), wrapVerbatimLine("abcdefghi", 6)]).toEqual([
    ["+ab   cd", "↳ ef gh"],
    ["abcdef", "↳ ghi"],
  ]);
});
