import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { ListedOption, SelectList } from "./listed-options.ts";
import { selectList } from "./select-list.ts";

const UP = "\u001b[A";
const DOWN = "\u001b[B";
const FRUIT: readonly ListedOption[] = [
  { label: "apple", description: "red or green" },
  { label: "banana" },
  { label: "cherry", description: "with a stone" },
];
interface ListChanges extends Partial<Omit<SelectList, "options">> {
  readonly marked?: readonly number[];
  readonly note?: string;
  readonly read?: ReadonlySet<string>;
  readonly size?: { readonly columns?: number; readonly rows?: number };
}

const HINT = "  ↑↓ move · type to filter · Enter select";

function list(options: readonly ListedOption[] = FRUIT, active = 0, more: ListChanges = {}) {
  const { marked = [], note, read = new Set(), size, ...changes } = more;
  const sideActions = { hasMore: false, note, read };
  const widget = selectList({ message: "Which?", options, ...changes }, sideActions);
  return new TypedWidget(widget, { filter: "", active, marked }, size);
}

test("shows the options with their descriptions", () => {
  expect(list().screen).toEqual([
    "? Which? ▮",
    "❯ apple - red or green",
    "  banana",
    "  cherry - with a stone",
    HINT,
  ]);
});

test("shows the description of the active option in full, below the list if it needs room", () => {
  const options = [
    { label: "a", description: "something to know" },
    { label: "b", description: "something else to know" },
  ];
  const screens = [0, 1].map((active) =>
    list(options, active, { size: { columns: 24 } }).screen.slice(1, 5),
  );
  expect(screens).toEqual([
    ["❯ a - something to know", "  b - something else to…", expect.any(String), expect.any(String)],
    ["  a - something to know", "❯ b", "    something else to", "    know"],
  ]);
});

test.each([
  ["\r", 0, 0],
  [`${DOWN}\r`, 0, 1],
  [`${DOWN}${DOWN}${DOWN}\r`, 0, 0],
  [`${UP}\r`, 0, 2],
  ["\u001b[F\r", 0, 2],
  ["\u001b[H\r", 2, 0],
  ["an\r", 0, 1],
  ["AN\r", 0, 1],
  [`e${DOWN}\r`, 0, 2],
  ["\u001b[200~cher\n\u001b[201~\r", 0, 2],
])("%j from option %i chooses option %i", (input, active, index) => {
  expect(list(FRUIT, active).type(input).ending).toEqual({ type: "chosen", indexes: [index] });
});

test.each([
  ["2\r", 1],
  ["3\r", 2],
  ["12\u007f\r", 0],
])("%j chooses option %i by its number, as in plain mode", (input, index) => {
  const open = list(FRUIT, 1, { allowsOther: true }).type(input);
  expect(open.ending).toEqual({ type: "chosen", indexes: [index] });
});

test("a number that is no option's, or that is an option, filters", () => {
  const labels = ["9000", "2", "8080", "none"].map((label) => ({ label }));
  const choose = (input: string) => list(labels).type(`${input}\r`).ending;
  expect([choose("80"), choose("2"), choose("4"), list().type("4").screen[1]]).toEqual([
    { type: "chosen", indexes: [2] },
    { type: "chosen", indexes: [1] },
    { type: "chosen", indexes: [3] },
    '  No matches for "4".',
  ]);
});

test("with several choices, a number moves to the option and Space selects it", () => {
  const open = list(FRUIT, 0, { isMultiple: true }).type("3 2 \r");
  expect(open.ending).toEqual({ type: "chosen", indexes: [1, 2] });
});

test("a description is shown only where there is room for some of it", () => {
  const options = [{ label: "a" }, { label: "b".repeat(8), description: "something to know" }];
  const row = (columns: number) => list(options, 0, { size: { columns } }).screen[2];
  expect([row(23), row(22)]).toEqual([`  ${"b".repeat(8)} - something…`, `  ${"b".repeat(8)}`]);
});

test("is filtered by typing, and Backspace undoes it", () => {
  const open = list().type("er");
  const narrow = open.screen;
  expect([narrow, open.type("\u007f\u007f").screen.length]).toEqual([
    ["? Which? er▮", "❯ cherry - with a stone", HINT],
    5,
  ]);
});

test("the active option stays active while it matches", () => {
  expect(list().type(`${DOWN}${DOWN}e`).screen.slice(1, 3)).toEqual([
    "  apple - red or green",
    "❯ cherry - with a stone",
  ]);
});

test("says that nothing matches, and Enter then does nothing", () => {
  const open = list().type("xy\r");
  expect([open.screen, open.ending]).toEqual([
    ["? Which? xy▮", '  No matches for "xy".', HINT],
    undefined,
  ]);
});

test("shows ten rows of a long list, around the active one", () => {
  const options = Array.from({ length: 30 }, (_, index) => ({ label: `option ${index + 1}` }));
  const open = list(options, 14);
  const { screen } = open;
  const below = open.type("\u001b[6~").screen;
  expect([screen.length, screen.indexOf("❯ option 15"), screen.at(-1), below[6]]).toEqual([
    12,
    6,
    `  15 of 30 · ${HINT.trim()}`,
    "❯ option 25",
  ]);
});

test("cuts options at the width of the screen, except the active one", () => {
  const long = "日本".repeat(20);
  const open = list([{ label: long }, { label: long }]);
  expect(open.screen.slice(1, 4)).toEqual([
    `❯ ${"日本".repeat(14)}日`,
    `  ↳本${"日本".repeat(5)}`,
    `  ${"日本".repeat(14)}…`,
  ]);
});

test("can be empty", () => {
  expect(list([]).type("\r").screen[1]).toBe("  No options.");
});

function openWithOther(more: ListChanges = {}) {
  return list(FRUIT, 0, { allowsOther: true, ...more });
}

function openMultiple(more: ListChanges = {}) {
  return list(FRUIT, 0, { isMultiple: true, ...more });
}

describe("a list that allows other answers", () => {
  test("offers that in its last row", () => {
    expect(openWithOther().type(UP).screen).toEqual([
      "? Which? ▮",
      "  apple - red or green",
      "  banana",
      "  cherry - with a stone",
      "❯ Other…",
      HINT,
    ]);
  });

  test("takes the typed text if no option contains it", () => {
    const typed = openWithOther().type("a fig ");
    const { screen } = typed;
    expect([screen, typed.type("\r").ending]).toEqual([
      ["? Which? a fig ▮", "❯ Other: a fig", HINT],
      { type: "other", text: "a fig", isWhole: true },
    ]);
  });

  test.each([
    [`${UP}\r`, ""],
    ["\u001b[F\r", ""],
    [`app${UP}\r`, "app"],
    [" \r", ""],
  ])("%j asks for an answer that begins with %j", (input, text) => {
    expect(openWithOther().type(input).ending).toEqual({ type: "other", text, isWhole: false });
  });

  test("goes back to the options when one matches again", () => {
    expect(openWithOther().type("bx\u007f").screen.slice(1, 3)).toEqual(["❯ banana", "  Other…"]);
  });

  test("stays within the screen and neutralizes what is typed", () => {
    const pasted = `\u001b[200~日本\u202e${"x".repeat(60)}\u001b[201~`;
    const { screen } = openWithOther({ size: { columns: 30 } }).type(pasted);
    expect(screen.slice(-3)).toEqual([
      `❯ Other: 日本<U+202E>${"x".repeat(8)}…`,
      "  ↑↓ move · type to filter",
      "  Enter select",
    ]);
  });

  test("may have no options at all", () => {
    const empty = list([], 0, { allowsOther: true });
    expect([empty.screen[1], empty.type("\r").ending]).toEqual([
      "❯ Other…",
      { type: "other", text: "", isWhole: false },
    ]);
  });
});

describe("a list with several choices", () => {
  test("shows what is selected", () => {
    expect(openMultiple({ marked: [2] }).type(` ${DOWN}`).screen).toEqual([
      "? Which? ▮",
      "  [x] apple - red or green",
      "❯ [ ] banana",
      "  [x] cherry - with a stone",
      "  ↑↓ move · type to filter · Space select · Enter submit",
    ]);
  });

  test.each([
    ["\r", []],
    [" \r", [0]],
    ["  \r", []],
    [`${UP} ${UP} \r`, [1, 2]],
    ["\u0001\r", [0, 1, 2]],
    ["\u0001\u0001\r", []],
    ["e\u0001\r", [0, 2]],
    [" e\u0001\r", [0, 2]],
    ["an \u007f\u007f\r", [1]],
    [" xyz \r", [0]],
    ["a\r", []],
  ])("%j submits %j", (input, indexes) => {
    expect(openMultiple().type(input).ending).toEqual({ type: "chosen", indexes });
  });

  test.each([
    [`${UP} `, { type: "other", text: "", isWhole: false }],
    [`${UP}\r`, { type: "other", text: "", isWhole: false }],
    [" two words\r", { type: "other", text: "two words", isWhole: true }],
  ])("%j asks for another answer", (input, ending) => {
    expect(openMultiple({ allowsOther: true }).type(input).ending).toEqual(ending);
  });

  test("shows all of the active option, and cuts the others", () => {
    const label = "日本".repeat(5);
    const options = [{ label }, { label }];
    const narrow = list(options, 0, { isMultiple: true, size: { columns: 20 } });
    expect(narrow.screen.slice(1, 4)).toEqual([
      "❯ [ ] 日本日本日本日",
      "      ↳本日本",
      "  [ ] 日本日本日本…",
    ]);
  });
});

describe("a preview", () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
  const options: readonly ListedOption[] = [
    { label: "long", description: "all of it", preview: lines.join("\n") },
    { label: "short", preview: "\tone\u001b[2J\ntwo\n" },
    { label: "none" },
    { label: "blank", preview: " \n" },
  ];

  test("is shown below the list as far as there is room", () => {
    expect(list(options, 0, { size: { rows: 15, columns: 80 } }).screen).toEqual([
      "? Which? ▮",
      "❯ long - all of it",
      "  short",
      "  none",
      "  blank",
      "  │ line 1",
      "  │ line 2",
      "  │ line 3",
      "  │ line 4",
      "  │ … 8 more lines",
      `${HINT} · Ctrl-O show all`,
    ]);
  });

  test.each([
    [30, 7],
    [15, 4],
    [3, 0],
  ])("on a screen of %i rows has %i lines", (rows, count) => {
    const { screen } = list(options, 0, { size: { rows, columns: 80 } });
    expect(screen.filter((row) => row.startsWith("  │ line")).length).toBe(count);
  });

  test("is neutralized, and belongs to the active option", () => {
    const open = list(options).type(DOWN);
    expect([open.screen.slice(5), open.type(DOWN).screen.length]).toEqual([
      ["  │ ⇥   one␛[2J", "  │ two", HINT],
      6,
    ]);
  });

  test.each([
    [
      "\u000f",
      { type: "read_more", style: "drawn", text: ["long", "all of it", ...lines].join("\n") },
    ],
    [`${DOWN}${DOWN}\u000f`, undefined],
    ["xyz\u000f", undefined],
  ])("%j opens the pager: %j", (input, ending) => {
    expect(list(options).type(input).ending).toEqual(ending);
  });

  test("is wrapped at the width of the screen", () => {
    const wide = [{ label: "a", preview: "日本語日本語" }];
    expect(list(wide, 0, { size: { columns: 11 } }).screen.slice(2, 4)).toEqual([
      "  │ 日本語",
      "  │ 日本語",
    ]);
  });
});

function textOf({ label, description, preview }: ListedOption): string {
  return [label, description, preview].filter((text) => text !== undefined).join("\n");
}

describe("an option that does not fit", () => {
  const word = "word ".repeat(300).trim();
  const options: readonly ListedOption[] = [
    { label: `${word} rm -rf /` },
    { label: "described", description: `${word} rm -rf /` },
    { label: "shown", preview: "line\n".repeat(30) },
    { label: "short" },
  ];

  test.each(options.slice(0, 3).map((option, index) => ({ option, index })))(
    "is not chosen before it was read: $index",
    ({ option, index }) => {
      counters("T-TERM-7");
      const text = textOf(option);
      const read = new Set([text]);
      expect([
        list(options, index).type("\r").ending,
        list(options, index, { read }).type("\r").ending,
      ]).toEqual([
        { type: "read_more", style: "drawn", text, isRequired: true },
        { type: "chosen", indexes: [index] },
      ]);
    },
  );

  test("cannot be submitted with others until it was read", () => {
    counters("T-TERM-7");
    const open = list(options, 3, { isMultiple: true }).type("\u0001\r");
    expect(open.ending).toEqual({
      type: "read_more",
      style: "drawn",
      text: textOf(options[0] ?? { label: "" }),
      isRequired: true,
    });
  });

  test("says how much more there is, and leaves room for the list", () => {
    const { screen } = list(options, 0, { size: { rows: 12, columns: 30 } });
    expect([screen.length, screen[4], screen[5]]).toEqual([
      10,
      "  … 58 more lines",
      "  described - word word word …",
    ]);
  });
});

test("what is cut from a description fits on a narrow screen", () => {
  const described = [{ label: "a", description: "some words about it" }];
  const { screen } = list(described, 0, { size: { rows: 6, columns: 12 } });
  expect(screen).toContain("    … 2 mor…");
});

test("a note is shown above the hints", () => {
  const open = list(FRUIT, 1, { note: "why\u001b[2J\nnot" });
  expect([open.screen.slice(4), open.type("\t").ending]).toEqual([
    ["  Note: why␛[2J not", `${HINT} · Tab edit note`],
    { type: "add_note" },
  ]);
});

describe("a list that is searched", () => {
  const TALKS: readonly ListedOption[] = [
    { label: "Login", searched: "Fix the form, please." },
    { label: "Deploy", searched: "Ship it on Friday" },
  ];

  test("finds words in any order, in labels and in what belongs to them", () => {
    const screens = ["form LOGIN", "friday ship", "fix friday"].map(
      (filter) => list(TALKS).type(filter).screen[1],
    );
    expect(screens).toEqual(["❯ Login", "❯ Deploy", '  No matches for "fix friday".']);
  });

  test("lets an option be chosen although not all about it fits", () => {
    const options = [{ label: "a", preview: "line\n\n".repeat(30) }];
    const chosen = { type: "chosen", indexes: [0] };
    const endings = [true, false].map(
      (isSkimmed) => list(options, 0, { isSkimmed }).type("\r").ending,
    );
    expect(endings).toEqual([chosen, expect.objectContaining({ type: "read_more" })]);
  });
});
