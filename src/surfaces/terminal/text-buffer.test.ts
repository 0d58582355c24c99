import * as fc from "fast-check";
import { expect, test } from "vitest";
import { textWidth, wrapCode, wrapWords } from "../render/index.ts";
import { graphemesOf } from "../../util/index.ts";
import { decodeInput, isKey } from "./key.ts";
import { bufferOf, editBuffer, layOutText, pasteInto, type TextBuffer } from "./text-buffer.ts";

const LEFT = "\u001b[D";
const RIGHT = "\u001b[C";
const UP = "\u001b[A";
const DOWN = "\u001b[B";

test.each([
  ["at the cursor", "ab▮d", "c", "abc▮d"],
  ["a line break", "ab▮c", "\n", "ab\n▮c"],
  ["a pasted text", "a▮", "\u001b[200~1\r2\u001b[201~", "a1\n2▮"],
  ["nothing for an unknown key", "ab▮", "\u0019", "ab▮"],
])("typing inserts %s", (_what, before, input, after) => {
  expect(edited(before, input)).toBe(after);
});

test.each([
  ["before the cursor", "abc▮d", "\u007f", "ab▮d"],
  ["not at the start", "▮a", "\u007f", "▮a"],
  ["a character of several code points", "x👨‍👩‍👧▮", "\u007f", "x▮"],
  ["a line break", "a\n▮b", "\u007f", "a▮b"],
  ["after the cursor", "a▮bc", "\u001b[3~", "a▮c"],
  ["after the cursor, by Ctrl-D", "a▮bc", "\u0004", "a▮c"],
  ["not at the end", "a▮", "\u001b[3~", "a▮"],
  ["to the start of the line", "one\ntwo th▮ree", "\u0015", "one\n▮ree"],
  ["to the end of the line", "o▮ne\ntwo", "\u000b", "o▮\ntwo"],
  ["a word", "one two  ▮three", "\u0017", "one ▮three"],
])("deletes %s", (_what, before, input, after) => {
  expect(edited(before, input)).toBe(after);
});

test.each([
  ["left over a wide character", "a日▮b", LEFT, "a▮日b"],
  ["right over an emoji", "▮👍🏽b", RIGHT, "👍🏽▮b"],
  ["left over a line break", "a\n▮b", LEFT, "a▮\nb"],
  ["nowhere at the start", "▮a", LEFT, "▮a"],
  ["nowhere at the end", "a▮", RIGHT, "a▮"],
  ["to the start of its line", "one\ntwo▮", "\u0001", "one\n▮two"],
  ["to the end of its line", "o▮ne\ntwo", "\u0005", "one▮\ntwo"],
  ["a word back", "one two▮", "\u001bb", "one ▮two"],
  ["a word on", "▮one two", "\u001bf", "one▮ two"],
  ["up in its column", "one\ntw▮o", UP, "on▮e\ntwo"],
  ["up to the end of a shorter line", "a\ntwo▮", UP, "a▮\ntwo"],
  ["up to the start of the first line", "on▮e", UP, "▮one"],
  ["down in its column", "o▮ne\n日本", DOWN, "one\n日▮本"],
  ["down to the end of the last line", "o▮ne", DOWN, "one▮"],
])("moves %s", (_what, before, input, after) => {
  expect(edited(before, input)).toBe(after);
});

/** The cursor is where `▮` is. */
function edited(before: string, input: string): string {
  let buffer: TextBuffer = { text: before.replace("▮", ""), cursor: before.indexOf("▮") };
  for (const key of decodeInput(input).sent.filter(isKey)) {
    buffer = editBuffer(buffer, key) ?? buffer;
  }
  return `${buffer.text.slice(0, buffer.cursor)}▮${buffer.text.slice(buffer.cursor)}`;
}

const PLACE = { columns: 6, start: 4, indent: 2 };

test.each([
  { text: "", rows: [""], cursor: { row: 0, column: 4 } },
  { text: "ab", rows: ["ab"], cursor: { row: 0, column: 6 } },
  { text: "abc", rows: ["", "  abc"], cursor: { row: 1, column: 5 } },
  { text: "abcde", rows: ["ab", "  cde"], cursor: { row: 1, column: 5 } },
  { text: "a日", rows: ["a", "  日"], cursor: { row: 1, column: 4 } },
  { text: "日本語日", rows: ["日", "  本語", "  日"], cursor: { row: 2, column: 4 } },
  { text: "a bc d", rows: ["a ", "  bc d"], cursor: { row: 1, column: 6 } },
  { text: "ab ", rows: ["ab", "  "], cursor: { row: 1, column: 2 } },
  { text: "ab cd", rows: ["ab", "  cd"], cursor: { row: 1, column: 4 } },
  { text: "ab  cd", rows: ["ab", "   cd"], cursor: { row: 1, column: 5 } },
  { text: "ab\nc", rows: ["ab", "  c"], cursor: { row: 1, column: 3 } },
  { text: "a\n\nb", rows: ["a", "  ", "  b"], cursor: { row: 2, column: 3 } },
  { text: "a\r\nb", rows: ["a", "  b"], cursor: { row: 1, column: 3 } },
  { text: "\u001b[", rows: ["␛["], cursor: { row: 0, column: 6 } },
])("$text is laid out with the cursor after it", ({ text, rows, cursor }) => {
  expect(layOutText(bufferOf(text), PLACE)).toEqual({ rows, cursor });
});

test("the cursor can be in the middle of the text", () => {
  const { cursor } = layOutText({ text: "ab日cd", cursor: 3 }, PLACE);
  expect(cursor).toEqual({ row: 1, column: 4 });
});

test("the cursor is before a space that ends a row, and then at the start of the next one", () => {
  const cursors = [2, 3].map((cursor) => layOutText({ text: "ab cd", cursor }, PLACE).cursor);
  expect(cursors).toEqual([
    { row: 0, column: 6 },
    { row: 1, column: 2 },
  ]);
});

test("a row can end anywhere, as on a terminal that became narrower", () => {
  const place = { columns: 4, start: 0, indent: 0, breaksWords: true };
  expect(layOutText(bufferOf("ab cde f"), place).rows).toEqual(["ab c", "de f"]);
});

test("whatever the text and the width, no row is too wide, no word that fits is broken, and the cursor never goes back", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "é", "日", "👍🏽", " ", "\n"),
    maxLength: 40,
  });
  const place = fc.record({
    columns: fc.integer({ min: 6, max: 20 }),
    start: fc.integer({ min: 2, max: 5 }),
    indent: fc.constant(2),
  });
  fc.assert(
    fc.property(text, place, (typed, where) => {
      const { rows } = layOutText(bufferOf(typed), where);
      const [first = "", ...others] = rows;
      const widths = [where.start + textWidth(first), ...others.map(textWidth)];
      expect(Math.max(...widths)).toBeLessThanOrEqual(where.columns);
      const isShown = (word: string) => rows.some((row) => row.includes(word));
      const short = typed.match(/[abé]+/g)?.filter(({ length }) => length <= where.columns - 2);
      expect(short?.filter((word) => !isShown(word)) ?? []).toEqual([]);
      const cursors = graphemesOf(typed).map((_, count, all) => {
        const cursor = all.slice(0, count).join("").length;
        return layOutText({ text: typed, cursor }, where).cursor;
      });
      const places = cursors.map(({ row, column }) => row * 100 + column);
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      expect(new Set(places).size).toBe(places.length);
    }),
  );
});

test("words stay together, and wide characters count twice", () => {
  expect(wrapWords("? Apply it to 日本語 now?", 10)).toEqual(["? Apply it", "to 日本語", "now?"]);
});

test("code keeps its white space", () => {
  expect(wrapCode("\tif  (a)", 8)).toEqual(["    if  ", "(a)"]);
});

test("marks and joiners without end are not all drawn into one cell", () => {
  const endless = bufferOf(`a${"\u200d".repeat(3000)}b`);
  const wide = { columns: 24, start: 0, indent: 0 };
  expect([PLACE, wide].map((place) => layOutText(endless, place).rows)).toEqual([
    ["", "  a<U…", "  b"],
    ["a<U+200D><U+200D><U+200…", "b"],
  ]);
});

test("whatever is typed around folded pastes, each stays whole or goes as a whole, and the cursor is never in one", () => {
  const keys = fc.constantFrom(
    ...Array.from("ab \n\u007f\u0001\u0005\u000b\u0015\u0017"),
    LEFT,
    RIGHT,
    UP,
    DOWN,
    "\u001bb",
    "\u001bf",
    "\u001b[3~",
    "paste",
  );
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 40 }), (typed) => {
      let buffer = bufferOf("");
      for (const key of typed) {
        if (key === "paste") buffer = pasteInto(buffer, PASTED);
        else
          for (const sent of decodeInput(key).sent.filter(isKey))
            buffer = editBuffer(buffer, sent) ?? buffer;
      }
      const { text, cursor, folds = [] } = buffer;
      expect(folds.map(({ start, end }) => text.slice(start, end))).toEqual(
        folds.map(() => PASTED),
      );
      expect(folds.filter(({ start, end }) => start < cursor && cursor < end)).toEqual([]);
      expect(text.split(PASTED)).toHaveLength(folds.length + 1);
      const { rows } = layOutText(buffer, { columns: 1000, start: 0, indent: 0 });
      expect(rows.join("\n").split("[pasted 12 lines]")).toHaveLength(folds.length + 1);
    }),
  );
});

const PASTED = Array.from({ length: 12 }, (_, index) => `${index}.`).join("\n");
