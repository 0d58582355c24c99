import { expect, test } from "vitest";
import { decodeInput, decodeLoneEscape, isKey, withoutPastedShiftTab } from "./key.ts";

const ESCAPE = "\u001b";

test.each([
  ["\r", "enter"],
  ["\n", "new-line"],
  [`${ESCAPE}\r`, "new-line"],
  [`${ESCAPE}[13;2u`, "new-line"],
  [`${ESCAPE}[27;2;13~`, "new-line"],
  ["\t", "tab"],
  [`${ESCAPE}[Z`, "shift-tab"],
  [`${ESCAPE}[9;2u`, "shift-tab"],
  [`${ESCAPE}[27;2;9~`, "shift-tab"],
  ["\u007f", "backspace"],
  ["\b", "backspace"],
  ["\u0003", "ctrl-c"],
  ["\u0018", "ctrl-x"],
  [`${ESCAPE}[A`, "up"],
  [`${ESCAPE}OB`, "down"],
  [`${ESCAPE}[1;5D`, "word-left"],
  [`${ESCAPE}[1;2C`, "right"],
  [`${ESCAPE}f`, "word-right"],
  [`${ESCAPE}\u007f`, "ctrl-w"],
  [`${ESCAPE}[H`, "home"],
  [`${ESCAPE}[4~`, "end"],
  [`${ESCAPE}[3~`, "delete"],
  [`${ESCAPE}[5~`, "page-up"],
  [`${ESCAPE}[6~`, "page-down"],
])("%j is the key %s", (input, name) => {
  expect(decodeInput(input)).toEqual({ sent: [{ type: "named", name }], rest: "" });
});

test("characters arrive one by one, even those of two code units", () => {
  expect(decodeInput("aÄ日👍")).toEqual({
    sent: ["a", "Ä", "日", "👍"].map((text) => ({ type: "text", text })),
    rest: "",
  });
});

test("pasted text arrives whole, with its line breaks and key sequences", () => {
  expect(decodeInput(`${ESCAPE}[200~one\r\ntwo\rthree\n\u0003${ESCAPE}[201~x`)).toEqual({
    sent: [
      { type: "paste", text: "one\ntwo\nthree\n\u0003" },
      { type: "text", text: "x" },
    ],
    rest: "",
  });
});

const SHIFT_TAB = `${ESCAPE}[Z`;

test.each([
  ["in a paste", `${ESCAPE}[200~a${SHIFT_TAB}${ESCAPE}[201~`],
  ["next to a paste", `${ESCAPE}[200~a${ESCAPE}[201~${SHIFT_TAB}`],
  ["next to text, which may be a paste that is not marked", `a${SHIFT_TAB}`],
  ["before the end of a paste whose beginning was lost", `${SHIFT_TAB}${ESCAPE}[201~`],
])("Shift-Tab is not a key %s", (_, input) => {
  const keys = withoutPastedShiftTab(decodeInput(input).sent.filter(isKey));
  expect(keys.filter(({ type }) => type === "named")).toEqual([]);
});

test("Shift-Tab is a key by itself, as often as it is pressed", () => {
  const { sent } = decodeInput(SHIFT_TAB.repeat(2));
  expect(withoutPastedShiftTab(sent.filter(isKey))).toEqual(sent);
});

test.each([ESCAPE, `${ESCAPE}[`, `${ESCAPE}[1;5`, `${ESCAPE}O`, `${ESCAPE}[200~begun`])(
  "%j waits for the rest of it",
  (input) => {
    expect(decodeInput(input)).toEqual({ sent: [], rest: input });
  },
);

test("an escape that nothing follows is the Escape key", () => {
  expect([decodeLoneEscape(ESCAPE), decodeLoneEscape(`${ESCAPE}[`)]).toEqual([
    [{ type: "named", name: "escape" }],
    [],
  ]);
});

test("two escapes are the Escape key and perhaps the start of a sequence", () => {
  expect(decodeInput(`${ESCAPE}${ESCAPE}`)).toEqual({
    sent: [{ type: "named", name: "escape" }],
    rest: ESCAPE,
  });
});

test("a cursor report is not a key", () => {
  expect(decodeInput(`${ESCAPE}[12;34R`)).toEqual({
    sent: [{ type: "cursor", column: 34 }],
    rest: "",
  });
});

test.each([`${ESCAPE}[15~`, `${ESCAPE}[I`, `${ESCAPE}[<0;1;1M`, `${ESCAPE}z`, "\0", "\u001c"])(
  "%j means nothing, and what follows it does",
  (input) => {
    expect(decodeInput(`${input}y`)).toEqual({ sent: [{ type: "text", text: "y" }], rest: "" });
  },
);

test("a broken sequence does not swallow the next key", () => {
  expect(decodeInput(`${ESCAPE}[1\ry`)).toEqual({
    sent: [
      { type: "named", name: "enter" },
      { type: "text", text: "y" },
    ],
    rest: "",
  });
});
