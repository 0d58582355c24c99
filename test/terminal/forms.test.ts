import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import type { PrompterTask } from "../support/prompter-task.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const ESCAPE = "\u001b";
const HOSTILE = "\u001b[31m\u001b]0;x\u0007\u202e";
const NEUTRALIZED = "␛[31m␛]0;x␇<U+202E>";
const RAW = /\u001b\[31m|\u001b\]0|\u0007|\u202e/;

const APPLY = booleanQuestion("a", "Apply it?", { context: "Look.", allowsNote: true });
const WHICH = selectQuestion("b", "Which?", { options: ["one", "two"], allowsOther: true });
const PASSWORD = secretQuestion("c", "Password?");
const NAME = textQuestion("d", "Name?", { default: "Ada" });
const SEVERAL = selectQuestion("e", "All?", { options: ["a", "b"], isMultiple: true });
const APPLY_KEYS = [
  "  y yes · a yes to this question for the rest of the turn · n no · Tab add note",
  "  ? more",
];
const REVIEW = ["? Send these answers?", "  y yes (Enter) · e change an answer · ? more"];

function fieldsOf(questions: readonly InquiryQuestion[], label?: string) {
  return questions.map((question, index) => ({
    ...field(index + 1),
    question,
    ...(label !== undefined && { label }),
  }));
}

function field(number: number) {
  return { inquiryId: `call_1.q.${number}` as InquiryId }; // In the format of the agent.
}

const FORM = { kind: "form", ...field(1) } as const;

interface FormOptions extends VirtualTerminalOptions {
  readonly label?: string;
  readonly allowsLater?: boolean;
  readonly task?: Pick<PrompterTask, "notification" | "printFirst" | "edited">;
}

function open(questions: readonly InquiryQuestion[], options: FormOptions = {}): PromptScreen {
  const { label, allowsLater = false, task, ...rest } = options;
  const request = { ...FORM, fields: fieldsOf(questions, label), allowsLater };
  return new PromptScreen({ method: "ask", request, ...task }, rest);
}

function answered(number: number, answer: unknown, more: object = {}) {
  return { ...field(number), type: "answered", answer, isRemembered: false, ...more };
}

/** A form whose questions are all answered, at its review. */
async function review(questions: readonly InquiryQuestion[], keys: readonly string[]) {
  const screen = open(questions);
  for (const [index, key] of keys.entries()) {
    await screen.answer([`? (${index + 1}/${questions.length})`, key]);
  }
  await screen.answer(["Send these", ""]);
  return screen;
}

function wide(count: number): string {
  return "日".repeat(count);
}

describe("a form", () => {
  test("asks one question at a time, and keeps earlier answers visible", async () => {
    const screen = open([APPLY, WHICH, PASSWORD], { label: "Assistant" });
    const seen: (readonly string[])[] = [];
    for (const [shown, keys] of [
      ["(1/3)", "\t"],
      ["? Note:", "now\r"],
      ["Note: now", "y\r"],
      ["(2/3)", "two\r"],
      ["(3/3)", "hunter2\r"],
      ["Send these", "y\r"],
    ] as const) {
      await screen.answer([shown, ""]);
      seen.push(screen.lines);
      screen.type(keys);
    }
    const result = await screen.result();
    const first = "✔ (1/3) Apply it? yes · note: now";
    const second = "✔ (2/3) Which? two";
    expect([seen, result, screen.lines]).toEqual([
      [
        ["Assistant", "Look.", "? (1/3) Apply it?", ...APPLY_KEYS],
        ["Assistant", "Look.", "? Note:", "  Enter submit · Alt-Enter new line · Esc go back"],
        [
          "Assistant",
          "Look.",
          "? (1/3) Apply it?",
          "  Note: now",
          "  y yes · a yes to this question for the rest of the turn · n no",
          "  Tab edit note · ? more",
        ],
        [
          "Assistant",
          first,
          "? (2/3) Which?",
          "❯ one",
          "  two",
          "  Other…",
          "  ↑↓ move · type to filter · Enter select · Esc go back",
        ],
        ["Assistant", first, second, "? (3/3) Password?", "  input is hidden · Enter submit"],
        ["Assistant", first, second, "✔ (3/3) Password? <redacted>", ...REVIEW],
      ],
      {
        ...field(1),
        type: "form",
        results: [answered(1, true, { note: "now" }), answered(2, "two"), answered(3, "hunter2")],
      },
      ["Assistant", "✔ Apply it? yes · note: now", "✔ Which? two", "✔ Password? <redacted>"],
    ]);
    expect(screen.bytes.includes("hunter")).toBe(false);
  });

  test("says at its first question that Escape cancels all of them", async () => {
    const screen = open([APPLY, NAME]);
    await screen.answer(["(1/2)", "?\r"], ["  Esc    cancel all questions", ESCAPE]);
    expect(await screen.result()).toEqual({ ...field(1), type: "cancelled" });
  });

  test("says there that Escape leaves them for later or cancels them, where both are possible", async () => {
    const screen = open([APPLY, NAME], { allowsLater: true });
    await screen.answer(["(1/2)", "?\r"], ["  Esc    leave or cancel all questions", ESCAPE]);
    await screen.answer(["Leave this for later, or cancel it?", "l\r"]);
    expect(await screen.result()).toEqual({ ...field(1), type: "later" });
  });

  test("goes back one question at a time on Escape, and keeps the answers", async () => {
    const screen = open([APPLY, WHICH, NAME]);
    await screen.answer(["(1/3)", "y\r"], ["(2/3)", "two\r"], ["Esc go back", "Grace\r"]);
    await screen.answer(["Send these", ESCAPE], ["Name? (Ada) Grace", ESCAPE]);
    await screen.answer(["❯ two", ESCAPE], ["(1/3) Apply it?\n  y yes (Enter)", "n\r"]);
    await screen.answer(["✔ (1/3) Apply it? no\n✔ (2/3) Which? two\n✔ (3/3) Name? Grace", "y"]);
    expect(await screen.result()).toMatchObject({
      results: [{ answer: false }, { answer: "two" }, { answer: "Grace" }],
    });
  });

  test("asks before Escape at its first question discards answers", async () => {
    const screen = open([APPLY, NAME]);
    await screen.answer(["(1/2)", "y\r"], ["(2/2)", ESCAPE], ["(1/2)", ESCAPE]);
    await screen.answer(
      ["? Cancel it?\n  c cancel it · b go back · ? more", ESCAPE],
      ["(1/2) Apply it?", ESCAPE],
    );
    await screen.answer(["? Cancel it?\n  c cancel it · b go back · ? more", "c"]);
    expect([await screen.result(), screen.lines]).toEqual([
      { ...field(1), type: "cancelled" },
      CANCELLED,
    ]);
  });

  test("keeps its answers after Ctrl-C if the user goes back", async () => {
    const screen = open([APPLY, NAME], { allowsLater: true });
    await screen.answer(["(1/2)", "y\r"], ["(2/2)", "\u0003"], ["Leave this for later", "b"]);
    await screen.answer(["✔ (1/2) Apply it? yes\n? (2/2)", "\r"], ["Send these", "y"]);
    expect(await screen.result()).toMatchObject({ results: [{ answer: true }, { answer: "Ada" }] });
  });

  test("with one question looks like that question alone", async () => {
    const screen = open([APPLY], { label: "Assistant" });
    await screen.answer(["? Apply it?", ""]);
    const { lines } = screen;
    screen.type("a\r");
    expect([lines, await screen.result(), screen.lines]).toEqual([
      ["Look.", "Assistant", "? Apply it?", ...APPLY_KEYS],
      { ...field(1), type: "form", results: [answered(1, true, { isRemembered: true })] },
      ["Look.", "Assistant", "✔ Apply it? yes to this question for the rest of the turn"],
    ]);
  });

  test("with one question is cancelled like that question", async () => {
    const screen = open([NAME]);
    await screen.answer(["? Name?", ESCAPE]);
    expect([await screen.result(), screen.lines]).toEqual([
      { ...field(1), type: "cancelled" },
      ["✖ Name? cancelled"],
    ]);
  });

  test("without questions is answered immediately", async () => {
    const screen = open([]);
    expect([await screen.result(), screen.lines]).toEqual([
      { ...field(1), type: "form", results: [] },
      [],
    ]);
  });

  const CANCELLED = ["✖ Apply it? cancelled", "✖ Name? cancelled"];

  test.each([
    ["at its first question", [["(1/2)", ESCAPE]]],
    [
      "in the middle",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "half\u0003"],
      ],
    ],
    [
      "by Ctrl-C at the end",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "\r"],
        ["Send these", "\u0003"],
      ],
    ],
    [
      "while an answer is changed",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "\r"],
        ["Send these", "1"],
        ["(1/2)", "\u0003"],
      ],
    ],
  ] as const)("is cancelled as a whole %s", async (_where, steps) => {
    const screen = open([APPLY, NAME]);
    for (const step of steps) await screen.answer(step);
    expect([await screen.result(), screen.lines]).toEqual([
      { ...field(1), type: "cancelled" },
      CANCELLED,
    ]);
  });

  test.each([
    [
      "question",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "half"],
        ["half", ""],
      ],
    ],
    [
      "note",
      [
        ["(1/2)", "\t"],
        ["? Note:", "half"],
        ["half", ""],
      ],
    ],
    [
      "review",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "\r"],
        ["Send these", ""],
      ],
    ],
    [
      "choice",
      [
        ["(1/2)", "y\r"],
        ["(2/2)", "\r"],
        ["Send these", "e"],
        ["Which answer", ""],
      ],
    ],
  ] as const)("is closed and erased when the signal aborts, at a %s", async (_where, steps) => {
    const screen = open([APPLY, NAME], { label: "Assistant" });
    for (const step of steps) await screen.answer(step);
    screen.abort();
    const isTyped = steps.some(([, keys]) => keys === "half");
    expect([await screen.result(), screen.lines]).toEqual([
      { ...field(1), type: "interrupted" },
      ["Assistant", ...(isTyped ? ["Not sent: half"] : [])],
    ]);
  });

  test("is interrupted when the terminal closes", async () => {
    const screen = open([APPLY, NAME]);
    await screen.answer(["(1/2)", "y\r"], ["(2/2)", ""]);
    screen.hangUp();
    const interrupted = { ...field(1), type: "interrupted" };
    expect(await screen.result()).toEqual(interrupted);
  });

  test("notifies once", async () => {
    const notification = { bell: true, desktop: true };
    const screen = open([APPLY, NAME], { task: { notification } });
    await screen.answer(["(1/2)", "y\r"], ["(2/2)", "\r"], ["Send these", "\r"]);
    const { bytes } = await screen.end();
    expect(bytes.match(/(\u001b\]9;[^\u0007]*)?\u0007/g)).toEqual([
      "\u001b]9;jp: (1/2) Apply it?\u0007",
      "\u0007",
    ]);
  });

  test("is asked on the terminal when the standard streams are redirected", async () => {
    const shell = 'echo no | "$@" 2>errors | cat >output';
    const request = { ...FORM, fields: fieldsOf([APPLY, NAME]) };
    const task = { method: "ask", request, printFirst: "words\n" } as const;
    const screen = new PromptProcess(task, { shell });
    await screen.answer(["(1/2)", "n\r"], ["(2/2)", "Grace\r"], ["Send these", "\r"]);
    const result = await screen.result();
    const read = (name: string) => readFileSync(path.join(screen.folder, name), "utf8");
    expect([result, screen.lines, read("output"), read("errors")]).toEqual([
      { ...field(1), type: "form", results: [answered(1, false), answered(2, "Grace")] },
      ["✔ Apply it? no", "✔ Name? Grace"],
      "words\n",
      "",
    ]);
  });

  test("neutralizes all untrusted text", async () => {
    const options = [{ value: `a${HOSTILE}`, description: `b${HOSTILE}`, preview: `c${HOSTILE}` }];
    const text = `Really${HOSTILE}?`;
    const screen = open(
      [
        { ...selectQuestion("q", text, { options }), context: `Look${HOSTILE}` },
        textQuestion("q", text, { default: `Ada${HOSTILE}` }),
      ],
      { label: `Assistant${HOSTILE}`, columns: 100 },
    );
    await screen.answer(
      [`Look${NEUTRALIZED}\n? (1/2) Really${NEUTRALIZED}?\n❯ a${NEUTRALIZED}`, "\r"],
      [`(Ada${NEUTRALIZED})`, "\r"],
      [`✔ (2/2) Really${NEUTRALIZED}? Ada${NEUTRALIZED}\n? Send`, "e"],
      [`❯ (1/2) Really${NEUTRALIZED}? a${NEUTRALIZED}`, ESCAPE],
      ["Send these", "y"],
    );
    const { lines, bytes } = await screen.end();
    expect([lines, RAW.test(bytes)]).toEqual([
      [
        `Assistant${NEUTRALIZED}`,
        `✔ Really${NEUTRALIZED}? a${NEUTRALIZED}`,
        `✔ Really${NEUTRALIZED}? Ada${NEUTRALIZED}`,
      ],
      false,
    ]);
  });
});

describe("the review of a form", () => {
  test("explains its keys", async () => {
    const screen = await review([APPLY, NAME], ["y\r", "\r"]);
    await screen.answer(["Send these", "?\r"], ["  Esc  go back", ""]);
    const { lines } = screen;
    screen.type("y");
    await screen.end();
    expect(lines).toEqual([
      "✔ (1/2) Apply it? yes",
      "✔ (2/2) Name? Ada",
      "? Send these answers?",
      "  y    send the answers",
      "  e    change an answer",
      "  1    change answer 1",
      "  2    change answer 2",
      "  Esc  go back",
      "  y yes · e change an answer · ? more",
    ]);
  });

  test.each([
    ["boolean", APPLY, "a\r", "turn (Enter)", "a\r", { answer: true, isRemembered: true }],
    ["boolean", APPLY, "N\r", "(2/2)", "N\r", { answer: false, isRemembered: true }],
    ["boolean", APPLY, "N\r", "(2/2)", "y\r", { answer: true, isRemembered: false }],
    ["select", WHICH, "two\r", "❯ two", "\r", { answer: "two" }],
    ["select", WHICH, "six\r", "❯ six", "\u001b[H\r", { answer: "one" }],
    ["text", NAME, "Grace\r", "Name? (Ada) Grace", " Hopper\r", { answer: "Grace Hopper" }],
    ["text", NAME, "Grace\r", "Name? (Ada) Grace", "\u0015\r", { answer: "Ada" }],
    ["secret", PASSWORD, "hunter2\r", "input is hidden", "\r", { answer: "" }],
    ["multiple", SEVERAL, "b \r", "❯ [x] b", "\r", { answer: ["b"] }],
    ["multiple", SEVERAL, "\u0001\r", "❯ [x] a", " \r", { answer: ["b"] }],
  ] as const)("changes a %s answer, starting from the earlier one", async (...row) => {
    const [, question, keys, shown, changed, result] = row;
    const screen = await review([APPLY, question], ["y\r", keys]);
    await screen.answer(["Send these", "2\r"], [shown, changed], ["✔ (2/2)", "y\r"]);
    expect(await screen.result()).toEqual({
      ...field(1),
      type: "form",
      results: [answered(1, true), { ...answered(2, null), ...result }],
    });
  });

  test("shows what an earlier answer for the whole turn covers before Enter keeps it", async () => {
    const screen = await review([APPLY, NAME], ["N\r", "\r"]);
    await screen.answer(["Send these", "1\r"], ["? (1/2) Apply it?", "\r"]);
    await screen.answer(["N: no to this question for the rest of the turn", "\r"]);
    await screen.answer(["Send these", "y\r"]);
    expect(await screen.result()).toMatchObject({
      results: [{ answer: false, isRemembered: true }, {}],
    });
  });

  test("changes an answer chosen with the arrow keys, in place, with its note", async () => {
    const screen = await review([WHICH, APPLY, NAME], ["\r", "y\r", "\r"]);
    await screen.answer(["Send these", "e"], ["❯ (1/3)", "\u001b[B"], ["❯ (2/3)", ""]);
    const choosing = screen.lines;
    screen.type("\r");
    await screen.answer(["? (2/3) Apply it?", ""]);
    const changing = screen.lines;
    screen.type("\t");
    await screen.answer(["Note:", "not yet\r"], ["Note: not yet", "n\r"], ["Send these", ""]);
    const reviewed = screen.lines;
    screen.type("2\r"); // The note is still there for the next change.
    await screen.answer(["Apply it?\n  Note: not yet", "\r"], ["Send these", "y\r"]);
    expect([choosing, changing, reviewed, await screen.result()]).toEqual([
      [
        "? Which answer do you want to change?",
        "  (1/3) Which? one",
        "❯ (2/3) Apply it? yes",
        "  (3/3) Name? Ada",
        "  ↑↓ move · type to filter · Enter select",
      ],
      [
        "✔ (1/3) Which? one",
        "✔ (3/3) Name? Ada",
        "Look.",
        "? (2/3) Apply it?",
        "  y yes (Enter) · a yes to this question for the rest of the turn · n no",
        "  Tab add note · ? more",
      ],
      [
        "✔ (1/3) Which? one",
        "✔ (2/3) Apply it? no · note: not yet",
        "✔ (3/3) Name? Ada",
        ...REVIEW,
      ],
      {
        ...field(1),
        type: "form",
        results: [answered(1, "one"), answered(2, false, { note: "not yet" }), answered(3, "Ada")],
      },
    ]);
  });

  test("shows words that were a no, and sends them as the next message", async () => {
    const screen = await review([NAME, APPLY], ["\r", "use sed\r"]);
    const { lines } = screen;
    screen.type("y\r");
    expect([lines, await screen.result()]).toEqual([
      ["✔ (1/2) Name? Ada", "✔ (2/2) Apply it? no: use sed", ...REVIEW],
      {
        ...field(1),
        type: "form",
        results: [answered(1, "Ada"), answered(2, false, { note: "use sed", redirects: true })],
      },
    ]);
  });

  test("takes no words, because it is not a yes or no", async () => {
    const screen = await review([NAME, APPLY], ["\r", "y\r"]);
    screen.type("no, wait\r");
    await screen.answer(["  Esc  go back", ""]);
    const { resultSoFar } = screen;
    screen.type("y\r");
    expect([resultSoFar, await screen.result()]).toMatchObject([undefined, { type: "form" }]);
  });

  test("comes back if no answer is chosen", async () => {
    const screen = await review([APPLY, NAME], ["y\r", "\r"]);
    await screen.answer(["Send these", "e"], ["Which answer", ESCAPE], ["Send these", "y"]);
    expect(await screen.result()).toMatchObject({ type: "form" });
  });
});

describe("a form on a screen", () => {
  const context = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join("\n");

  test("with few rows leaves room below a long context, and shows it in full on a key", async () => {
    const screen = open([NAME, { ...APPLY, context }], { rows: 12 });
    await screen.answer(
      ["(1/2)", "\r"],
      ["… 41 more lines ·", "y"],
      ["… 41 more lines ·", "\u001b[F"],
      ["go to the question", " "],
      ["? (2/2)", ""],
    );
    const { lines } = screen;
    screen.type("v");
    await screen.answer(["1-11 of 52", "q"], ["? (2/2)", "y"], ["Send these", "y"]);
    await screen.end();
    expect([lines, screen.lines]).toEqual([
      [
        ...Array.from({ length: 9 }, (_, index) => `line ${index + 1}`),
        "… 41 more lines",
        "? (2/2) Apply it?",
        "  y yes · a yes to all · n no · Tab add note · v show all · ? more",
      ],
      ["✔ Name? Ada", "✔ Apply it? yes"],
    ]);
  });

  test("with few columns truncates every line, including wide characters", async () => {
    const screen = open([NAME, textQuestion("q", "日本語日本語?")], { columns: 24 });
    await screen.answer(["(1/2)", `${"日本語".repeat(5)}\r`], ["(2/2)", "x\r"], ["Send", ""]);
    const { lines } = screen;
    screen.type("y");
    await screen.end();
    expect([lines, screen.lines]).toEqual([
      [
        "✔ (1/2) Name? 日本語日…",
        "✔ (2/2) 日本語日本語? x",
        "? Send these answers?",
        "  y yes (Enter)",
        "  e change an answer",
        "  ? more",
      ],
      ["✔ Name? 日本語日本語日…", "✔ 日本語日本語? x"],
    ]);
  });

  test("that is resized is shown once", async () => {
    const screen = open([NAME, { ...APPLY, context: wide(39) }], { columns: 100 });
    await screen.answer(["(1/2)", `${wide(20)}\r`], ["(2/2)", ""]);
    const narrow = ["  y yes · a yes to all · n no", "  Tab add note · ? more"];
    const wider = [
      "  y yes",
      "  a yes to this question for the rest of the turn",
      "  n no · Tab add note · ? more",
    ];
    const whole = [
      "  y yes · a yes to this question for the rest of the turn · n no · Tab add note · ? more",
    ];
    for (const { columns, above, keys } of [
      // A wide character that does not fit leaves a column empty: two rows become three.
      { columns: 39, above: [`${wide(11)}…`, wide(19), wide(19), wide(1)], keys: narrow },
      { columns: 50, above: [`${wide(17)}…`, wide(24), wide(15)], keys: wider },
      { columns: 90, above: [wide(20), wide(39)], keys: whole },
    ]) {
      screen.resize(columns, 24);
      const rows = [`✔ (1/2) Name? ${above.join("\n")}`, "? (2/2) Apply it?", ...keys];
      await screen.untilShown((lines) => lines.join("\n") === rows.join("\n"));
    }
    screen.type("\u0003");
    await screen.end();
    expect(screen.lines).toEqual(["✖ Name? cancelled", "✖ Apply it? cancelled"]);
  });
});
