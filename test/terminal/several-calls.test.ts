import { describe, expect, test } from "vitest";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import { type PrompterTask, TASK_ID } from "../support/prompter-task.ts";

const LOCAL = { type: "local", command: "broom" } as const;
const CALLS = ["a", "b", "c"].map((path) => ({
  tool: "sweep",
  origin: LOCAL,
  arguments: { path },
}));

function task(more: object = {}): PrompterTask {
  return { method: "ask", request: { kind: "permissions", calls: CALLS, ...more } };
}

function show(more: object = {}, options: VirtualTerminalOptions = {}): PromptScreen {
  return new PromptScreen(task(more), options);
}

function form(...results: readonly object[]) {
  return { inquiryId: TASK_ID, type: "form", results };
}

function answered(call: number, answer: boolean, more: object = {}) {
  return { inquiryId: `call_${call}:run:1`, type: "answered", answer, ...more };
}

const ROWS = CALLS.map(
  ({ arguments: { path } }, index) =>
    `${index === 0 ? "❯" : " "} [ ] sweep(path: "${path}") · local command "broom"`,
);
const KEYS = [
  "  y yes to all · n no to all · Space choose · Enter show in full · Tab say why",
  "  ? more",
];
const OPEN = ["? Run these 3 calls?", ...KEYS].join("\n");
const ONE = "? Run local sweep tool?";
const [DOWN, ESCAPE, CTRL_C] = ["\u001b[B", "\u001b", "\u0003"];

describe("several calls on one screen", () => {
  test("are listed with where each comes from, and decided by one key", async () => {
    const screen = show();
    await screen.untilShown((lines) => lines.join("\n").endsWith(OPEN));
    expect(screen.lines.slice(0, 3)).toEqual(ROWS);
    screen.type("y");
    expect(await screen.result()).toEqual(
      form(answered(1, true), answered(2, true), answered(3, true)),
    );
    expect(screen.lines).toEqual([
      '✔ Run sweep(path: "a")? yes',
      '✔ Run sweep(path: "b")? yes',
      '✔ Run sweep(path: "c")? yes',
    ]);
  });

  test("can be denied for a reason", async () => {
    const screen = show();
    await screen.answer([OPEN, "\t"], ["No, because:", "too early\r"]);
    const why = { note: "too early" };
    expect(await screen.result()).toEqual(
      form(answered(1, false, why), answered(2, false, why), answered(3, false, why)),
    );
  });

  test("are turned down by words, which go with the first of them", async () => {
    const screen = show();
    await screen.answer([OPEN, "use the mop"], ["use the mop", "\r"]);
    expect(await screen.result()).toEqual(
      form(answered(1, false, { note: "use the mop", redirects: true })),
    );
    expect(screen.lines).toEqual(['✖ Run sweep(path: "a")? no: use the mop']);
  });

  test("can be opened one by one, as if each were asked about alone", async () => {
    const screen = show();
    await screen.answer([OPEN, DOWN], ['❯ [ ] sweep(path: "b")', "\r"], [ONE, "a\r"]);
    expect(await screen.result()).toEqual(form(answered(2, true, { isRemembered: true })));
    expect(screen.lines).toEqual([
      '• sweep(path: "b")',
      'Source: local command "broom"',
      "✔ Run local sweep tool? yes to all sweep calls this turn",
    ]);
  });

  test("are listed again after Escape", async () => {
    const screen = show();
    await screen.answer([OPEN, "\r"], [ONE, ESCAPE], [OPEN, " "], ["Run the chosen call?", "n"]);
    await screen.answer(["No:", "\r"]);
    expect(await screen.result()).toEqual(form(answered(1, false)));
    expect(screen.lines).toEqual([
      '• sweep(path: "a")',
      'Source: local command "broom"',
      "✖ Run local sweep tool? not decided yet",
      '✖ Run sweep(path: "a")? no',
    ]);
  });

  test("show escape sequences of a call as what they are, and do not let a yes cover it", async () => {
    const hostile = { tool: "sweep", arguments: { path: "a\u001b[2J\n\u202Ecba" } };
    const screen = show({ calls: [...CALLS, hostile] });
    await screen.untilShown((lines) => lines.some((line) => line.includes("yes to 3")));
    expect(screen.lines[3]).toBe('  [!] sweep(path: "a\\u001b[2J\\n<U+202E>cba")');
    screen.type("y");
    expect(await screen.result()).toEqual(
      form(answered(1, true), answered(2, true), answered(3, true)),
    );
  });

  test.each([
    ["cancelled", {}, [[OPEN, CTRL_C]]],
    ["cancelled", {}, [[OPEN, ESCAPE]]],
    [
      "later",
      { allowsLater: true },
      [
        [OPEN, CTRL_C],
        ["Leave all of them for later, or cancel them?", "l"],
      ],
    ],
    [
      "cancelled",
      { allowsLater: true },
      [
        [OPEN, ESCAPE],
        ["Leave all of them for later, or cancel them?", "c"],
      ],
    ],
  ] as const)("can be left all together: %s, %j", async (type, more, typed) => {
    const screen = show(more);
    await screen.answer(...typed);
    expect(await screen.result()).toEqual({ inquiryId: TASK_ID, type });
    const said = type === "later" ? "left for later" : "cancelled";
    expect(screen.lines).toEqual([`✖ Run these 3 calls? ${said}`]);
  });

  test("close when they no longer wait, in the list and in a call that is open", async () => {
    const list = show();
    await list.answer([OPEN, "half a wor"], ["half a wor", ""]);
    list.abort();
    expect(await list.result()).toEqual({ inquiryId: TASK_ID, type: "interrupted" });
    expect(list.lines).toEqual(["Not sent: half a wor"]);
    const opened = show();
    await opened.answer([OPEN, "\r"], [ONE, ""]);
    opened.abort();
    expect(await opened.result()).toEqual({ inquiryId: TASK_ID, type: "interrupted" });
  });

  test("fit on 40 columns", async () => {
    const screen = show({}, { columns: 40, rows: 24 });
    await screen.untilShown((lines) => lines.at(-1)?.includes("? more") === true);
    expect(screen.lines).toEqual([
      '❯ [ ] sweep(path: "a") · local command',
      '      "broom"',
      '  [ ] sweep(path: "b") · local command',
      '      "broom"',
      '  [ ] sweep(path: "c") · local command',
      '      "broom"',
      "? Run these 3 calls?",
      "  y yes to all · n no to all",
      "  Space choose · Enter show in full",
      "  Tab say why · ? more",
    ]);
    screen.type(CTRL_C);
    await screen.result();
  });
});

test("several calls in plain text are printed in full, and decided by their numbers", async () => {
  const screen = new PromptProcess({ ...task(), isPlain: true }, { columns: 80 });
  await screen.untilLineAsked("Run these 3 calls?");
  screen.type("show 2\r");
  await screen.untilLineAsked("Run local sweep tool?");
  screen.type("/cancel\r");
  await screen.untilLineAsked("Run these 3 calls?");
  screen.type("1,3\r");
  expect(await screen.result()).toEqual(form(answered(1, true), answered(3, true)));
});
