import { expect, test } from "vitest";
import { TypedWidget } from "../../../test/support/typed-widget.ts";
import { plain } from "../../render/index.ts";
import { selectList } from "./select-list.ts";
import { type Standing, standBelow, standingRows } from "./standing.ts";

const STANDING: Standing = {
  answered: [
    { message: "Name?", said: "Ada\u001b[2J\nLovelace" },
    { message: "Which of all these?", said: "the very first one" },
  ],
};
const OPTIONS = Array.from({ length: 9 }, (_, index) => ({ label: `option ${index + 1}` }));

function listBelow(standing: Standing, rows: number) {
  const list = selectList({ message: "Then?", options: OPTIONS }, { hasMore: false });
  const start = { filter: "", active: 8, marked: [] };
  return new TypedWidget(standBelow(standing, list), start, { columns: 30, rows });
}

test("what was answered is a line each, and the question stands below", () => {
  expect(listBelow(STANDING, 11).type("9").screen).toEqual([
    "✔ Name? Ada␛[2J Lovelace",
    "✔ Which of all… the very firs…",
    "? Then? 9▮",
    "❯ option 9",
    "  ↑↓ move · type to filter · …",
  ]);
});

test("a list below has fewer rows on a low screen", () => {
  const { screen } = listBelow(STANDING, 11);
  expect([screen.length, screen.slice(2, 4)]).toEqual([11, ["? Then? ▮", "  option 3"]]);
});

test("a list keeps its least, whatever stands above", () => {
  expect(listBelow({ ...STANDING, context: { text: "a\nb\nc", room: 6 } }, 10).screen.length).toBe(
    5 + 8,
  );
});

test.each([
  { what: "is there whole", rows: 20, text: "+a\u001b[2J\n\tb", hasMore: false },
  { what: "is cut", rows: 13, text: "1\n2\n3\n4\n5\n6", hasMore: true },
  { what: "may be out of sight", rows: 11, text: "1\n2", hasMore: true },
])("a context that $what on $rows rows: $hasMore", ({ rows, text, hasMore }) => {
  const canvas = { columns: 30, rows, paint: plain };
  expect(standingRows({ ...STANDING, context: { text, room: 6 } }, canvas).hasMore).toBe(hasMore);
});

test("a context is made harmless and wrapped", () => {
  const context = { text: `a\t日\u202e${"x".repeat(10)}`, room: 6 };
  expect(
    standingRows({ answered: [], context }, { columns: 16, rows: 20, paint: plain }).rows,
  ).toEqual(["a    日<U+202E>x", "xxxxxxxxx"]);
});
