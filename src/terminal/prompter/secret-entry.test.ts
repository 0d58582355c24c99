import { expect, test } from "vitest";
import { TypedWidget } from "../../../test/support/typed-widget.ts";
import { secretEntry } from "./secret-entry.ts";
import { bufferOf } from "./text-buffer.ts";

function entry() {
  return new TypedWidget(secretEntry({ message: "Password?" }, { hasMore: false }), bufferOf(""));
}

test("looks the same whatever is typed", () => {
  const before = entry().screen;
  expect([before, entry().type("hunter2").screen]).toEqual([
    ["? Password? ▮", "  nothing is shown of what you type · Enter sends"],
    before,
  ]);
});

test.each([
  ["hunter2\r", "hunter2"],
  ["hunter23\u007f\r", "hunter2"],
  ["wrong\u0015right\r", "right"],
  ["\u001b[200~pasted\n\u001b[201~\r", "pasted"],
  ["\u001b[200~BEGIN\nKEY\nEND\n\u001b[201~\r", "BEGIN\nKEY\nEND"],
])("%j gives %j", (input, text) => {
  expect(entry().type(input).ending).toEqual({ type: "entered", text });
});

test("is cancelled by Ctrl-D while it is empty", () => {
  expect([entry().type("\u0004").ending, entry().type("a\u0004").ending]).toEqual([
    { type: "cancelled" },
    undefined,
  ]);
});
