import { expect, test } from "vitest";
import { TypedWidget } from "../../../test/support/typed-widget.ts";
import { type ListedOption, selectList } from "./select-list.ts";

const UP = "\u001b[A";
const DOWN = "\u001b[B";
const FRUIT: readonly ListedOption[] = [
  { label: "apple", description: "red or green" },
  { label: "banana" },
  { label: "cherry", description: "with a stone" },
];
const HINT = "  ↑↓ move · type to filter · Enter chooses";

function list(options: readonly ListedOption[] = FRUIT, active = 0) {
  const widget = selectList({ message: "Which?", options, hasMore: false });
  return new TypedWidget(widget, { filter: "", active });
}

test("shows the options, and the description of the active one", () => {
  expect(list().screen).toEqual([
    "? Which? ▮",
    "❯ apple",
    "  banana",
    "  cherry",
    "    red or green",
    HINT,
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
  expect(list(FRUIT, active).type(input).ending).toEqual({ type: "chosen", index });
});

test("is narrowed down by typing, and widened by Backspace", () => {
  const open = list().type("er");
  const narrow = open.screen;
  expect([narrow, open.type("\u007f\u007f").screen.length]).toEqual([
    ["? Which? er▮", "❯ cherry", "    with a stone", HINT],
    6,
  ]);
});

test("the active option stays active while it matches", () => {
  expect(list().type(`${DOWN}${DOWN}e`).screen.slice(1, 3)).toEqual(["  apple", "❯ cherry"]);
});

test("says that nothing matches, and then chooses nothing", () => {
  const open = list().type("xy\r");
  expect([open.screen, open.ending]).toEqual([
    ["? Which? xy▮", '  No option contains "xy".', HINT],
    undefined,
  ]);
});

test("of a long list ten are shown, around the active one", () => {
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

test("an option that is too long is cut where the screen ends", () => {
  const open = list([{ label: "日本".repeat(40) }]);
  expect(open.screen[1]).toBe(`❯ ${"日本".repeat(14)}…`);
});

test("can be empty", () => {
  expect(list([]).type("\r").screen[1]).toBe("  There is nothing to choose.");
});
