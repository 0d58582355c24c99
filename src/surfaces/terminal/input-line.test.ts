import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { inputLine } from "./input-line.ts";
import { emptyInput, type InputOptions } from "./input-state.ts";
import { breakPastedLines, decodeInput, isKey } from "./key.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";
import type { Size } from "./widget.ts";

const UP = "\u001b[A";
const DOWN = "\u001b[B";
const LEFT = "\u001b[D";
const SHIFT_TAB = "\u001b[Z";
const ALT_ENTER = "\u001b\r";
const ESCAPE = "\u001b";
const CTRL_C = "\u0003";
const CTRL_R = "\u0012";
const HISTORY = ["first", "fix the login", "two\nlines", "fix the test"];
const COMMANDS = ["/help", "/new", "/next"];

function complete({ text, cursor }: { readonly text: string; readonly cursor: number }) {
  const word = /\S*$/.exec(text.slice(0, cursor))?.[0] ?? "";
  if (!word.startsWith("/")) return undefined;
  const candidates = COMMANDS.filter((one) => one.startsWith(word));
  const found = candidates.map((one) => ({ text: one }));
  return { from: cursor - word.length, candidates: () => found };
}

function line(changes: Partial<InputOptions> & { text?: string } = {}, size: Partial<Size> = {}) {
  const { text = "", ...options } = changes;
  const widget = inputLine({
    history: () => HISTORY,
    complete,
    hasEditor: () => false,
    ...options,
  });
  return new TypedWidget(widget, emptyInput(text), size);
}

/** The rows of the message, with the cursor in them. */
function message(open: { readonly screen: readonly string[] }): readonly string[] {
  const end = open.screen.findIndex((row) => / · |^❯|again|back/.test(row));
  return end === -1 ? open.screen : open.screen.slice(0, end);
}

test("what is pasted is shown neutralized, in the message and in a search", () => {
  counters("T-TERM-1");
  const paste = "\u001b[200~x\u001b]52;c;eA==\u0007\u202ey\u001b[201~";
  const screens = [line().type(paste), line().type(`${CTRL_R}${paste}`)].map(
    ({ screen }) => screen,
  );
  expect(screens.map((rows) => rows.find((row) => row.includes("x␛]52;c;eA==␇<U+202E>y")))).toEqual(
    [expect.any(String), expect.any(String)],
  );
});

test("an empty line names only the most important keys to a user who knows them", () => {
  const known = { hasCommands: true, areHintsFolded: true };
  const row = "  Enter send · /help keys and commands · Ctrl-D leave";
  expect(line(known).screen).toEqual(["> ▮", row]);
});

test.each([
  ["Escape", ESCAPE],
  ["Ctrl-C", CTRL_C],
])("%s leaves a line that has a way back, which says so", (_, key) => {
  const open = line({ text: "hello", hasWayBack: true }).type("!");
  const hint = open.screen.at(-1);
  expect([hint, open.type(key).ending]).toEqual([
    "  Enter send · Alt-Enter new line · Esc go back",
    { type: "left" },
  ]);
});

describe("the mode", () => {
  const plan = { mode: () => ({ name: "plan" }) };
  const noSandbox = { mode: () => ({ name: "ask", note: "no sandbox here: see jp doctor" }) };

  test("is below the line, whatever is typed, and Shift-Tab asks for the next one", () => {
    const open = line(plan);
    const row = "  mode plan · Shift-Tab changes it";
    const empty = open.screen.at(-1);
    const typed = open.type("hello").screen;
    const { ending } = open.type(SHIFT_TAB);
    expect([empty, typed, ending]).toEqual([row, ["> hello▮", row], { type: "next_mode" }]);
  });

  test("fits on a narrow screen, with what is said in place of the key", () => {
    const screens = [plan, noSandbox].map((shown) => line(shown, { columns: 39 }).type("x").screen);
    expect(screens.map((rows) => rows.slice(1))).toEqual([
      ["  mode plan · Shift-Tab changes it"],
      ["  mode ask · no sandbox here: see jp", "  doctor"],
    ]);
  });

  test("is not there where there is none, and Shift-Tab does nothing", () => {
    const open = line({ text: "hello" }).type(SHIFT_TAB);
    expect([open.screen, open.ending]).toEqual([["> hello▮"], undefined]);
  });
});

describe("a message", () => {
  test("is sent by Enter", () => {
    expect(line().type("hello\r").ending).toEqual({ type: "sent", text: "hello" });
  });

  test("that is blank is not sent", () => {
    expect(line().type(" \r").ending).toBeUndefined();
  });

  test.each([
    ["Alt-Enter", `one${ALT_ENTER}two\r`],
    ["Ctrl-J", "one\ntwo\r"],
    ["a backslash at its end", "one\\\rtwo\r"],
    ["a pasted line break", "\u001b[200~one\r\ntwo\u001b[201~\r"],
  ])("is continued on a new line by %s", (_, keys) => {
    expect(line().type(keys).ending).toEqual({ type: "sent", text: "one\ntwo" });
  });

  test("is sent as it is if it ends in a doubled backslash", () => {
    expect(line().type("one\\\\\r").ending).toEqual({ type: "sent", text: "one\\\\" });
  });

  test("is not sent by line breaks of a paste that the terminal does not mark", () => {
    const keys = decodeInput("one\rtwo\rthree\r").sent.filter(isKey);
    const names = breakPastedLines(keys).flatMap((key) => (key.type === "named" ? [key.name] : []));
    expect(names).toEqual(["new-line", "new-line", "enter"]);
  });

  test("wraps, and keeps wide characters and combining marks whole", () => {
    const open = line({ text: "日本語 e\u0301a" }, { columns: 8 });
    const rows = open.screen.map((row) => row.replace("▮", ""));
    const { ending } = open.type(`${LEFT}${LEFT}\u007f\u007f\r`);
    expect([rows, ending]).toEqual([
      ["> 日本語", "  e\u0301a"],
      { type: "sent", text: "日本e\u0301a" },
    ]);
  });
});

describe("keys that edit", () => {
  test.each([
    [
      "Ctrl-A and Ctrl-K delete all, Ctrl-Y brings it back",
      "one two\u0001\u000b\u0019",
      "> one two▮",
    ],
    ["Ctrl-W deletes a word, and Ctrl-Y inserts it", "one two\u0017\u0001\u0019", "> two▮one"],
    ["Ctrl-U deletes to the start", "one two\u001bb\u0015", "> ▮two"],
    ["Alt-B and Alt-F move by words", "one two\u001bb\u001bbx\u001bf.", "> xone.▮ two"],
    ["Home and End move in the line", "one\u001b[Hx\u001b[Fy", "> xoney▮"],
  ])("%s", (_, keys, row) => {
    expect(message(line().type(keys))).toEqual([row]);
  });
});

describe("history", () => {
  test("is walked with the arrows, and the draft comes back", () => {
    const open = line().type(`dra${UP}`);
    const seen = [message(open)];
    for (const key of [UP, UP, UP, UP, UP, DOWN, DOWN, DOWN, DOWN, DOWN])
      seen.push(message(open.type(key)));
    expect(seen.map((rows) => rows.join("|"))).toEqual([
      "> fix the test▮",
      "> two|  lines▮",
      "> two▮|  lines",
      "> fix the login▮",
      "> first▮",
      "> first▮",
      "> fix the login▮",
      "> two|  lines▮",
      "> fix the test▮",
      "> dra▮",
      "> dra▮",
    ]);
  });

  test("keeps what was changed in an entry", () => {
    expect(message(line().type(`${UP}!${UP}${DOWN}`))).toEqual(["> fix the test!▮"]);
  });

  test("is left by Escape, back to the draft", () => {
    expect(message(line().type(`dra${UP}${ESCAPE}`))).toEqual(["> dra▮"]);
  });

  test("is searched with Ctrl-R, further back each time", () => {
    const open = line().type(`dra${CTRL_R}FIX`);
    const first = open.screen;
    expect([first, open.type(CTRL_R).screen.at(0), message(open.type("\r"))]).toEqual([
      ["> fix the test", "  Search history: FIX▮", "  Ctrl-R older · Enter take it · Esc go back"],
      "> fix the login",
      ["> fix the login▮"],
    ]);
    expect(open.ending).toBeUndefined();
  });

  test("says if the search finds nothing, and Escape goes back", () => {
    const open = line().type(`dra${CTRL_R}zzz`);
    expect([open.screen.slice(0, 2), message(open.type(ESCAPE))]).toEqual([
      ["> dra", "  No match in history: zzz▮"],
      ["> dra▮"],
    ]);
  });
});

describe("completion", () => {
  test("lists what fits, and Tab takes it", () => {
    const open = line().type("/ne");
    expect([open.screen, open.type("\t").screen]).toEqual([
      ["> /ne▮", "❯ /new", "  /next", "  Tab complete · ↑↓ choose · Esc close"],
      ["> /new ▮"],
    ]);
  });

  test("is chosen with the arrows and taken with Enter, which otherwise sends", () => {
    const chosen = line().type(`/ne${DOWN}${DOWN}\r`);
    expect([chosen.screen, chosen.ending, line().type("/ne\r").ending]).toEqual([
      ["> /next ▮"],
      undefined,
      { type: "sent", text: "/ne" },
    ]);
  });

  test("is closed by Escape, and the text stays", () => {
    expect(line().type(`/ne${ESCAPE}`).screen).toEqual(["> /ne▮"]);
  });
});

function named(...texts: readonly string[]): InputOptions["complete"] {
  const found = texts.map((text) => ({ text, onEnter: "take" as const }));
  return () => ({ from: 0, candidates: () => found });
}

describe("a completion that Enter takes", () => {
  test("is taken, and the message is sent with the next Enter", () => {
    const open = line({ complete: named("@src/parser.ts", "@src/parts.ts") }).type("@par");
    const shown = open.screen.at(-1);
    expect([shown, open.type("\r").screen, open.ending]).toEqual([
      "  Enter take it · Tab complete · ↑↓ choose · Esc close",
      ["> @src/parser.ts ▮"],
      undefined,
    ]);
  });

  test.each(["@src", "@src/"])("is not taken where one is typed in full: %s", (typed) => {
    const open = line({ complete: named("@src-old/", "@src/") });
    expect(open.type(`${typed}\r`).ending).toEqual({ type: "sent", text: typed });
  });

  test("is sent at once if that is what it is for", () => {
    const found = [{ text: "/model", onEnter: "send" as const }, { text: "/more" }];
    const open = line({ complete: () => ({ from: 0, candidates: () => found }) });
    expect(open.type("/mo\r").ending).toEqual({ type: "sent", text: "/model " });
  });

  test("is shown once it is found, and until then what is being done", () => {
    let found: readonly { readonly text: string }[] = [];
    const note = () => (found.length === 0 ? "Looking for files…" : undefined);
    const open = line({
      complete: () => ({ from: 0, candidates: () => found, note }),
    }).type("@a");
    const before = open.screen;
    found = [{ text: "@a.ts" }];
    expect([before, open.screen.slice(0, 2), open.type("\t").screen]).toEqual([
      ["> @a▮", "  Looking for files…"],
      ["> @a▮", "❯ @a.ts"],
      ["> @a.ts ▮"],
    ]);
  });

  test("that is not found leaves the keys to the line", () => {
    let isListing = true;
    const note = () => (isListing ? "Looking for files…" : undefined);
    const open = line({ complete: () => ({ from: 0, candidates: () => [], note }) }).type("@a");
    isListing = false;
    expect([open.screen, message(open.type(UP))]).toEqual([["> @a▮"], ["> fix the test▮"]]);
  });
});

test("a list that is longer than the menu says how long it is, and where one is", () => {
  const found = Array.from({ length: 19 }, (_, index) => ({ text: `/c${index + 1}` }));
  const open = line({ complete: () => ({ from: 0, candidates: () => found }) }).type("/");
  const first = open.screen.at(-1);
  expect([first, open.type(UP).screen.at(-1)]).toEqual([
    "  1–8 of 19 · Tab complete · ↑↓ choose · Esc close",
    "  12–19 of 19 · Tab complete · ↑↓ choose · Esc close",
  ]);
});

describe("a long paste", () => {
  const PASTED = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n");
  const PASTE = `\u001b[200~${PASTED}\u001b[201~`;
  const CTRL_O = "\u000f";

  test("is one line at the prompt, and the message has all of it", () => {
    const open = line().type(`Why? ${PASTE} Say`);
    const { screen } = open;
    expect([screen, open.type("\r").ending]).toEqual([
      [
        "> Why? [pasted 300 lines] Say▮",
        "  Enter send · Ctrl-O open the paste · Backspace remove it",
      ],
      {
        type: "sent",
        text: `Why? ${PASTED} Say`,
        shown: {
          text: `Why? ${PASTED} Say`,
          cursor: PASTED.length + 9,
          folds: [{ start: 5, end: 5 + PASTED.length }],
        },
      },
    ]);
  });

  test("is opened with Ctrl-O", () => {
    const { screen } = line({}, { rows: 4 }).type(`${PASTE}${CTRL_O}`);
    expect(screen).toEqual(["  line 297", "  line 298", "  line 299", "  line 300▮"]);
  });

  test("without one, Ctrl-O shows what else there is to show, and the text stays", () => {
    expect(line().type(`a${CTRL_O}`).screen[0]).toBe("> a▮");
    const ready = line({ expands: true }).type(`a${CTRL_O}`);
    expect(ready.ending).toEqual({ type: "expand" });
  });

  test.each([
    ["Backspace deletes it as one", "a[]\u007f", "> a▮"],
    ["Delete deletes it as one", `a[]${LEFT}\u001b[3~`, "> a▮"],
    ["the arrows step over it", `a[]b${LEFT}${LEFT}!`, "> a!▮[pasted 300 lines]b"],
    ["Ctrl-W deletes it as a word", "one []\u0017", "> one ▮"],
    ["Ctrl-W behind it deletes the word behind it", "[]two\u0017", "> [pasted 300 lines]▮"],
    ["Alt-B moves before it", "one []\u001bb!", "> one !▮[pasted 300 lines]"],
    ["Alt-F moves behind it", "[]one\u0001\u001bf!", "> [pasted 300 lines]!▮one"],
    ["Ctrl-U deletes it with its line", "a[]b\u0015", "> ▮"],
    ["Ctrl-Y brings it back", "a[]\u0017\u0019", "> a[pasted 300 lines]▮"],
    ["Ctrl-C clears it, and Ctrl-Y brings it back", `[]${CTRL_C}\u0019`, "> [pasted 300 lines]▮"],
    ["the history gives it back", `[]${UP}${DOWN}`, "> [pasted 300 lines]▮"],
    ["text typed before it moves it", "[]\u0001ab", "> ab▮[pasted 300 lines]"],
    ["two are two", "[] []", "> [pasted 300 lines] [pasted 300 lines]▮"],
  ])("in it, %s", (_, keys, row) => {
    const open = line().type(keys.replaceAll("[]", PASTE));
    expect(open.screen[0]).toBe(row);
  });

  test("of one line says how many characters it has", () => {
    const open = line().type(`\u001b[200~${"x".repeat(3000)}\u001b[201~`);
    expect(open.screen[0]).toBe("> [pasted 3000 characters]▮");
  });

  test("that ends in a backslash does not break the line", () => {
    const pasted = `${PASTED}\\`;
    const open = line().type(`\u001b[200~${pasted}\u001b[201~\r`);
    expect(open.ending).toMatchObject({ type: "sent", text: pasted });
  });

  test("of a few lines stays as it is", () => {
    const open = line().type("\u001b[200~a\nb\nc\u001b[201~");
    expect(open.screen).toEqual(["> a", "  b", "  c▮"]);
  });
});

describe("Ctrl-C, Ctrl-D and Escape", () => {
  test("Ctrl-C clears the line, and Ctrl-Y brings it back", () => {
    const open = line().type(`some words${CTRL_C}`);
    expect([open.screen, message(open.type("\u0019")), open.ending]).toEqual([
      ["> ▮", "  Cleared. Ctrl-Y brings it back."],
      ["> some words▮"],
      undefined,
    ]);
  });

  test("Ctrl-C on an empty line leaves the second time", () => {
    const open = line().type(CTRL_C);
    expect([open.screen.at(1), open.ending, open.type(CTRL_C).ending]).toEqual([
      "  Press Ctrl-C again to leave.",
      undefined,
      { type: "left" },
    ]);
  });

  test("another key in between starts over", () => {
    expect(line().type(`${CTRL_C}a\u007f${CTRL_C}`).ending).toBeUndefined();
  });

  test("Ctrl-D leaves on an empty line only", () => {
    expect([line().type("\u0004").ending, line().type("a\u0004").ending]).toEqual([
      { type: "left" },
      undefined,
    ]);
  });

  test("Escape changes nothing else", () => {
    expect(message(line().type(`some words${ESCAPE}`))).toEqual(["> some words▮"]);
  });
});

test("a long message shows the rows around the cursor", () => {
  const text = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");
  expect(line({ text }, { rows: 3 }).screen).toEqual(["  line 28", "  line 29", "  line 30▮"]);
});
