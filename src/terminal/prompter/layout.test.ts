import { expect, test } from "vitest";
import { wrapCode, wrapWords } from "../../render/index.ts";
import { layOutText, stackRows } from "./layout.ts";
import { bufferOf } from "./text-buffer.ts";

const PLACE = { columns: 6, start: 4, indent: 2 };

test.each([
  { text: "", rows: [""], cursor: { row: 0, column: 4 } },
  { text: "ab", rows: ["ab"], cursor: { row: 0, column: 6 } },
  { text: "abc", rows: ["ab", "  c"], cursor: { row: 1, column: 3 } },
  { text: "a日", rows: ["a", "  日"], cursor: { row: 1, column: 4 } },
  { text: "a\n\nb", rows: ["a", "  ", "  b"], cursor: { row: 2, column: 3 } },
  { text: "a\r\nb", rows: ["a", "  b"], cursor: { row: 1, column: 3 } },
  { text: "\u001b[", rows: ["␛["], cursor: { row: 0, column: 6 } },
])("$text stands in rows with the cursor behind it", ({ text, rows, cursor }) => {
  expect(layOutText(bufferOf(text), PLACE)).toEqual({ rows, cursor });
});

test("the cursor stands in the middle of the text", () => {
  const { cursor } = layOutText({ text: "ab日cd", cursor: 3 }, PLACE);
  expect(cursor).toEqual({ row: 1, column: 4 });
});

test("words are kept together, and wide characters count twice", () => {
  expect(wrapWords("? Apply it to 日本語 now?", 10)).toEqual(["? Apply it", "to 日本語", "now?"]);
});

test("code keeps its white space", () => {
  expect(wrapCode("\tif  (a)", 8)).toEqual(["    if  ", "(a)"]);
});

test.each([
  { active: 0, rows: ["head", "0", "1", "2", "foot"], activeRow: 1 },
  { active: 4, rows: ["head", "3", "4", "5", "foot"], activeRow: 2 },
  { active: 9, rows: ["head", "7", "8", "9", "foot"], activeRow: 3 },
])("of ten rows those around $active are seen", ({ active, rows, activeRow }) => {
  const body = Array.from({ length: 10 }, (_, index) => `${index}`);
  expect(stackRows({ head: ["head"], body, active, foot: ["foot"] }, 5)).toEqual({
    rows,
    activeRow,
  });
});
