import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { firstLine, jsonLine, neutralize, oneLine, valueLine } from "./neutralize.ts";

/** Everything that a terminal acts on, written down once more. */
const DANGEROUS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/** Any text, with many of the characters that matter here. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom("\r\n", "\r", "\n", "\t", "\x1b[2J", "\x9b31m", "\u202e", "\x07", "\x7f"),
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(""));

describe("neutralizing", () => {
  test.each([
    ["an escape sequence", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"],
    ["a window title", "\x1b]0;title\x07", "␛]0;title␇"],
    ["a null", "\0", "␀"],
    ["a backspace", "safe\b\b\b\bevil", "safe␈␈␈␈evil"],
    ["a delete", "a\x7fb", "a␡b"],
    ["a C1 control, which has no picture", "\x9b31m\x85", "<U+009B>31m<U+0085>"],
    ["a change of direction", "abc\u202ecba\u2066", "abc<U+202E>cba<U+2066>"],
    ["a mark of direction", "\u061c\u200e\u200f", "<U+061C><U+200E><U+200F>"],
    ["other ends of a line", "a\u2028b\u2029c\vd\fe", "a<U+2028>b<U+2029>c␋d␌e"],
    ["a byte order mark", "\ufeffa", "<U+FEFF>a"],
    ["a return to the start of the line", "100%\r  0%", "100%␍  0%"],
  ])("shows %s", (_what, text, shown) => {
    expect(neutralize(text)).toBe(shown);
  });

  test("keeps line breaks and tabs, and normalizes Windows line breaks", () => {
    expect(neutralize("one\r\n\ttwo\n\nthree")).toBe("one\n\ttwo\n\nthree");
  });

  test.each([
    "naïve – 日本語 한국어 עברית العربية 👩🏽‍💻 ❤️ \u00a0",
    "👨‍👩‍👧‍👦 🏳️‍🌈 1️⃣ #️⃣ ☺︎ ©️ 👩‍❤️‍💋‍👨 🧑🏿‍🤝‍🧑🏻",
    "می‌خواهم क्‍ष ක්‍ර ᠠ\u180b",
    "葛\u{e0100} 神\ufe00",
  ])("leaves text of every language alone: %s", (text) => {
    expect([neutralize(text), jsonLine(text)]).toEqual([text, `"${text}"`]);
  });

  test.each([
    ["fillers of Hangul", "a\u3164b\u115f\u1160\uffa0"],
    ["blank letters of other scripts", "\u2800\u{1d159}\u{13430}"],
    ["soft hyphens and joiners of graphemes", "rm\u00ad\u034f -rf"],
    ["what Khmer and Mongolian do not draw", "\u17b4\u17b5\u180e"],
    ["invisible operators and tags", "\u2060\u2064\u{e0041}\u{e007f}"],
    ["controls of music and shorthand", "\u{1d173}\u{1bca0}"],
    ["what no character may be", "\ufffe\u{1ffff}"],
    ["joiners among letters that do not join", "pay\u200dpal\u200c"],
    ["joiners at the end of an emoji, and in a row", "👩\u200d 👩\u200d\u200d💻 ب\u200c\u200c"],
    ["variants of what has none", "a\ufe0f1\ufe0fb\ufe01\u{e0100}"],
    ["rows of variants, in which messages hide", "😀\ufe0f\ufe0f\u{e0101}葛\u{e0100}\u{e0101}"],
  ])("shows characters that would be invisible: %s", (_what, text) => {
    counters("T-TERM-8");
    const shown = neutralize(text).replaceAll(/<U\+[0-9A-F]+>/g, "");
    const kept = /\p{ExtPict}(?:\u200d|\ufe0f)|ب\u200c|葛\u{e0100}/gu;
    expect([
      /\p{Default_Ignorable_Code_Point}/u.test(shown.replaceAll(kept, "")),
      neutralize(text) === text,
      JSON.parse(jsonLine(text)),
    ]).toEqual([false, false, text]);
  });

  test("shows every character that Unicode calls default-ignorable", () => {
    counters("T-TERM-8");
    const ignorable = Array.from({ length: 0x110000 }, (_, code) =>
      String.fromCodePoint(code),
    ).filter((character) => /\p{Default_Ignorable_Code_Point}/u.test(character));
    expect(
      ignorable.filter((character) => neutralize(`a${character}b`).includes(character)),
    ).toEqual([]);
  });

  test("leaves no control characters in any text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(neutralize(text)).not.toMatch(DANGEROUS);
      }),
    );
  });

  test("changes nothing the second time", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(neutralize(neutralize(text))).toBe(neutralize(text));
      }),
    );
  });
});

describe("one line", () => {
  test.each([
    ["line breaks of all kinds", "a\nb\r\nc\rd\u2028e\vf", "a b c d e f"],
    ["runs of white space, and those at the ends", "  a \t\n  b  ", "a b"],
    ["escape sequences", "a\x1b[1Ab", "a␛[1Ab"],
    ["nothing but white space", " \n\t ", ""],
  ])("is made of %s", (_what, text, line) => {
    expect(oneLine(text)).toBe(line);
  });

  test("is one line whatever the text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(oneLine(text)).not.toMatch(/[\n\t]|^\s|\s$/);
        expect(oneLine(text)).not.toMatch(DANGEROUS);
      }),
    );
  });
});

describe("the first line", () => {
  test.each([
    ["of a single one is all of it", "Go on?", "Go on?"],
    ["of several has a mark behind it", "Go on?\n\n-old\n+new", "Go on? …"],
    ["is the first that says something", "\n\n  Go on?\n", "Go on?"],
    ["of Windows text is no different", "Go on?\r\nMore", "Go on? …"],
    ["cannot end in an escape sequence", "Go\x1b[K on?\nMore", "Go␛[K on? …"],
    ["of nothing is nothing", "", ""],
  ])("%s", (_what, text, line) => {
    expect(firstLine(text)).toBe(line);
  });
});

describe("a value", () => {
  test.each([
    [String.raw`C:\Users\x\.jp`, String.raw`"C:\Users\x\.jp"`],
    [String.raw`\\server\a folder\x`, String.raw`"\\server\a folder\x"`],
    ["C:\\a\u001b[2J", '"C:\\a␛[2J"'],
    ["a\\b", String.raw`"a\\b"`],
    ["C:\\a\nb", String.raw`"C:\\a\nb"`],
    [{ path: "C:\\a" }, String.raw`{"path":"C:\\a"}`],
  ])("is JSON, except for a Windows path: %j", (value, line) => {
    expect(valueLine(value)).toBe(line);
  });

  test.each([oneLine, neutralize])(
    "is shown unchanged in a message if it is such a path",
    (show) => {
      expect(show(String.raw`C:\Users\x\.jp: no such file`)).toBe(
        String.raw`C:\Users\x\.jp: no such file`,
      );
    },
  );
});

describe("JSON on one line", () => {
  test("escapes unsafe characters and leaves the rest readable", () => {
    const value = { text: "é日\x1b[31m\n\x7f\x9b\u202e\u2028\ufeff" };
    expect(jsonLine(value)).toBe(
      String.raw`{"text":"é日\u001b[31m\n\u007f\u009b\u202e\u2028\ufeff"}`,
    );
  });

  test("loses nothing and contains no control characters, whatever the value", () => {
    const anyValue = fc.dictionary(hostileText, fc.oneof(hostileText, fc.jsonValue()));
    fc.assert(
      fc.property(anyValue, (value) => {
        const line = jsonLine(value);
        expect(line).not.toMatch(/[\n\t]/);
        expect(line).not.toMatch(DANGEROUS);
        expect(line.isWellFormed()).toBe(true);
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
