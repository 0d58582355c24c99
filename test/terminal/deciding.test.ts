import { describe, expect, test } from "vitest";
import type { InterruptChoice } from "../../src/core/agent/index.ts";
import type { ToolOrigin } from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import { TASK_ID } from "../support/prompter-task.ts";

interface PermissionOptions {
  readonly origin?: ToolOrigin;
  readonly arguments?: JsonObject;
  readonly isEditing?: boolean;
  readonly canRemember?: boolean;
  readonly allowsLater?: boolean;
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
const KEYS = "  y yes · a yes to all sweep calls this turn · n no · Tab say why · ? more";
const OPEN = `? ${QUESTION}\n${KEYS}`;
const HELP = "  Esc    cancel";

describe("a permission prompt", () => {
  test.each([
    ["y", answered(true), "yes"],
    ["a\r", answered(true, { isRemembered: true }), "yes to all sweep calls this turn"],
    ["Y\r", answered(true, { isRemembered: true }), "yes to all sweep calls this turn"],
    ["n\r", answered(false), "no"],
    ["N\r", answered(false, { isRemembered: true }), "no to all sweep calls this turn"],
  ])("is answered by %j", async (keys, result, said) => {
    const screen = permission();
    await screen.answer([OPEN, keys]);
    expect([await screen.result(), screen.lines]).toEqual([
      result,
      [...CALL, `${result.answer ? "✔" : "✖"} ${QUESTION} ${said}`],
    ]);
  });

  test.each([
    [{ type: "builtin" }, "? Run built-in sweep tool?"],
    [
      { type: "mcp", server: "broom", tool: "sweep", command: "broom" },
      "? Run MCP sweep tool from broom server?",
    ],
  ] as const)("says where the tool comes from: %j", async (origin, line) => {
    const screen = permission({ origin });
    await screen.untilShown((lines) => lines.at(-2) === line && lines.at(-1) === KEYS);
    screen.type("\u0003");
    expect(await screen.result()).toEqual(ended("cancelled"));
  });

  test("offers no answer for the whole turn where that is not possible", async () => {
    const screen = permission({ canRemember: false });
    const open = `? ${QUESTION}\n  y yes · n no · Tab say why · ? more`;
    await screen.answer([open, "Y\r"], ["To say yes, clear the line", "\u007f"], [open, "y"]);
    expect(await screen.result()).toEqual(answered(true));
  });

  test("has no default: Enter explains the keys", async () => {
    const screen = permission();
    await screen.answer([OPEN, "\r"], [HELP, ""]);
    const { lines } = screen;
    screen.type("\u001b");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      [
        ...CALL,
        `? ${QUESTION}`,
        "  y      yes",
        "  a      yes to all sweep calls this turn (also Y)",
        "  n      no",
        "  N      no to all sweep calls this turn",
        "  p      print the arguments",
        "  e      edit the arguments, then run",
        "  words  no, and send them as your next message",
        "  Tab    no, with a reason",
        HELP,
        KEYS,
      ],
      ended("cancelled"),
      [...CALL, `✖ ${QUESTION} cancelled`],
    ]);
  });

  test("comes back after printing the neutralized arguments", async () => {
    const screen = permission({ arguments: { path: "a\u202e\u009b2J" }, tool: "sw\u001b[2Jeep" });
    await screen.answer(["y yes", "p"], ["}\n? Run local", "y"]);
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

  test("is denied by words, which are also the next message", async () => {
    const screen = permission();
    await screen.answer([OPEN, "use the mop"], ["tool? use the mop", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      [
        ...CALL,
        `? ${QUESTION} use the mop`,
        "  Enter no, and send it as your message · Tab only as the reason · Esc clear",
      ],
      answered(false, { note: "use the mop", redirects: true }),
      [...CALL, `✖ ${QUESTION} no: use the mop`],
    ]);
  });

  test("takes words after n, where Enter alone is a plain no", async () => {
    const [withWords, alone] = [permission(), permission()];
    const asked = `? ${QUESTION} No:\n  waits for Enter (no) or words (what to do instead) · Esc back`;
    await withWords.answer([OPEN, "n"], [asked, "use the mop\r"]);
    await alone.answer([OPEN, "n"], [asked, "\r"]);
    expect([await withWords.result(), await alone.result()]).toEqual([
      answered(false, { note: "use the mop", redirects: true }),
      answered(false),
    ]);
  });

  test.each([
    ["before the words", ["\t", "No, because:", "not today"]],
    ["after the words", ["not today", "tool? not today", "\t"]],
  ] as const)("is denied with Tab %s, which makes them only the reason", async (_when, typed) => {
    const screen = permission();
    const [first, shown, second] = typed;
    await screen.answer([OPEN, first], [shown, second], ["No, because: not today", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines.at(-1), await screen.result(), screen.lines]).toEqual([
      "  Enter no, for this reason · Tab send it as your next message · Esc back",
      answered(false, { note: "not today" }),
      [...CALL, `✖ ${QUESTION} no: not today`],
    ]);
  });

  test("comes back if the reason is cancelled, after a second Escape if there is one", async () => {
    const screen = permission();
    await screen.answer([OPEN, "\t"], ["No, because:", "\u001b"]);
    await screen.answer([OPEN, "\t"], ["No, because:", "half\u001b"]);
    await screen.answer([ESCAPE_TWICE, "\u001b"], [OPEN, "y"]);
    expect(await screen.result()).toEqual(answered(true));
  });

  test.each([
    ["Escape", "\u001b"],
    ["Ctrl-C", "\u0003"],
  ])("offers to be left for later on %s, where it can be", async (_name, key) => {
    const [later, cancelled, back] = [
      permission({ allowsLater: true }),
      permission({ allowsLater: true }),
      permission({ allowsLater: true }),
    ];
    const asked =
      "? Leave this for later, or cancel it?\n" +
      "  l leave it for later · c cancel it · b go back · ? more";
    await Promise.all([
      later.answer([OPEN, key], [asked, "l"]),
      cancelled.answer([OPEN, key], [asked, "c"]),
      back.answer([OPEN, key], [asked, "b"], [OPEN, "y"]),
    ]);
    expect([await later.result(), await cancelled.result(), await back.result()]).toEqual([
      ended("later"),
      ended("cancelled"),
      answered(true),
    ]);
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
      await screen.answer([EDIT.join("\n"), "\r"], [OPEN, "\r"], [HELP, "y"]);
      expect(await screen.result()).toEqual(answered(true));
    },
  );

  test("lead back to the question when cleared", async () => {
    const screen = permission({ isEditing: true });
    await screen.answer([EDIT.join("\n"), `${CLEAR}\r`], [OPEN, "n\r"]);
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
const MENU = `? ${LINE}\n  y yes (Enter) · n no · Tab say why · ? more`;

function delivery(more: { readonly isEditing?: boolean; readonly content?: string } = {}) {
  const request = { kind: "delivery", tool: "sweep", content: "two\nlines", ...more } as const;
  return new PromptScreen({ method: "ask", request }, WIDE);
}

describe("a delivery prompt", () => {
  test.each([
    ["y", answered(true), `✔ ${LINE} yes`],
    ["\r", answered(true), `✔ ${LINE} yes`],
    ["n\r", answered(false), `✖ ${LINE} no`],
    ["\tprivate\r", answered(false, { note: "private" }), `✖ ${LINE} no: private`],
    ["not yet\r", answered(false, { note: "not yet", redirects: true }), `✖ ${LINE} no: not yet`],
    ["\u001b", ended("cancelled"), `✖ ${LINE} cancelled`],
    ["\u0003", ended("cancelled"), `✖ ${LINE} cancelled`],
  ])("is answered by %j", async (key, result, line) => {
    const screen = delivery();
    await screen.answer([MENU, key]);
    expect([await screen.result(), screen.lines]).toEqual([result, ["two", "lines", line]]);
  });

  test("comes back after printing the neutralized result", async () => {
    const screen = delivery({ content: "one\u001b[2J\n\u0007two\n" });
    await screen.answer([MENU, "p"], ["␇two\none␛[2J\n␇two\n? Deliver", "n\r"]);
    expect([await screen.result(), screen.lines]).toEqual([
      answered(false),
      ["one␛[2J", "␇two", "one␛[2J", "␇two", `✖ ${LINE} no`],
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
  await screen.answer(["? Edit the result:", "x\u001b"], [ESCAPE_TWICE, "\u001b"], [MENU, "n\r"]);
  expect(await screen.result()).toEqual(answered(false));
});

describe("the interrupt menu", () => {
  const TOOLS: readonly InterruptChoice["type"][] = ["continue", "reply", "stop", "restart"];
  const STREAMING: readonly InterruptChoice["type"][] = ["continue", "reply", "stop", "discard"];

  const WRITE = "Stopped. Write your reply:";

  function interrupt(choices = TOOLS, printFirst = "") {
    return new PromptScreen({ method: "choose", request: { choices }, printFirst });
  }

  const TOOL_KEYS = [
    "? Interrupted",
    "  c continue (Enter) · r stop and reply · s stop · t restart the tools · ? more",
  ].join("\n");
  const STREAM_KEYS = [
    "? Interrupted",
    "  c continue (Enter) · r stop and reply · s stop · a abort · ? more",
  ].join("\n");

  test.each([
    [TOOLS, TOOL_KEYS, "c", { type: "continue" }, "✔ Interrupted continue"],
    [TOOLS, TOOL_KEYS, "s", { type: "stop" }, "✔ Interrupted stop"],
    [TOOLS, TOOL_KEYS, "t", { type: "restart" }, "✔ Interrupted restart"],
    [STREAMING, STREAM_KEYS, "a", { type: "discard" }, "✔ Interrupted abort"],
    [STREAMING, STREAM_KEYS, "\u001b", { type: "continue" }, "✔ Interrupted continue"],
    [STREAMING, STREAM_KEYS, "\u0003", { type: "leave" }, "✖ Interrupted quit"],
  ])("offers what can be done about the work: %j", async (choices, menu, key, result, line) => {
    const screen = interrupt(choices);
    await screen.answer([menu, key]);
    expect([await screen.result(), screen.lines]).toEqual([result, [line]]);
  });

  test("takes a reply of several lines", async () => {
    const screen = interrupt();
    await screen.answer([TOOL_KEYS, "r"], [WRITE, "so\u001b\rand so\r"]);
    expect([await screen.result(), screen.lines]).toEqual([
      { type: "reply", message: "so\nand so" },
      ["✔ Interrupted reply", WRITE, "", "> so", "  and so"],
    ]);
  });

  test.each([
    ["Escape", "\u001b"],
    ["Ctrl-C", "\u0003"],
  ])("leaves the work stopped if the reply is left with %s", async (_, key) => {
    const screen = interrupt();
    await screen.answer([TOOL_KEYS, "r"], [WRITE, "half a"], ["> half a", key]);
    expect(await screen.result()).toEqual({ type: "stop" });
  });

  test("is erased when the signal aborts", async () => {
    const screen = interrupt(TOOLS, "some words\r\n");
    await screen.answer([TOOL_KEYS, "?"], ["  Esc  continue", ""]);
    screen.abort();
    expect([await screen.result(), screen.lines]).toEqual([{ type: "continue" }, ["some words"]]);
  });

  test("starts on a new line in the middle of output", async () => {
    const screen = interrupt(TOOLS, "half a li^C");
    await screen.answer([TOOL_KEYS, "c"]);
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
        [OPEN, "\t"],
        ["No, because:", ""],
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
