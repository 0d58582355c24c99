import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";
import { plain, wrapWords } from "../render/index.ts";
import { pagerStart, pager, type PagerEnding, type PagerState, withTextAbove } from "./pager.ts";
import type { Widget } from "./widget.ts";

function view(lines = numbered(10), size = { columns: 80, rows: 4 }, mustRead = false) {
  return new TypedWidget(pager({ linesFor: () => lines, mustRead }), pagerStart, size);
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `line ${index + 1}`);
}

test("shows a page and its position", () => {
  expect(view().screen).toEqual([
    "line 1",
    "line 2",
    "line 3",
    "▮1-3 of 10 · ↑↓ PageUp PageDown Home End · q back",
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

test.each(["q", "v", "\u000f"])("%j closes it", (input) => {
  expect(view().type(input).ending).toEqual({ type: "left", isRead: false });
});

test("long lines continue in the next row", () => {
  const open = view(["abcdefgh", "i"], { columns: 5, rows: 5 });
  expect(open.screen.slice(0, 4)).toEqual(["abcde", "fgh", "i", ""]);
});

describe("a text that must be read", () => {
  const size = { columns: 90, rows: 4 };
  const must = (lines = numbered(10), own = size) => view(lines, own, true);

  test("starts at the beginning, and shows how much follows and which keys to press", () => {
    expect(must().screen).toEqual([
      "line 1",
      "line 2",
      "line 3",
      "▮… 7 more lines · Space/PgDn continue · End skip to the end · Esc cancel · 1-3 of 10",
    ]);
  });

  test.each([
    [79, "… 7 more lines · Space/PgDn continue · End skip to the end · Esc cancel"],
    [42, "… 7 more lines · Space continue · End skip"],
    [28, "… 7 more lines · Space, End"],
    [10, "… 7 more …"],
  ])("shows shorter hints on a screen of %i columns", (columns, status) => {
    const { screen } = must(numbered(10), { columns, rows: 4 });
    expect(screen.at(-1)).toBe(`▮${status}`);
  });

  test.each(["y", "n", "Y", "N", "1", "\r", "\n", "q", "v", "\u000f", "\t", "yes\r", "\u001b[B"])(
    "is not left by any key before its end was shown: %j",
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
  ])("can be closed after %s", (_way, keys) => {
    expect(must().type(keys).ending).toEqual({ type: "left", isRead: true });
  });

  test("stays open at its end until a key that cannot be an answer", () => {
    const open = must().type("   \r\ry\u001b[B");
    expect([open.ending, open.screen[0], open.screen.at(-1)]).toEqual([
      undefined,
      "line 8",
      "▮End of text · Space go to the question · PgUp back · Esc cancel · 8-10 of 10",
    ]);
  });

  test("is cancelled by Ctrl-D", () => {
    expect(must().type("\u0004").ending).toEqual({ type: "cancelled" });
  });

  test("fits on a screen of one row", () => {
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
  ])(
    "continues with the first unseen text when the screen changes its size: %s",
    (_how, before, after) => {
      counters("T-TERM-7");
      const words = Array.from({ length: 200 }, (_, index) => `w${index}`);
      const widget = pager({
        linesFor: (columns) => wrapWords(words.join(" "), columns),
        mustRead: true,
      });
      const seen = new Set<string>();
      let state: PagerState = pagerStart;
      let ending: PagerEnding | undefined;
      for (let step = 0; ending === undefined; step += 1) {
        const canvas = { columns: step < 4 ? before : after, rows: 4, paint: plain };
        const { rows } = widget.view(state, canvas);
        for (const word of rows.slice(0, 3).join(" ").split(" ")) seen.add(word);
        const next = widget.update(state, { type: "text", text: " " }, canvas);
        if ("state" in next) ({ state } = next);
        else ({ ending } = next);
      }
      expect(words.filter((word) => !seen.has(word))).toEqual([]);
    },
  );
});

describe("a text above a question", () => {
  const END = "\u001b[F";
  const question: Widget<string, string> = {
    update: (typed, key) =>
      key.type === "text" && /^[yn]$/.test(key.text)
        ? { ending: key.text === "y" ? "yes" : "no" }
        : { state: typed + (key.type === "named" ? `<${key.name}>` : key.text) },
    stepBack: (typed) => (typed === "" ? undefined : ""),
    canEndUnread: (ending) => ending === "no",
    view: (typed) => ({ rows: [`? ${typed}`], cursor: { row: 0, column: 2 } }),
  };

  function above(count: number, size = { columns: 60, rows: 6 }) {
    const widget = withTextAbove({ linesFor: () => numbered(count) }, question);
    return { widget, typed: new TypedWidget(widget, { own: "", text: pagerStart }, size) };
  }

  test("shows its first lines, and how to see the rest", () => {
    expect(above(240).typed.screen).toEqual([
      "line 1",
      "line 2",
      "line 3",
      "line 4",
      "… 236 more lines · End shows the rest · Space next page",
      "? ▮",
    ]);
  });

  test("is read with End, and then a key answers the question", () => {
    const { typed } = above(240);
    const { screen } = typed.type(END);
    expect([screen, typed.type("y").ending]).toEqual([
      ["line 237", "line 238", "line 239", "line 240", "237-240 of 240 · PgUp PgDn scroll", "? ▮"],
      "yes",
    ]);
  });

  test("cannot be approved before, and says so", () => {
    counters("T-TERM-7");
    const { typed } = above(240);
    expect([typed.type("y").ending, typed.screen[4]]).toEqual([
      undefined,
      "Read to the end first (End) · … 236 more lines",
    ]);
  });

  test("can be turned down before", () => {
    expect(above(240).typed.type("n").ending).toBe("no");
  });

  test("scrolls with End even while something is typed, and with Space only before", () => {
    const { typed } = above(240);
    typed.type("x ");
    expect([typed.state.own, typed.screen[0]]).toEqual(["x ", "line 1"]);
    expect(typed.type(END).screen[0]).toBe("line 237");
  });

  test("can be read page by page, and again afterwards", () => {
    const { typed } = above(9);
    const pages = [" ", " ", "\u001b[5~", "\u001b[6~", "x"].map((key) => typed.type(key).screen[0]);
    expect([pages, typed.state.own]).toEqual([
      ["line 5", "line 6", "line 2", "line 6", "line 6"],
      "x",
    ]);
  });

  test("takes one key at a time until its end was drawn", () => {
    counters("T-TERM-7");
    const { widget, typed } = above(240);
    const before = widget.isDrawnBetweenKeys;
    const { screen } = typed.type(END);
    expect([before, screen.length, widget.isDrawnBetweenKeys]).toEqual([true, 6, false]);
  });

  test("fits its hint into few columns without breaking a word", () => {
    const hints = [60, 40, 20, 12].map(
      (columns) => above(99, { columns, rows: 6 }).typed.screen[4],
    );
    expect(hints).toEqual([
      "… 95 more lines · End shows the rest · Space next page",
      "… 95 more lines · End, Space",
      "… 95 more lines",
      "… 95 more …",
    ]);
  });
});
