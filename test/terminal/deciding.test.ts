import { describe, expect, test } from "vitest";
import type { InterruptChoice } from "../../src/agent/index.ts";
import type { ToolOrigin } from "../../src/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import { TASK_ID } from "../support/prompter-task.ts";

interface PermissionOptions {
  readonly origin?: ToolOrigin;
  readonly arguments?: JsonObject;
  readonly isEditing?: boolean;
  readonly canRemember?: boolean;
  readonly refused?: string;
  readonly edited?: string;
  readonly tool?: string;
}

const WIDE = { columns: 100 };
const ESCAPE_TWICE = "Press Esc again to discard what you entered.";

function permission(options: PermissionOptions = {}): PromptScreen {
  const { refused, edited, ...rest } = options;
  const request = {
    kind: "permission",
    tool: "sweep",
    origin: { type: "local", command: "broom" },
    arguments: { path: "a" },
    ...rest,
  } as const;
  const how = {
    ...(refused !== undefined && { refused }),
    ...(edited !== undefined && { edited }),
  };
  return new PromptScreen({ method: "ask", request, ...how }, WIDE);
}

function answered(answer: boolean, more: object = {}) {
  return { inquiryId: TASK_ID, type: "answered", answer, ...more };
}

function ended(type: "cancelled" | "interrupted" | "later") {
  return { inquiryId: TASK_ID, type };
}

const CALL = ['• sweep(path: "a")', 'Source: local command "broom"'];
const QUESTION = "Run local sweep tool?";
const OPEN = `? ${QUESTION} [y,Y,n,N,p,r,e,?]`;

describe("a permission prompt", () => {
  test.each([
    ["y", answered(true), "yes"],
    ["Y", answered(true, { isRemembered: true }), "yes to every call to `sweep` this turn"],
    ["n", answered(false), "no"],
    ["N", answered(false, { isRemembered: true }), "no to every call to `sweep` this turn"],
  ])("is answered by %s", async (key, result, said) => {
    const screen = permission();
    await screen.answer([OPEN, key]);
    expect([await screen.result(), screen.lines]).toEqual([
      result,
      [...CALL, `✔ ${QUESTION} ${said}`],
    ]);
  });

  test.each([
    [{ type: "builtin" }, "? Run built-in sweep tool? [y,Y,n,N,p,r,e,?]"],
    [
      { type: "mcp", server: "broom", tool: "sweep", command: "broom" },
      "? Run MCP sweep tool from broom server? [y,Y,n,N,p,r,e,?]",
    ],
  ] as const)("says where the tool comes from: %j", async (origin, line) => {
    const screen = permission({ origin });
    await screen.untilShown((lines) => lines.at(-1) === line);
    screen.type("\u0003");
    expect(await screen.result()).toEqual(ended("cancelled"));
  });

  test("offers no answer for the whole turn where that is not possible", async () => {
    const screen = permission({ canRemember: false });
    await screen.answer([`? ${QUESTION} [y,n,p,r,e,?]`, "Y"], ["show this help", "y"]);
    expect(await screen.result()).toEqual(answered(true));
  });

  test("has no default: Enter explains the keys", async () => {
    const screen = permission();
    await screen.answer([OPEN, "\r"], ["show this help", ""]);
    const { lines } = screen;
    screen.type("\u001b");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      [
        ...CALL,
        OPEN,
        "  y    run this call",
        "  Y    yes to every call to `sweep` this turn",
        "  n    skip this call",
        "  N    no to every call to `sweep` this turn",
        "  p    print the arguments",
        "  r    skip this call and say why",
        "  e    edit the arguments, then run",
        "  ?    show this help",
        "  Esc  cancel",
      ],
      ended("cancelled"),
      [...CALL, `✖ ${QUESTION} cancelled`],
    ]);
  });

  test("comes back after printing the neutralized arguments", async () => {
    const screen = permission({ arguments: { path: "a\u202e\u009b2J" }, tool: "sw\u001b[2Jeep" });
    await screen.answer(["[y,Y,n,N,p,r,e,?]", "p"], ["}\n? Run local", "y"]);
    expect([await screen.result(), screen.lines]).toEqual([
      answered(true),
      [
        '• sw<U+001B>[2Jeep(path: "a<U+202E><U+009B>2J")',
        'Source: local command "broom"',
        "{",
        String.raw`  "path": "a\u202e\u009b2J"`,
        "}",
        "✔ Run local sw<U+001B>[2Jeep tool? yes",
      ],
    ]);
  });

  test.each([
    ["not today\r", answered(false, { note: "not today" }), "no: not today"],
    ["\r", answered(false), "no"],
  ])("takes an optional reason to skip: %j", async (keys, result, said) => {
    const screen = permission();
    await screen.answer([OPEN, "r"], ["? Reason for skipping (optional):", keys]);
    const lines = [...CALL, `✔ ${QUESTION} ${said}`];
    expect([await screen.result(), screen.lines]).toEqual([result, lines]);
  });

  test("comes back if the reason is cancelled, after a second Escape if there is one", async () => {
    const screen = permission();
    await screen.answer([OPEN, "r"], ["? Reason for skipping (optional):", "\u001b"]);
    await screen.answer([OPEN, "r"], ["? Reason for skipping (optional):", "half\u001b"]);
    await screen.answer([ESCAPE_TWICE, "\u001b"], [OPEN, "y"]);
    expect(await screen.result()).toEqual(answered(true));
  });
});

/** The text `{"path": "a"}` in three lines, with the cursor at the end. */
const EDIT = ["? Edit arguments:", "  {", '    "path": "a"', "  }"];
const CLEAR = "\u0015\u007f\u0015\u007f\u0015";

describe("the arguments of a call", () => {
  test("can be edited until they are valid", async () => {
    const screen = permission({ refused: '{"path":"b"}' });
    await screen.answer(
      [OPEN, "e"],
      [EDIT.join("\n"), `${CLEAR}{"path"\r`],
      ["Invalid JSON", `${CLEAR}[1]\r`],
      ["Not a JSON object.", `${CLEAR}{"path":"b"}\r`],
      ["No ␛[2Jgood.", "\u007f\u007f"],
      ['? Edit arguments: {"path":"b\n', 'c"}\r'],
    );
    expect([await screen.result(), screen.lines]).toEqual([
      answered(true, { arguments: { path: "bc" } }),
      [...CALL, `✔ ${QUESTION} yes, with edited arguments`],
    ]);
  });

  test("open for editing right away if the request says so", async () => {
    const screen = permission({ isEditing: true });
    await screen.answer(["Enter submit", ""]);
    const { lines } = screen;
    screen.abort();
    await screen.end();
    expect(lines.slice(0, 6)).toEqual([...CALL, ...EDIT]);
  });

  test.each([false, true])(
    "lead back to the question if they are unchanged, since Enter alone decides nothing (%j)",
    async (isEditing) => {
      counters("T-TERM-12");
      const screen = permission({ isEditing });
      if (!isEditing) await screen.answer([OPEN, "e"]);
      await screen.answer([EDIT.join("\n"), "\r"], [OPEN, "\r"], ["show this help", "y"]);
      expect(await screen.result()).toEqual(answered(true));
    },
  );

  test("lead back to the question when cleared", async () => {
    const screen = permission({ isEditing: true });
    await screen.answer([EDIT.join("\n"), `${CLEAR}\r`], [OPEN, "n"]);
    expect(await screen.result()).toEqual(answered(false));
  });

  test.each([false, true])("lead back to the question on Escape (%j)", async (isEditing) => {
    const screen = permission({ isEditing });
    if (!isEditing) await screen.answer([OPEN, "e"]);
    await screen.answer([EDIT.join("\n"), "\u001b"], [OPEN, "y"]);
    expect([await screen.result(), screen.lines]).toEqual([
      answered(true),
      [...CALL, `✔ ${QUESTION} yes`],
    ]);
  });

  test("are not lost by one Escape once they are changed", async () => {
    const screen = permission();
    await screen.answer([OPEN, "e"], [EDIT.join("\n"), "\u007f\u001b"]);
    await screen.answer([ESCAPE_TWICE, ',"b":1}\r']);
    expect(await screen.result()).toMatchObject({ arguments: { path: "a", b: 1 } });
  });

  test("can be edited in an editor, which gets the terminal to itself", async () => {
    const screen = permission({ edited: '{"was":$TEXT,"in":"$EXTENSION"}\n' });
    await screen.answer([OPEN, "e"], ["Ctrl-X editor", "\u0018"], ['"in":".json"}', "\r"]);
    expect(await screen.result()).toEqual(
      answered(true, { arguments: { was: { path: "a" }, in: ".json" } }),
    );
  });

  test("stay as they are if the editor fails, with the reason", async () => {
    const screen = permission({ edited: "fail" });
    await screen.answer(
      [OPEN, "e"],
      ["Ctrl-X editor", "\u0018"],
      ["  No editor ␛[2Jis set.", "\r"],
      [OPEN, "y"],
    );
    expect(await screen.result()).toEqual(answered(true));
  });
});

function doubt(rows = 24): PromptScreen {
  const request = {
    kind: "in_doubt",
    tool: "sweep",
    origin: { type: "local", command: "broom" },
    folder: "house",
    arguments: { path: "a" },
  } as const;
  return new PromptScreen({ method: "ask", request }, { ...WIDE, rows });
}

describe("a call in doubt", () => {
  const TEXT =
    "? sweep was cut off while it was running, and may or may not have finished. What now?";
  const DOWN = "\u001b[B";

  test("is shown with its arguments, source and folder", async () => {
    const screen = doubt();
    await screen.answer([TEXT, ""], ["Enter select", ""]);
    const { lines } = screen;
    screen.type("\u0003");
    expect([lines, await screen.result()]).toEqual([
      [
        ...CALL,
        'Folder: "house"',
        TEXT,
        "❯ run - run it again",
        "  skip - continue without it",
        "  Other…",
        "  ↑↓ move · type to filter · then Enter select",
      ],
      ended("cancelled"),
    ]);
  });

  test.each([
    ["run", `${DOWN}\u001b[A\r`],
    ["skip", `${DOWN}\r`],
    ["It is clean.", "It is clean.\r"],
  ])("is decided by an answer, and not by Enter alone: %s", async (answer, keys) => {
    counters("T-TERM-12");
    const screen = doubt();
    await screen.answer([TEXT, "\r"]);
    screen.type("\r");
    await screen.answer([TEXT, keys]);
    expect(await screen.result()).toMatchObject({ type: "answered", answer });
  });

  test("takes no answer before all of it was shown", async () => {
    counters("T-TERM-7");
    const screen = doubt(5);
    await screen.answer(["more lines ·", `${DOWN}\r`], ["more lines ·", "\u0003"]);
    expect(await screen.result()).toEqual(ended("cancelled"));
  });
});

const LINE = "Deliver sweep result to assistant?";
const MENU = `? ${LINE} [y,n,e,p,?] (y)`;

function delivery(more: { readonly isEditing?: boolean; readonly content?: string } = {}) {
  const request = { kind: "delivery", tool: "sweep", content: "two\nlines", ...more } as const;
  return new PromptScreen({ method: "ask", request }, WIDE);
}

describe("a delivery prompt", () => {
  test.each([
    ["y", answered(true), `✔ ${LINE} yes`],
    ["\r", answered(true), `✔ ${LINE} yes`],
    ["n", answered(false), `✔ ${LINE} no`],
    ["\u001b", ended("cancelled"), `✖ ${LINE} cancelled`],
    ["\u0003", ended("cancelled"), `✖ ${LINE} cancelled`],
  ])("is answered by %j", async (key, result, line) => {
    const screen = delivery();
    await screen.answer([MENU, key]);
    expect([await screen.result(), screen.lines]).toEqual([result, ["two", "lines", line]]);
  });

  test("comes back after printing the neutralized result", async () => {
    const screen = delivery({ content: "one\u001b[2J\n\u0007two\n" });
    await screen.answer([MENU, "p"], ["␇two\none␛[2J\n␇two\n? Deliver", "n"]);
    expect([await screen.result(), screen.lines]).toEqual([
      answered(false),
      ["one␛[2J", "␇two", "one␛[2J", "␇two", `✔ ${LINE} no`],
    ]);
  });

  test.each([
    [" more\r", answered(true, { content: "two\nlines more" }), "yes, edited"],
    ["\r", answered(true), "yes"],
    ["\u0015\u007f\u0015\r", answered(true), "yes"],
  ])("edits the result: %j", async (keys, result, said) => {
    const [byKey, atOnce] = [delivery(), delivery({ isEditing: true })];
    await Promise.all([
      byKey.answer([MENU, "e"], ["? Edit the result:", keys]),
      atOnce.answer(["? Edit the result:", keys]),
    ]);
    expect([await byKey.result(), await atOnce.result(), byKey.lines]).toEqual([
      result,
      result,
      ["two", "lines", `✔ ${LINE} ${said}`],
    ]);
  });
});

test.each([false, true])("Escape in the edited result goes back (%j)", async (isEditing) => {
  const screen = delivery({ isEditing });
  if (!isEditing) await screen.answer([MENU, "e"]);
  await screen.answer(["? Edit the result:", "x\u001b"], [ESCAPE_TWICE, "\u001b"], [MENU, "n"]);
  expect(await screen.result()).toEqual(answered(false));
});

describe("the interrupt menu", () => {
  const TOOLS: readonly InterruptChoice["type"][] = ["continue", "reply", "stop", "restart"];
  const STREAMING: readonly InterruptChoice["type"][] = ["continue", "reply", "stop", "discard"];

  function interrupt(choices = TOOLS, printFirst = "") {
    return new PromptScreen({ method: "choose", request: { choices }, printFirst });
  }

  test.each([
    [TOOLS, "? Interrupted [c,r,s,t,?]", "c", { type: "continue" }, "✔ Interrupted continue"],
    [TOOLS, "? Interrupted [c,r,s,t,?]", "s", { type: "stop" }, "✔ Interrupted stop"],
    [TOOLS, "? Interrupted [c,r,s,t,?]", "t", { type: "restart" }, "✔ Interrupted restart"],
    [STREAMING, "? Interrupted [c,r,s,a,?]", "a", { type: "discard" }, "✔ Interrupted abort"],
    [
      STREAMING,
      "? Interrupted [c,r,s,a,?]",
      "\u001b",
      { type: "continue" },
      "✔ Interrupted continue",
    ],
    [STREAMING, "? Interrupted [c,r,s,a,?]", "\u0003", { type: "leave" }, "✖ Interrupted quit"],
  ])("offers what can be done about the work: %j", async (choices, menu, key, result, line) => {
    const screen = interrupt(choices);
    await screen.answer([menu, key]);
    expect([await screen.result(), screen.lines]).toEqual([result, [line]]);
  });

  test.each([
    ["so\u001b\rand so\r", "so\nand so", "reply: so and so"],
    ["\r", "", "reply"],
  ])("takes a reply: %j", async (keys, message, said) => {
    const screen = interrupt();
    await screen.answer(["[c,r,s,t,?]", "r"], ["? Reply:", keys]);
    expect([await screen.result(), screen.lines]).toEqual([
      { type: "reply", message },
      [`✔ Interrupted ${said}`],
    ]);
  });

  test("comes back if the reply is cancelled", async () => {
    const screen = interrupt();
    await screen.answer(["[c,r,s,t,?]", "r"], ["? Reply:", "x\u001b"]);
    await screen.answer([ESCAPE_TWICE, "\u001b"], ["[c,r,s,t,?]", "c"]);
    expect(await screen.result()).toEqual({ type: "continue" });
  });

  test("is erased when the signal aborts", async () => {
    const screen = interrupt(TOOLS, "some words\r\n");
    await screen.answer(["[c,r,s,t,?]", "?"], ["show this help", ""]);
    screen.abort();
    expect([await screen.result(), screen.lines]).toEqual([{ type: "continue" }, ["some words"]]);
  });

  test("starts on a new line in the middle of output", async () => {
    const screen = interrupt(TOOLS, "half a li^C");
    await screen.answer(["[c,r,s,t,?]", "c"]);
    await screen.end();
    expect(screen.lines).toEqual(["half a li^C", "✔ Interrupted continue"]);
  });
});

describe("when the terminal closes", () => {
  test.each([
    ["a permission prompt", () => permission(), [[OPEN, ""]]],
    [
      "an edit of the arguments",
      () => permission({ isEditing: true }),
      [["? Edit arguments:", ""]],
    ],
    [
      "a prompt for a reason",
      () => permission(),
      [
        [OPEN, "r"],
        ["? Reason", ""],
      ],
    ],
    ["a delivery prompt", () => delivery(), [[MENU, ""]]],
    ["an edit of the result", () => delivery({ isEditing: true }), [["? Edit the result:", ""]]],
  ] as const)(
    "a prompt is interrupted, not answered, when the terminal closes: %s",
    async (_prompt, open, steps) => {
      counters("T-PROV-8");
      const screen = open();
      for (const step of steps) await screen.answer(step);
      screen.hangUp();
      expect(await screen.result()).toEqual(ended("interrupted"));
    },
  );

  test("the interrupt menu fails instead of choosing", async () => {
    counters("T-PROV-8");
    const screen = new PromptScreen({ method: "choose", request: { choices: ["continue"] } });
    await screen.answer(["? Interrupted", ""]);
    screen.hangUp();
    expect(await screen.result()).toMatchObject({ code: "no_terminal" });
  });
});
