import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { TypedWidget } from "../../test/support/typed-widget.ts";
import { plain, wrapWords } from "../render/index.ts";
import { fromStart, pager, type PagerEnding, type PagerState } from "./pager.ts";

function view(lines = numbered(10), size = { columns: 80, rows: 4 }, mustRead = false) {
  return new TypedWidget(pager({ linesFor: () => lines, mustRead }), fromStart, size);
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
  expect(view().type(input).ending).toEqual({ type: "left", isRead: false });
});

test("long lines go on in the next row", () => {
  const open = view(["abcdefgh", "i"], { columns: 5, rows: 5 });
  expect(open.screen.slice(0, 4)).toEqual(["abcde", "fgh", "i", ""]);
});

describe("a text that must be read", () => {
  const size = { columns: 90, rows: 4 };
  const must = (lines = numbered(10), own = size) => view(lines, own, true);

  test("begins at its beginning, and says how much follows and by which keys", () => {
    expect(must().screen).toEqual([
      "line 1",
      "line 2",
      "line 3",
      "▮… 7 more lines: Space or PgDn reads on, End skips to the end, Esc cancels · 1-3 of 10",
    ]);
  });

  test.each([
    [79, "… 7 more lines: Space or PgDn reads on, End skips to the end, Esc cancels"],
    [42, "… 7 more lines: Space reads on, End skips"],
    [28, "… 7 more lines: Space, End"],
    [10, "… 7 more …"],
  ])("says so on a screen of %i columns, too", (columns, status) => {
    const { screen } = must(numbered(10), { columns, rows: 4 });
    expect(screen.at(-1)).toBe(`▮${status}`);
  });

  test.each(["y", "n", "Y", "N", "1", "\r", "\n", "q", "v", "\u000f", "\t", "yes\r", "\u001b[B"])(
    "is not left by %j before its end was shown",
    (keys) => {
      counters("T-TERM-7");
      expect(must().type(keys.repeat(5)).ending).toBeUndefined();
    },
  );

  test.each([
    ["pages", "    "],
    ["page keys", "\u001b[6~\u001b[6~\u001b[6~\u001b[6~"],
    ["the end, skipped to on purpose", "\u001b[F "],
    ["lines", `${"\u001b[B".repeat(7)}q`],
    ["the end, and a look back", "\u001b[F\u001b[Hq"],
  ])("is left after %s", (_way, keys) => {
    expect(must().type(keys).ending).toEqual({ type: "left", isRead: true });
  });

  test("stays at its end until it is left by a key that answers nothing", () => {
    const open = must().type("   \r\ry\u001b[B");
    expect([open.ending, open.screen[0], open.screen.at(-1)]).toEqual([
      undefined,
      "line 8",
      "▮End of text: Space goes to the question, PgUp goes back, Esc cancels · 8-10 of 10",
    ]);
  });

  test("is given up by Ctrl-D", () => {
    expect(must().type("\u0004").ending).toEqual({ type: "cancelled" });
  });

  test("is shown in a single row if there is no other", () => {
    const open = must(numbered(3), { columns: 20, rows: 1 });
    expect([open.screen, open.type("  ").screen, open.type(" ").ending]).toEqual([
      ["▮line 1"],
      ["▮line 3"],
      { type: "left", isRead: true },
    ]);
  });

  test.each([
    ["wider", 10, 40],
    ["narrower", 40, 7],
  ])("goes on with what was not seen yet when the screen gets %s", (_how, before, after) => {
    counters("T-TERM-7");
    const words = Array.from({ length: 200 }, (_, index) => `w${index}`);
    const widget = pager({
      linesFor: (columns) => wrapWords(words.join(" "), columns),
      mustRead: true,
    });
    const seen = new Set<string>();
    let state: PagerState = fromStart;
    let ending: PagerEnding | undefined;
    for (let step = 0; ending === undefined; step += 1) {
      const canvas = { columns: step < 4 ? before : after, rows: 4, paint: plain };
      const { rows } = widget.view(state, canvas);
      for (const word of rows.slice(0, 3).join(" ").split(" ")) seen.add(word);
      const next = widget.update(state, { type: "text", text: " " }, canvas);
      if (next.type === "wait") state = next.state;
      else ({ ending } = next);
    }
    expect(words.filter((word) => !seen.has(word))).toEqual([]);
  });
});
