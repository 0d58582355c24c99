import { expect, test } from "vitest";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { SideActions } from "./question-rows.ts";
import { bufferOf } from "./text-buffer.ts";
import { secretEntry, type TextEntry, textEntry } from "./text-entry.ts";

const ENTRY: TextEntry = { message: "Name?", hasEditor: false };
const HINT = "  Enter submit · Alt-Enter new line";

function entry(changes: Partial<TextEntry & SideActions> = {}, text = "", size = {}) {
  const { hasMore = false, note, ...rest } = changes;
  const widget = textEntry({ ...ENTRY, ...rest }, { hasMore, note });
  return new TypedWidget(widget, bufferOf(text), size);
}

test("typed text follows the question", () => {
  expect([entry().screen, entry({ default: "me" }).type("a b").screen]).toEqual([
    ["? Name? ▮", HINT],
    ["? Name? (me) a b▮", HINT],
  ]);
});

test("several lines go below the question", () => {
  const open = entry().type("one\u001b\rtwo\nthree\u001b[A");
  expect(open.screen).toEqual(["? Name?", "  one", "  two▮", "  three", HINT]);
});

test("pasting several lines does not submit them", () => {
  const open = entry().type("\u001b[200~one\rtwo\r\u001b[201~");
  expect([open.ending, open.type("\r").ending, open.state.text]).toEqual([
    undefined,
    { type: "submitted" },
    "one\ntwo\n",
  ]);
});

test("a long line continues in the next row", () => {
  expect(entry({}, "abcdefghijkl", { columns: 12 }).screen).toEqual([
    "? Name? abcd",
    "  efghijkl▮",
    "  Enter",
    "  submit",
    "  Alt-Enter…",
  ]);
});

test("a long text shows the lines around the cursor", () => {
  const text = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");
  expect(entry({}, text, { rows: 5 }).screen).toEqual([
    "? Name?",
    "  line 28",
    "  line 29",
    "  line 30▮",
    HINT,
  ]);
});

test("the problem is shown below the text", () => {
  const open = entry({ problem: "Too short.\nTry again.", hasEditor: true, hasMore: true }, "x", {
    columns: 120,
  });
  expect(open.screen).toEqual([
    "? Name? x▮",
    "  Too short.",
    "  Try again.",
    `${HINT} · Ctrl-X editor · Ctrl-O show all`,
  ]);
});

test("the note and the hints are shown below the text", () => {
  const open = entry({ note: "why\nnot", escape: "go back" }, "x", { columns: 80 });
  expect(open.screen).toEqual([
    "? Name? x▮",
    "  Note: why not",
    `${HINT} · Esc go back · Tab edit note`,
  ]);
});

test.each([
  ["\u0018", { hasEditor: true }, { type: "editor" }],
  ["\u0007", { hasEditor: true }, { type: "editor" }],
  ["\u0018", {}, undefined],
  ["\u000f", { hasMore: true }, { type: "read_more" }],
  ["\u000f", {}, undefined],
  ["\t", { note: "" }, { type: "add_note" }],
  ["\t\r", {}, { type: "submitted" }],
  ["\u0004", {}, { type: "cancelled" }],
  ["a\u0004", {}, undefined],
  ["\r", {}, { type: "submitted" }],
])("%j with %j ends with %j", (input, changes, ending) => {
  expect(entry(changes).type(input).ending).toEqual(ending);
});

function secret() {
  return new TypedWidget(secretEntry({ message: "Password?" }, { hasMore: false }), bufferOf(""));
}

test("a secret shows that something was typed or pasted, and looks the same whatever that is", () => {
  const empty = ["? Password? ▮", "  input is hidden · Enter submit"];
  const typed = ["? Password? ▮", "  input is hidden · something typed · Enter submit"];
  const inputs = [
    "",
    "x",
    "hunter2",
    "\u001b[200~BEGIN\nKEY\u001b[201~",
    "x\u007f",
    "hunter2\u0015",
  ];
  expect(inputs.map((input) => secret().type(input).screen)).toEqual([
    empty,
    typed,
    typed,
    typed,
    empty,
    empty,
  ]);
});

test.each([
  ["hunter2\r", "hunter2"],
  ["hunter23\u007f\r", "hunter2"],
  ["wrong\u0015right\r", "right"],
  ["\u001b[200~pasted\n\u001b[201~\r", "pasted"],
  ["\u001b[200~BEGIN\nKEY\nEND\n\u001b[201~\r", "BEGIN\nKEY\nEND"],
])("a secret typed as %j is %j", (input, text) => {
  const { ending, state } = secret().type(input);
  expect([ending, state.text]).toEqual([{ type: "submitted" }, text]);
});

test("an empty secret is cancelled by Ctrl-D", () => {
  expect([secret().type("\u0004").ending, secret().type("a\u0004").ending]).toEqual([
    { type: "cancelled" },
    undefined,
  ]);
});
