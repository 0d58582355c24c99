import { expect, test } from "vitest";
import { TypedWidget } from "../../test/support/typed-widget.ts";
import { closedHelp, type KeyMenu, keyMenu } from "./key-menu.ts";
import type { Asides } from "./question-rows.ts";

const MENU: KeyMenu<string> = {
  message: "Go on?",
  choices: { y: "go on", Y: "go on, always", n: "stop" },
  escape: "leave",
};

function menu(changes: Partial<KeyMenu<string>> = {}, columns = 60) {
  const widget = keyMenu({ ...MENU, ...changes }, { hasMore: false });
  return new TypedWidget(widget, closedHelp, { columns });
}

function withAsides(asides: Asides, columns = 60) {
  return new TypedWidget(keyMenu(MENU, asides), closedHelp, { columns });
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
        "  ?    this help",
        "  Esc  leave",
      ],
    ]);
  },
);

test("leads to what is not shown, if there is more", () => {
  const [open, other] = [withAsides({ hasMore: true }), withAsides({ hasMore: true })];
  expect([open.screen, open.type("v").ending, other.type("\u000f").ending]).toEqual([
    ["? Go on? [y,Y,n,?] ▮", "  v shows all"],
    { type: "read_more" },
    { type: "read_more" },
  ]);
});

test("takes a note, if it may", () => {
  const open = withAsides({ hasMore: true, note: "" });
  const note = "because\u001b[2J of\nthe weather outside";
  const said = withAsides({ hasMore: true, note }, 30).type("?");
  expect([open.screen, said.screen, open.type("\t").ending]).toEqual([
    ["? Go on? [y,Y,n,?] ▮", "  Tab note · v shows all"],
    [
      "? Go on? [y,Y,n,?] ▮",
      "  y    go on",
      "  Y    go on, always",
      "  n    stop",
      "  Tab  add a note to the",
      "       answer",
      "  ?    this help",
      "  Esc  leave",
      "  Note: because␛[2J of the we…",
      "  Tab note · v shows all",
    ],
    { type: "add_note" },
  ]);
});

test("names its numbers last", () => {
  const open = menu({ choices: { y: "go on", 1: "the first", 2: "the second" } });
  expect([open.screen, open.type("2").ending]).toEqual([
    ["? Go on? [y,1,2,?] ▮"],
    { type: "chosen", choice: "2" },
  ]);
});

test("is cancelled by Ctrl-D", () => {
  expect(menu().type("\u0004").ending).toEqual({ type: "cancelled" });
});

test("keeps to a narrow screen", () => {
  expect(menu({ default: "y" }, 16).type("?").screen).toEqual([
    "? Go on?",
    "[y,Y,n,?] (y) ▮",
    "  y    go on",
    "  Y    go on,",
    "       always",
    "  n    stop",
    "  ?    this help",
    "  Esc  leave",
  ]);
});
