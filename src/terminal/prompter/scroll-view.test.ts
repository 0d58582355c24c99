import { expect, test } from "vitest";
import { TypedWidget } from "../../../test/support/typed-widget.ts";
import { scrollView } from "./scroll-view.ts";

function view(lines = numbered(10), size = { columns: 80, rows: 4 }) {
  return new TypedWidget(
    scrollView(() => lines),
    { top: 0 },
    size,
  );
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `line ${index + 1}`);
}

test("shows a page, and where it is", () => {
  expect(view().screen).toEqual([
    "line 1",
    "line 2",
    "line 3",
    "▮1-3 of 10 · ↑↓ PageUp PageDown Home End · q goes back",
  ]);
});

test.each([
  ["\u001b[B", "line 2"],
  ["\u001b[B\u001b[A\u001b[A", "line 1"],
  ["\u001b[6~", "line 4"],
  [" ", "line 4"],
  ["\u001b[6~\u001b[5~", "line 1"],
  ["\u001b[F", "line 8"],
  ["\u001b[F\u001b[B", "line 8"],
  ["\u001b[F\u001b[H", "line 1"],
  ["x", "line 1"],
])("%j goes to %j", (input, first) => {
  expect(view().type(input).screen[0]).toBe(first);
});

test.each(["q", "v", "\u000f"])("%j leaves it", (input) => {
  expect(view().type(input).ending).toEqual({ type: "left" });
});

test("long lines go on in the next row", () => {
  const open = view(["abcdefgh", "i"], { columns: 5, rows: 5 });
  expect(open.screen.slice(0, 4)).toEqual(["abcde", "fgh", "i", ""]);
});
