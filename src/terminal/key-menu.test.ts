import { expect, test } from "vitest";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { KeyMenu } from "./dialogue.ts";
import { helpHidden, keyMenu } from "./key-menu.ts";
import type { SideActions } from "./question-rows.ts";

const MENU: KeyMenu<string> = {
  message: "Go on?",
  choices: { y: "go on", Y: "go on, always", n: "stop" },
  escape: "leave",
};

function menu(changes: Partial<KeyMenu<string>> = {}, columns = 60) {
  const widget = keyMenu({ ...MENU, ...changes }, { hasMore: false });
  return new TypedWidget(widget, helpHidden, { columns });
}

function withSideActions(sideActions: SideActions, columns = 60) {
  return new TypedWidget(keyMenu(MENU, sideActions), helpHidden, { columns });
}

test("shows its keys, and the default if there is one", () => {
  expect([menu().screen, menu({ default: "n" }).screen]).toEqual([
    ["? Go on? [y,Y,n,?] ▮"],
    ["? Go on? [y,Y,n,?] (n) ▮"],
  ]);
});

test.each([
  ["y", {}, "y"],
  ["Y", {}, "Y"],
  ["\r", { default: "n" }, "n"],
  ["\n", { default: "n" }, "n"],
  ["xy", {}, "y"],
])("%j chooses", (input, changes, choice) => {
  expect(menu(changes).type(input).ending).toEqual({ type: "chosen", choice });
});

test.each(["?", "x", "\t", "\r", "\u001b[A", "N", "v", "\u001b[200~y\u001b[201~"])(
  "%j explains the keys",
  (input) => {
    const open = menu().type(input);
    expect([open.ending, open.screen]).toEqual([
      undefined,
      [
        "? Go on? [y,Y,n,?] ▮",
        "  y    go on",
        "  Y    go on, always",
        "  n    stop",
        "  ?    show this help",
        "  Esc  leave",
      ],
    ]);
  },
);

test("opens the pager if there is more to read", () => {
  const [open, other] = [withSideActions({ hasMore: true }), withSideActions({ hasMore: true })];
  expect([open.screen, open.type("v").ending, other.type("\u000f").ending]).toEqual([
    ["? Go on? [y,Y,n,?] ▮", "  v show all"],
    { type: "read_more" },
    { type: "read_more" },
  ]);
});

test("takes a note if the question allows one", () => {
  const open = withSideActions({ hasMore: true, note: "" });
  const note = "because\u001b[2J of\nthe weather outside";
  const withHelp = withSideActions({ hasMore: true, note }, 30).type("?");
  expect([open.screen, withHelp.screen, open.type("\t").ending]).toEqual([
    ["? Go on? [y,Y,n,?] ▮", "  Tab add note · v show all"],
    [
      "? Go on? [y,Y,n,?] ▮",
      "  y    go on",
      "  Y    go on, always",
      "  n    stop",
      "  Tab  add a note to the",
      "       answer",
      "  ?    show this help",
      "  Esc  leave",
      "  Note: because␛[2J of the we…",
      "  Tab edit note · v show all",
    ],
    { type: "add_note" },
  ]);
});

test("lists numbers last", () => {
  const open = menu({ choices: { y: "go on", 1: "the first", 2: "the second" } });
  expect([open.screen, open.type("2").ending]).toEqual([
    ["? Go on? [y,1,2,?] ▮"],
    { type: "chosen", choice: "2" },
  ]);
});

test("is cancelled by Ctrl-D", () => {
  expect(menu().type("\u0004").ending).toEqual({ type: "cancelled" });
});

test("wraps on a narrow screen", () => {
  expect(menu({ default: "y" }, 16).type("?").screen).toEqual([
    "? Go on?",
    "[y,Y,n,?] (y) ▮",
    "  y    go on",
    "  Y    go on,",
    "       always",
    "  n    stop",
    "  ?    show this",
    "       help",
    "  Esc  leave",
  ]);
});
