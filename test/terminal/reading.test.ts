import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { PromptScreen } from "../support/prompt-screen.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const END = "\u001b[F";
const PAGE_DOWN = "\u001b[6~";
const START = "Delete /home for ever?";
/** Starts with what matters, and ends like something harmless. */
const LONG = `${START} ${"So be it. ".repeat(300)}Show the version?`;

const QUESTIONS = {
  boolean: booleanQuestion("q", LONG, { default: true }),
  select: selectQuestion("q", LONG, { options: ["a", "b"] }),
  several: selectQuestion("q", LONG, { options: ["a", "b"], isMultiple: true }),
  text: textQuestion("q", LONG, { default: "yes" }),
  secret: secretQuestion("q", LONG),
};
const TYPES = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]; // Exactly these keys.

function open(question: InquiryQuestion, options: VirtualTerminalOptions = { rows: 12 }) {
  return new PromptScreen({ method: "ask", request: { inquiryId, question } }, options);
}

const STATUS = /… \d+ more lines( ·|$)/;

/** The status row. It counts the lines that follow, so it changes with every key that scrolls. */
async function statusRow(screen: PromptScreen): Promise<string> {
  await screen.untilShown((lines) => lines.some((line) => STATUS.test(line)));
  return screen.lines.find((line) => STATUS.test(line)) ?? "";
}

async function untilOther(screen: PromptScreen, status: string): Promise<void> {
  await screen.untilShown((lines) => lines.some((line) => STATUS.test(line) && line !== status));
}

describe("a question longer than the screen", () => {
  test.each(TYPES)("shows its start, and no key answers it: type %s", async (type) => {
    counters("T-TERM-7");
    const screen = open(QUESTIONS[type]);
    const before = await statusRow(screen);
    const first = screen.lines[0] ?? "";
    screen.type("yY1nNq\r\t");
    // Enter scrolls by a line.
    await screen.untilShown((lines) => lines.at(-1) !== before);
    screen.type("x\u001b[B");
    await statusRow(screen);
    const result = screen.resultSoFar;
    screen.type("\u001b");
    expect([first.startsWith(START), result, await screen.result()]).toEqual([
      true,
      undefined,
      { inquiryId, type: "cancelled" },
    ]);
  });

  test.each(TYPES)("can be answered after skipping to the end: type %s", async (type) => {
    const keys = { boolean: "y", select: "\r", several: " \r", text: "x\r", secret: "x\r" }[type];
    const screen = open(QUESTIONS[type]);
    await screen.answer(["more lines ·", END], ["go to the question", " "], [`? ${START}`, keys]);
    expect(await screen.result()).toMatchObject({ type: "answered" });
  });

  test("is shown page by page, then from its start with the keys", async () => {
    const screen = open(QUESTIONS.boolean, { rows: 12, columns: 80 });
    const pages: string[] = [];
    for (let status = ""; !status.startsWith("End of text");) {
      await screen.untilShown((lines) => lines.length === 12 && lines.at(-1) !== status);
      status = screen.lines.at(-1) ?? "";
      pages.push(...screen.lines.slice(0, -1));
      screen.type(PAGE_DOWN);
    }
    await screen.answer(["? more", ""]);
    const { lines } = screen;
    screen.type("n\r");
    await screen.end();
    expect(pages.join(" ").split("So be it.").length).toBeGreaterThan(300);
    expect([lines[0]?.startsWith(`? ${START}`), lines.length]).toEqual([true, 12]);
  });

  test("is not answered unread when the window shrinks or grows", async () => {
    counters("T-TERM-7");
    const screen = open(QUESTIONS.boolean, { rows: 12 });
    const before = await statusRow(screen);
    for (const [columns, rows] of [
      [40, 6],
      [100, 20],
      [60, 5],
    ] as const) {
      screen.resize(columns, rows);
      await screen.untilShown((lines) => lines.length === rows);
      screen.type("y\r");
    }
    const result = screen.resultSoFar;
    screen.type("\u0003");
    expect([before.length > 0, result, await screen.result()]).toEqual([
      true,
      undefined,
      { inquiryId, type: "cancelled" },
    ]);
  });

  test.each([
    ["a single word", "a".repeat(3000)],
    ["wide characters", "日本".repeat(1500)],
    ["blank lines in its context", "Above\n".concat("\n".repeat(500), "Below")],
    ["thousands of lines", "line\n".repeat(5000)],
  ])("says how many lines follow: because of %s", async (_cause, context) => {
    const screen = open({ ...booleanQuestion("q", "Go on?"), context }, { rows: 10 });
    const status = await statusRow(screen);
    screen.type("\u001b");
    await screen.end();
    expect(status).toMatch(/^… \d+ more lines · End shows the rest · Space next page$/);
  });

  test("can be read and answered on a screen of six rows", async () => {
    const screen = open(booleanQuestion("q", "Go on, or not?", { context: "1\n2\n3\n4\n5" }), {
      rows: 6,
      columns: 60,
    });
    await screen.answer(["… 2 more", " "], ["3-5 of 5", "y"]);
    expect(await screen.result()).toMatchObject({ answer: true });
  });
});

test("a question that was not read to its end can be left for later, and must be read after going back", async () => {
  counters("T-TERM-7");
  const question = booleanQuestion("q", "Go on?", { context: "line\n".repeat(50), acts: true });
  const request = { inquiryId, question, allowsLater: true };
  const screen = new PromptScreen({ method: "ask", request }, { rows: 12 });
  await screen.answer(["more lines ·", "\u0003"], ["Leave this for later", "b"]);
  await screen.answer(["more lines ·", "y"], ["Read to the end first", "\u0003"]);
  await screen.answer(["Leave this for later", "l"]);
  expect([await screen.result(), screen.lines]).toEqual([
    { inquiryId, type: "later" },
    ["✖ Go on? left for later"],
  ]);
});

test("a question that fits is not paged", async () => {
  const screen = open(booleanQuestion("q", "Go on?", { context: "1\n2\n3" }), { rows: 5 });
  await screen.answer(["? Go on?", "y"]);
  expect([await screen.result(), screen.lines]).toMatchObject([
    { answer: true },
    ["1", "2", "3", "✔ Go on? yes"],
  ]);
});

test("a default longer than the screen must be read before Enter accepts it", async () => {
  counters("T-TERM-7");
  const screen = open(textQuestion("q", "Which?", { default: `ls; ${"x ".repeat(500)}rm -rf /` }));
  const before = await statusRow(screen);
  screen.type("\r");
  await screen.untilShown((lines) => lines.at(-1) !== before);
  const result = screen.resultSoFar;
  screen.type("\u001b");
  await screen.end();
  expect(result).toBeUndefined();
});

function permission(args: JsonObject, isEditing = false): PromptScreen {
  const origin = { type: "local", command: "sh" } as const;
  const request = { kind: "permission", tool: "sh", origin, arguments: args, isEditing } as const;
  return new PromptScreen({ method: "ask", request }, { rows: 12 });
}

describe("the arguments of a call", () => {
  test("are shown in full before it may run, with their line breaks", async () => {
    counters("T-TERM-7");
    const command = `echo ${"a ".repeat(60)}; rm -rf /`;
    const screen = permission({ command, script: "one\n  path: two" });
    await screen.answer(["? Run local sh tool?", "n\r"]);
    await screen.end();
    const shown = screen.lines.slice(0, -1);
    expect([shown[0], shown.join("").includes("; rm -rf /"), shown.slice(-3)]).toEqual([
      "• sh",
      true,
      ["    │ one", "    │   path: two", 'Source: local command "sh"'],
    ]);
  });

  test.each([false, true])(
    "must be read first if they are too long, even when editing (%j)",
    async (isEditing) => {
      counters("T-TERM-7");
      const screen = permission({ command: `${"ls; ".repeat(400)}rm -rf /` }, isEditing);
      const before = await statusRow(screen);
      screen.type("y");
      await untilOther(screen, before);
      const result = screen.resultSoFar;
      await screen.answer(["more lines", END], ["rm -rf /", ""]);
      const end = screen.lines.join("");
      if (isEditing) {
        screen.type(" ");
        await screen.answer(["? Edit arguments:", "\u001b"]);
      }
      await screen.answer(["? Run local sh tool?", "\u001b"]);
      await screen.end();
      expect([result, end.includes("rm -rf /")]).toEqual([undefined, true]);
    },
  );
});

test("a result that is too long must be read before delivery", async () => {
  counters("T-TERM-7");
  const request = { kind: "delivery", tool: "sh", content: "line\n".repeat(50) } as const;
  const screen = new PromptScreen({ method: "ask", request }, { rows: 12 });
  const before = await statusRow(screen);
  screen.type("y\r");
  await untilOther(screen, before);
  const result = screen.resultSoFar;
  await screen.answer(["more lines", END], ["of 50", "y"]);
  expect([result, await screen.result()]).toMatchObject([undefined, { answer: true }]);
});

test("the answers of a form that do not fit must be read before they are sent", async () => {
  counters("T-TERM-7");
  const fields = Array.from({ length: 8 }, (_, index) => ({
    inquiryId,
    question: booleanQuestion("q", `Question ${index + 1}?`),
  }));
  const screen = new PromptScreen(
    { method: "ask", request: { kind: "form", fields } },
    { rows: 7 },
  );
  for (const { question } of fields)
    await screen.answer([`? (${question.text.replace(/\D/g, "")}/8)`, "y\r"]);
  const before = await statusRow(screen);
  screen.type("y\r");
  await screen.untilShown((lines) => lines.at(-1) !== before);
  const result = screen.resultSoFar;
  await screen.answer(["more lines ·", END], ["go to the question", " "], ["? Send", "y"]);
  expect([result, await screen.result()]).toMatchObject([undefined, { type: "form" }]);
});

describe("an answer for the rest of the turn", () => {
  test.each([
    ["the tool's own words", "all edits this turn", "to all edits this turn"],
    ["words that are not plain", "all\u00a0 edits\n", "to all<U+00A0> edits<U+000A>"],
    [
      "the same question without such words",
      undefined,
      "to this question for the rest of the turn",
    ],
    ["every question of its kind with empty words", "", "to every question of this kind this turn"],
  ])("says what it covers: %s", async (_what, rememberAs, said) => {
    counters("T-TERM-9");
    const label = rememberAs !== undefined && { rememberAs };
    const screen = open(booleanQuestion("sure", "Go on?", { ...label, acts: true }));
    await screen.answer(["? Go on?", "?\r"], ["  Esc    cancel", ""]);
    const help = screen.lines.slice(1, 5);
    screen.type("N\r");
    await screen.end();
    expect([help, screen.lines]).toEqual([
      ["  y      yes", `  a      yes ${said} (also Y)`, "  n      no", `  N      no ${said}`],
      [`✖ Go on? no ${said}`],
    ]);
  });
});
