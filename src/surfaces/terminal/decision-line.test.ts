import { describe, expect, test } from "vitest";
import { decisionLine, undecided } from "./decision-line.ts";
import type { KeyMenu } from "./key-menu.ts";
import type { SideActions } from "./question-rows.ts";
import { TypedWidget } from "./typed-widget.fixture.ts";

type Choice = "y" | "a" | "n" | "N" | "e";

const MENU: KeyMenu<Choice> = {
  message: "Apply it?",
  choices: [
    { key: "y", label: "yes" },
    {
      key: "a",
      label: "yes to all edits this turn",
      short: "yes to all",
      covers: "yes to all edits this turn",
    },
    { key: "n", label: "no" },
    { key: "N", help: "no to all edits this turn", covers: "no to all edits this turn" },
    { key: "e", help: "edit it first" },
  ],
  noKey: "n",
  escape: "leave",
};

const PLAIN_MENU: KeyMenu<"c" | "b"> = {
  message: "Cancel it?",
  choices: [
    { key: "c", label: "cancel it" },
    { key: "b", label: "go back" },
  ],
  escape: "go back",
};

interface Options {
  readonly menu?: Partial<KeyMenu<Choice>>;
  readonly asides?: SideActions;
  readonly columns?: number;
  readonly rows?: number;
}

function open({ menu = {}, asides = { hasMore: false }, columns = 78, rows = 20 }: Options = {}) {
  return new TypedWidget(decisionLine({ ...MENU, ...menu }, asides), undecided, { columns, rows });
}

function openMenu() {
  return new TypedWidget(decisionLine(PLAIN_MENU, { hasMore: false }), undecided, { columns: 60 });
}

const ROW = "  y yes · a yes to all edits this turn · n no · Tab say why · ? more";
const TYPING = ["  Enter no, and send it as your message · Tab only as the reason · Esc clear"];
const PASTE_END = "\u001b[201~";
const paste = (text: string) => `\u001b[200~${text}${PASTE_END}`;
const chose = (choice: string) => ({ type: "chosen", choice });
const instead = (text: string) => ({ type: "said_no", text, isMessage: true });
const because = (text: string) => ({ type: "said_no", text, isMessage: false });

test("names its keys in words", () => {
  expect(open().screen).toEqual(["? Apply it? ▮", ROW]);
});

test("shows which key Enter takes", () => {
  expect(open({ menu: { default: "n" } }).screen.at(-1)).toContain("n no (Enter)");
});

test("no longer shows it after another key, because Enter then takes none", () => {
  const line = open({ menu: { default: "n", noKey: undefined } }).type("x");
  expect([line.screen.at(-1), line.type("\r").ending]).toEqual([
    "  y yes · a yes to all edits this turn · n no · ? more",
    undefined,
  ]);
});

describe("a key", () => {
  test.each(["y", "a", "N", "e"])("decides with Enter: %s", (key) => {
    expect(open().type(key).ending).toBeUndefined();
    expect(open().type(key).type("\r").ending).toEqual(chose(key));
    expect(open().send(`${key}\r`).ending).toEqual(chose(key));
  });

  test.each(["y", "e"])("decides when nothing follows: %s", (key) => {
    expect(open().type(key).wait().ending).toEqual(chose(key));
  });

  test.each([
    ["a", "yes"],
    ["N", "no"],
  ])("that covers more waits for Enter, and says what it covers: %s", (key, answer) => {
    const line = open().type(key).wait();
    expect([line.ending, line.screen]).toEqual([
      undefined,
      [
        `? Apply it? ${key}▮`,
        `  ${key}: ${answer} to all edits this turn`,
        "  Enter confirm · any other key begins words · Esc back",
      ],
    ]);
    expect(line.type("\r").ending).toEqual(chose(key));
  });

  test.each(["a", "N"])(
    "that covers more is the beginning of words, however late they come: %s",
    (key) => {
      const line = open().type(key).wait().type("dd a docstring too").wait();
      expect([line.ending, line.screen[0]]).toEqual([
        undefined,
        `? Apply it? ${key}dd a docstring too▮`,
      ]);
      expect(line.type("\r").ending).toEqual(instead(`${key}dd a docstring too`));
    },
  );

  test("that covers more than fits on the screen has to be read to the end first", () => {
    const covers = "yes to all calls, with no files outside the workspace but /a, /b, /c and /d";
    const choices = [{ key: "a", covers }] as const;
    const small = { menu: { choices }, columns: 24, rows: 5 };
    const reading = { type: "read_more", text: covers, style: "drawn", isRequired: true };
    expect(open(small).type("a\r").ending).toEqual(reading);
    const asides = { hasMore: false, read: new Set([covers]) };
    expect(open({ ...small, asides }).type("a\r").ending).toEqual(chose("a"));
  });

  test("is shown while it is held", () => {
    expect(open().type("y").screen).toEqual(["? Apply it? y▮", ROW]);
  });

  test.each(["y\u007f", "y\u0015", "y\u001b", "a\u007f", "a\u001b"])(
    "is taken back by Backspace, Ctrl-U and Escape: %j",
    (keys) => {
      const line = open().type(keys).wait();
      expect([line.ending, line.screen]).toEqual([undefined, ["? Apply it? ▮", ROW]]);
    },
  );

  test("for a no opens a line, where Enter alone is a plain no", () => {
    const line = open().type("n").wait();
    expect(line.screen).toEqual([
      "? Apply it? No: ▮",
      "  waits for Enter (no) or words (what to do instead) · Esc back",
    ]);
    expect(line.type("\r").ending).toEqual(chose("n"));
    expect(open().type("n\r").ending).toEqual(chose("n"));
  });

  test("in capitals is not the same", () => {
    expect(open().type("Y").wait().ending).toBeUndefined();
  });
});

describe("words", () => {
  test.each([
    ["wait use the old", "wait use the old"],
    ["hello there", "hello there"],
    ["actually no", "actually no"],
    ["yes but not now", "yes but not now"],
    ["Yes, but", "Yes, but"],
    ["n use sed", "use sed"],
    ["no, use sed", "no, use sed"],
    ["y y", "y y"],
    ["?!", "?!"],
    ["日本", "日本"],
  ])("are a no and the next message: %s", (typed, said) => {
    const line = open().type(typed).wait();
    expect(line.ending).toBeUndefined();
    expect(line.type("\r").ending).toEqual(instead(said));
  });

  test("after the key for a no are what to do instead", () => {
    expect(open().type("n").wait().type("use sed\r").ending).toEqual(instead("use sed"));
  });

  test("say what Enter does with them", () => {
    expect(open().type("use sed").screen).toEqual(["? Apply it? use sed▮", ...TYPING]);
  });

  test.each(["\tuse sed\r", "use sed\t\r", "n\tuse sed\r"])(
    "are only the reason after Tab: %j",
    (keys) => {
      expect(open().type(keys).ending).toEqual(because("use sed"));
    },
  );

  test("may be a message again after another Tab", () => {
    expect(open().type("\tuse sed\t\r").ending).toEqual(instead("use sed"));
  });

  test("are only the reason of a no where there is no one to send them to", () => {
    const line = open({ menu: { sendsWords: false } }).type("use sed");
    expect(line.screen[1]).toBe("  Enter no, for this reason · Esc clear");
    expect(line.type("\r").ending).toEqual(because("use sed"));
  });

  test("may have several lines", () => {
    expect(open().type("use sed\u001b\rnot awk\r").ending).toEqual(instead("use sed\nnot awk"));
  });

  test.each(["yes", "YES", "y.", "Yes!"])("are never a yes: %s", (typed) => {
    const line = open().type(`${typed} \u007f\r`);
    expect([line.ending, line.screen]).toEqual([
      undefined,
      [`? Apply it? ${typed}▮`, "  To say yes, clear the line and press y alone.", ...TYPING],
    ]);
  });

  test.each(["no", "No.", "NO!"])("may be a plain no: %s", (typed) => {
    expect(open().type(`${typed}\r`).ending).toEqual(chose("n"));
  });

  test("of one letter decide nothing", () => {
    const line = open().type("x\r");
    expect([line.ending, line.screen[1]]).toEqual([
      undefined,
      "  One letter is not enough for a reason. ? shows the keys.",
    ]);
  });

  test("are cleared by Escape, after which a key decides again", () => {
    expect(open().type("use sed\u001b").type("y\r").ending).toEqual(chose("y"));
  });

  test("decide nothing where the question is not a yes or no", () => {
    const menu = openMenu().type("cancel please\r").wait();
    expect([menu.ending, menu.screen[0]]).toEqual([undefined, "? Cancel it? ▮"]);
    expect(menu.type("c\r").ending).toEqual(chose("c"));
  });
});

describe("pasted text", () => {
  test.each([
    ["marked as such", paste("y")],
    ["whose beginning was lost", `${PASTE_END}y`],
    ["whose end was lost", `y${PASTE_END}`],
    ["without marks", "yy"],
    ["without marks, of several lines", "y\ry"],
    ["without marks, with an empty line before it", "\ry"],
    ["with an arrow in it", "y\u001b[Cy"],
  ])("decides nothing, neither alone nor with Enter: %s", (_, input) => {
    expect(open().send(input).wait().ending).toBeUndefined();
    const { ending } = open().send(input).wait().type("\r");
    expect(ending).not.toMatchObject({ type: "chosen", choice: "y" });
  });

  test("makes words of the keys after it, even if it is empty", () => {
    const line = open().send(PASTE_END).type("y").wait();
    expect([line.ending, line.screen[0]]).toEqual([undefined, "? Apply it? y▮"]);
    expect(line.type("\u007fy\r").ending).toEqual(chose("y"));
  });

  test.each([
    ["marked", paste("use sed\nnot awk")],
    ["not marked", "use sed\rnot awk"],
  ])("is the reason of a no with Enter, with all of its lines: %s", (_, input) => {
    expect(open().send(input).type("\r").ending).toEqual(instead("use sed\nnot awk"));
  });

  test("with Enter at its end is a no with these words", () => {
    expect(open().send("use sed\r").ending).toEqual(instead("use sed"));
  });

  test("decides nothing where the question is not a yes or no", () => {
    expect(openMenu().send(paste("c")).wait().type("\r").ending).toBeUndefined();
    expect(openMenu().send("cc\r").wait().ending).toBeUndefined();
  });

  test.each([paste("c"), "cc\r"])(
    "lets a key decide afterwards where words mean nothing: %j",
    (input) => {
      expect(openMenu().send(input).type("c\r").ending).toEqual(chose("c"));
    },
  );
});

describe("Enter", () => {
  test("shows what a default covers before it takes it", () => {
    const line = open({ menu: { default: "N" } }).type("\r");
    expect([line.ending, line.screen[1]]).toEqual([undefined, "  N: no to all edits this turn"]);
    expect(line.type("\r").ending).toEqual(chose("N"));
  });

  test("takes the default if no other key came before", () => {
    expect(open({ menu: { default: "y" } }).type("\r").ending).toEqual(chose("y"));
    expect(open({ menu: { default: "y" } }).type("\n").ending).toEqual(chose("y"));
  });

  test.each(["\u001b[A", "x\u007f", "?\u007f", "use\u001b"])(
    "does not take the default after %j",
    (keys) => {
      expect(
        open({ menu: { default: "y" } })
          .type(keys)
          .type("\r").ending,
      ).toBeUndefined();
    },
  );

  test("explains the keys where there is no default", () => {
    const line = open().type("\r");
    expect([line.ending, line.screen]).toEqual([
      undefined,
      [
        "? Apply it? ▮",
        "  y      yes",
        "  a      yes to all edits this turn",
        "  n      no",
        "  N      no to all edits this turn",
        "  e      edit it first",
        "  words  no, and send them as your next message",
        "  Tab    no, with a reason",
        "  Esc    leave",
        ROW,
      ],
    ]);
  });
});

test.each(["?", "\u001b[A", "\u0007"])("%j explains the keys", (key) => {
  const line = open().type(key).wait();
  expect([line.ending, line.screen[2]]).toEqual([undefined, "  a      yes to all edits this turn"]);
});

test("opens the pager if there is more to read", () => {
  const asides = { hasMore: true };
  expect(open({ asides, columns: 90 }).screen.at(-1)).toContain("v show all · ? more");
  expect(open({ asides }).type("v").wait().ending).toEqual({ type: "read_more" });
  expect(open({ asides }).type("\u000f").ending).toEqual({ type: "read_more" });
  expect(open().type("v").wait().ending).toBeUndefined();
});

test("keeps the words while everything is read again", () => {
  const line = open({ asides: { hasMore: true } }).type("use sed\u000f");
  expect([line.ending, line.state.line.text]).toEqual([{ type: "read_more" }, "use sed"]);
});

test("takes a note if the question allows one", () => {
  const asides = { hasMore: false, note: "" };
  expect(open({ asides }).screen).toEqual([
    "? Apply it? ▮",
    "  y yes · a yes to all edits this turn · n no · Tab add note · ? more",
  ]);
  expect(open({ asides }).type("\t").ending).toEqual({ type: "add_note" });
  expect(open({ asides }).type("use sed\t\r").ending).toEqual(because("use sed"));
});

test("is cancelled by Ctrl-D, unless there are words", () => {
  expect(open().type("\u0004").ending).toEqual({ type: "cancelled" });
  expect(open().type("use sed\u0004").ending).toBeUndefined();
});

test("wraps between the keys on a narrow screen", () => {
  expect(open({ columns: 36 }).screen).toEqual([
    "? Apply it? ▮",
    "  y yes",
    "  a yes to all edits this turn",
    "  n no · Tab say why · ? more",
  ]);
});

test.each([
  [78, ROW],
  [60, "  y yes · a yes to all · n no · Tab say why · ? more"],
  [40, "  y yes · a yes to all · n no · ? more"],
  [20, "  y yes · ? more"],
])("names its keys in one row to a user who knows them: %d columns", (columns, row) => {
  const asides = { hasMore: false, areHintsFolded: true };
  expect(open({ asides, columns }).screen).toEqual(["? Apply it? ▮", row]);
});

test("names its keys in fewer words where there is little room", () => {
  const small = { rows: 8, columns: 66 };
  expect(open({ ...small, asides: { hasMore: true } }).screen).toEqual([
    "? Apply it? ▮",
    "  y yes · a yes to all · n no · Tab say why · v show all · ? more",
  ]);
  expect(open(small).type("use sed").screen).toEqual([
    "? Apply it? use sed▮",
    "  Enter no, and send it · Tab only as reason · Esc clear",
  ]);
});
