/** What is decided is what is shown: of values that differ, no two prompts look the same. */
import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
  type ToolOrigin,
} from "../../src/record/tool/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { PromptProcess, PromptScreen } from "../support/prompt-screen.ts";
import { TASK_ID } from "../support/prompter-task.ts";
import type { VirtualTerminalOptions } from "../support/virtual-terminal.ts";

const inquiryId = "call_1.q.1" as InquiryId; // In the format of the agent.
const REQUEST = { inquiryId: TASK_ID };
const source = { source: "tool", name: "fs_delete_file" } as const;
const DOWN = "\u001b[B";
const END = "\u001b[F";
/** The keys of a yes or no, below it. */
const KEYS = [
  "  y yes · a yes to this question for the rest of the turn · n no · Tab say why",
  "  ? more",
];

function ask(question: InquiryQuestion, options: VirtualTerminalOptions = {}): PromptScreen {
  return new PromptScreen({ method: "ask", request: { inquiryId, question, source } }, options);
}

function permit(args: JsonObject, options: VirtualTerminalOptions = {}): PromptScreen {
  const origin = { type: "local", command: "sh" } as const;
  const request = { kind: "permission", tool: "sh", origin, arguments: args } as const;
  return new PromptScreen({ method: "ask", request }, options);
}

/** The screen once this is on it. The question is then cancelled. */
async function shown(screen: PromptScreen, text: string): Promise<readonly string[]> {
  await screen.answer([text, ""]);
  const { lines } = screen;
  screen.type("\u0003");
  await screen.end();
  return lines;
}

describe("the text of a question that acts", () => {
  test.each([
    ["two spaces", "a  b.txt", "a<2 spaces>b.txt"],
    ["a no-break space", "a\u00a0b.txt", "a<U+00A0>b.txt"],
    ["a wide space", "a\u3000b.txt", "a<U+3000>b.txt"],
    ["a space at its end", "b.txt ", "b.txt ?"],
    ["a line break", "a\nb.txt", "a<U+000A>b.txt"],
    ["a letter of another script", "pаper.txt", "p<U+0430>per.txt"],
    ["a composed and a single accent", "cafe\u0301", "cafe<U+0301>"],
    ["a right-to-left name", "א1", "<RTL>א</RTL>1"],
  ])("is shown verbatim, with every character to be seen: %s", async (_what, name, expected) => {
    counters("T-TERM-11");
    const question = booleanQuestion("q", `Delete ${name}?`, { exclusive: true });
    const lines = await shown(ask(question), "? more");
    expect(lines[0]).toContain(`? Delete ${expected}`);
  });

  test("wraps instead of being cut, and says where it breaks a word", async () => {
    const question = booleanQuestion("q", `Delete ${"日".repeat(12)}a b.txt?`, { acts: true });
    const lines = await shown(ask(question, { columns: 21 }), "? more");
    expect(lines.slice(0, 3)).toEqual(["? Delete 日日日日日", "↳日日日日日日日a", "b.txt?"]);
  });
});

test("a command that hides its end behind spaces shows their number", async () => {
  counters("T-TERM-11");
  const lines = await shown(permit({ command: `ls${" ".repeat(300)}; rm -rf /` }), "? more");
  expect(lines[0]).toBe('• sh(command: "ls<300 spaces>; rm -rf /")');
});

test("a path and a line break that are the same in JSON look different", async () => {
  counters("T-TERM-11");
  const path = await shown(permit({ to: String.raw`C:\new` }), "? more");
  const lineBreak = await shown(permit({ to: ["C:\new"] }), "? more");
  expect([path[0], lineBreak.slice(0, 4)]).toEqual([
    String.raw`• sh(to: "C:\\new")`,
    ["• sh", "  to[0]:", "    │ C:", "    │ ew"],
  ]);
});

test("a long argument cannot wrap into a row that looks like another argument", async () => {
  counters("T-TERM-11");
  const args = { path: `${"a".repeat(70)}  mode: "safe"`, mode: "all" };
  expect(await shown(permit(args), "? more")).toEqual([
    "• sh",
    `  path: "${"a".repeat(70)}`,
    String.raw`↳ <2 spaces>mode: \"safe\""`,
    '  mode: "all"',
    'Source: local command "sh"',
    "? Run local sh tool?",
    "  y yes · a yes to all sh calls this turn · n no · Tab say why · ? more",
  ]);
});

describe("a question that acts", () => {
  const options = ["a b", "a  b", "a\u00a0b"];

  test("has options that look different, and are chosen as they are", async () => {
    counters("T-TERM-11");
    const screen = ask(selectQuestion("q", "Which?", { options, acts: true }));
    await screen.answer(["Which?", DOWN], ["❯ a<2 spaces>b", ""]);
    const { lines } = screen;
    screen.type("\r");
    expect([lines.slice(1, 4), await screen.result(), screen.lines]).toMatchObject([
      ["  a b", "❯ a<2 spaces>b", "  a<U+00A0>b"],
      { answer: "a  b" },
      ["✔ Which? a<2 spaces>b"],
    ]);
  });

  test("of any other question look different too", async () => {
    const screen = ask(selectQuestion("q", "Which?", { options }));
    const lines = await shown(screen, "Which?");
    expect(lines.slice(1, 4)).toEqual(["❯ a b", "  a<2 spaces>b", "  a<U+00A0>b"]);
  });

  test("are not cut to look the same where the answer acts", async () => {
    const long = ["x".repeat(30), `${"x".repeat(30)}y`, `${"x".repeat(30)}z`];
    const screen = ask(selectQuestion("q", "Which?", { options: long, acts: true }), {
      columns: 20,
    });
    const lines = await shown(screen, "Which?");
    expect(lines.slice(1, 7)).toEqual([
      `❯ ${"x".repeat(17)}`,
      `  ↳${"x".repeat(13)}`,
      `  ${"x".repeat(17)}`,
      `  ↳${"x".repeat(13)}y`,
      `  ${"x".repeat(17)}`,
      `  ↳${"x".repeat(13)}z`,
    ]);
  });
});

describe("a context", () => {
  const diff =
    "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-one\n+one\r\n-two\n+two\u00a0\n-three\n+\tthree \n";

  test("shows the changes of a diff that have no ink", async () => {
    counters("T-TERM-11");
    const question = booleanQuestion("q", "Apply?", { exclusive: true, context: diff });
    expect((await shown(ask(question), "Apply?")).slice(3, 9)).toEqual([
      "-one",
      "+one<U+000D>",
      "-two",
      "+two<U+00A0>",
      "-three",
      "+⇥   three<U+0020>",
    ]);
  });

  test("cannot wrap a line of a diff into one that looks like another", async () => {
    counters("T-TERM-11");
    const context = `@@ -1 +1 @@\n+${"a".repeat(37)}\n-safe`;
    const wrapped = `@@ -1 +1 @@\n+${"a".repeat(37)} -safe`;
    const screens = [context, wrapped].map((one) =>
      shown(
        ask(booleanQuestion("q", "Apply?", { acts: true, context: one }), { columns: 40 }),
        "Apply?",
      ),
    );
    expect((await Promise.all(screens)).map((lines) => lines[2])).toEqual(["-safe", "↳  -safe"]);
  });

  test("keeps everything that Markdown would not show", async () => {
    counters("T-TERM-11");
    const context = [
      "See [the docs][x] and [it](https://a.b 'a title'). <!-- rm -->",
      "[x]: https://evil.example",
      "```sh --then rm",
      "ls",
      "```",
      "| a |",
      "|---|",
      "| b | surplus |",
      "&nbsp;![alt](https://img) [^1]",
      "",
      "[^1]: a note",
    ];
    const question = booleanQuestion("q", "Go on?", { acts: true, context: context.join("\n") });
    expect((await shown(ask(question), "? more")).slice(0, context.length)).toEqual(context);
  });
});

describe("a decision that acts", () => {
  test("takes no yes before its end was shown, and says so", async () => {
    counters("T-TERM-7");
    const content = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`).join("\n");
    const screen = permit({ content }, { rows: 12 });
    await screen.answer(["more lines ·", "y"], ["Read to the end first (End)", END]);
    await screen.answer(["line 60", ""]);
    const result = screen.resultSoFar;
    screen.type("y");
    expect([result, await screen.result()]).toEqual([
      undefined,
      { ...REQUEST, type: "answered", answer: true },
    ]);
  });

  test("can be refused before its end was shown", async () => {
    const screen = permit({ content: "line\n".repeat(60) }, { rows: 12 });
    await screen.answer(["more lines ·", "\u0003"]);
    expect(await screen.result()).toEqual({ ...REQUEST, type: "cancelled" });
  });

  test.each([
    ["yes or no", booleanQuestion("q", "Q?", { default: true, exclusive: true }), "n\r", false],
    [
      "a choice",
      selectQuestion("q", "Q?", { options: ["a", "b"], default: "a", acts: true }),
      `${DOWN}\r`,
      "b",
    ],
    [
      "several choices",
      selectQuestion("q", "Q?", {
        options: ["a", "b"],
        default: ["a"],
        isMultiple: true,
        acts: true,
      }),
      `${DOWN} \r`,
      ["a", "b"],
    ],
    ["a text", textQuestion("q", "Q?", { default: "all", acts: true }), "x\r", "x"],
    ["a secret", { ...secretQuestion("q", "Q?"), acts: true }, "x\r", "x"],
  ])("is not made by Enter alone: %s", async (_what, question, keys, answer) => {
    counters("T-TERM-12");
    const screen = ask(question);
    await screen.answer(["? Q?", "\r\r\n"]);
    screen.type("\r");
    await screen.answer(["? Q?", keys]);
    expect(await screen.result()).toMatchObject({ type: "answered", answer });
  });

  test("has no default on the screen", async () => {
    const question = booleanQuestion("q", "Q?", { default: true, exclusive: true });
    expect(await shown(ask(question), "? Q?")).toEqual(["? Q?", ...KEYS]);
  });
});

test("a question of the assistant keeps its default", async () => {
  const question = booleanQuestion("q", "Q?", { default: true, exclusive: true });
  const request = { inquiryId, question, source: { source: "assistant" } as const };
  const screen = new PromptScreen({ method: "ask", request });
  await screen.answer(["? Q?\n  y yes (Enter)", "\r"]);
  expect(await screen.result()).toMatchObject({ answer: true });
});

test("a form with a question that acts is not sent by Enter alone", async () => {
  counters("T-TERM-12");
  const fields = ["One?", "Two?"].map((text) => ({
    inquiryId,
    question: booleanQuestion("q", text, { exclusive: true }),
    source,
  }));
  const screen = new PromptScreen({ method: "ask", request: { kind: "form", fields } });
  await screen.answer(["(1/2) One?", "y\r"], ["(2/2) Two?", "y\r"]);
  await screen.answer(["? Send these answers?\n  y yes · e", "\r"], ["  Esc  go back", "y\r"]);
  expect(await screen.result()).toMatchObject({ type: "form" });
});

describe("a decision that acts, in plain mode,", () => {
  test("is printed in full first, with all details of its options", async () => {
    counters("T-TERM-7", "T-TERM-11");
    const options = [{ value: "a  b", preview: "one\r\ntwo" }, { value: "c" }];
    const context = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join("\n");
    const question = selectQuestion("q", "Which?", { options, default: "c", acts: true, context });
    const request = { inquiryId, question, source };
    const screen = new PromptProcess({ method: "ask", request, isPlain: true }, { rows: 70 });
    await screen.answerLines("\r", "a  b\r");
    const result = await screen.result();
    const from = screen.lines.indexOf("line 50");
    expect([screen.lines.slice(from, from + 6), result]).toMatchObject([
      ["line 50", "Which?", "1. a<2 spaces>b", "   │ one<U+000D>", "   │ two", "2. c"],
      { answer: "a  b" },
    ]);
  });
});

describe("a question that acts", () => {
  const origin = { type: "local", command: "sh  run.sh" } as const;
  const args = { path: "a  b", mode: "all" };
  const about = { tool: "run", origin, folder: "sub", arguments: args, source } as const;
  const CALL = '• run(path: "a<2 spaces>b", mode: "all")';
  const SOURCE = 'Source: local command "sh<2 spaces>run.sh"';
  const FOLDER = 'Folder: "sub"';

  test("names the call, its source and its folder, above its context", async () => {
    counters("T-TERM-11");
    const question = booleanQuestion("q", "Go on?", { acts: true, context: "one\ntwo" });
    const screen = new PromptScreen({ method: "ask", request: { ...about, question } });
    expect(await shown(screen, "? Go on?")).toEqual([
      CALL,
      SOURCE,
      FOLDER,
      "one",
      "two",
      "? Go on?",
      ...KEYS,
    ]);
  });

  test("takes no yes before the arguments were shown, of which one line then stays", async () => {
    counters("T-TERM-7");
    const content = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join("\n");
    const question = booleanQuestion("q", "Go on?", { exclusive: true, context: "one\ntwo" });
    const request = { ...about, arguments: { content }, question };
    const screen = new PromptScreen({ method: "ask", request }, { rows: 12 });
    await screen.answer(["line 1\n", "y"], ["Read to the end first (End)", END]);
    await screen.answer(["two\n", ""]);
    const result = screen.resultSoFar;
    screen.type("y");
    expect([result, await screen.result(), screen.lines]).toMatchObject([
      undefined,
      { answer: true },
      [
        expect.stringMatching(/^• run\(content: "line 1\\nline 2.*…$/),
        SOURCE,
        FOLDER,
        "one",
        "two",
        "✔ Go on? yes",
      ],
    ]);
  });

  test("is shown with its call in a form too, and in plain mode", async () => {
    const fields = ["One?", "Two?"].map((text) => ({
      question: booleanQuestion("q", text, { acts: true }),
    }));
    const request = { kind: "form", ...about, fields } as const;
    const drawn = await shown(new PromptScreen({ method: "ask", request }), "(1/2) One?");
    const inLines = new PromptProcess({ method: "ask", request, isPlain: true });
    await inLines.untilLineAsked("(1/2) One?");
    inLines.type("\u0003");
    await inLines.end();
    const expected = [CALL, SOURCE, FOLDER];
    expect([drawn.slice(0, 3), inLines.lines.slice(1, 4)]).toEqual([expected, expected]);
  });

  test("of the assistant is about no call", async () => {
    const question = booleanQuestion("q", "Go on?", { exclusive: true });
    const request = { ...about, question, source: { source: "assistant" } } as const;
    const screen = new PromptScreen({ method: "ask", request });
    expect(await shown(screen, "? Go on?")).toEqual(["? Go on?", ...KEYS]);
  });
});

describe("a decision that is asked again", () => {
  const NOTICE = "Asked again. Changed since you answered: its arguments.";
  const call = { tool: "sh", changed: ["arguments"] };

  test.each([
    ["a permission", { kind: "permission", ...call }, "? Run sh?"],
    ["a call in doubt", { kind: "in_doubt", ...call }, "? sh was cut off"],
    ["a delivery", { kind: "delivery", ...call, content: "dust" }, "? Deliver sh"],
    ["a question", { ...call, question: booleanQuestion("q", "Go on?") }, "? Go on?"],
    [
      "a form",
      {
        kind: "form",
        tool: "sh",
        fields: [
          { question: booleanQuestion("a", "One?") },
          { ...call, question: booleanQuestion("b", "Two?") },
        ],
      },
      "? (1/2) One?",
    ],
  ] as const)("says what has changed: %s", async (_what, request, open) => {
    const lines = await shown(new PromptScreen({ method: "ask", request }), open);
    expect(lines[0]).toBe(NOTICE);
  });

  test("says so in plain mode too", async () => {
    const changed = ["program", "file"];
    const request = { kind: "permission", tool: "sh", changed } as const;
    const screen = new PromptProcess({ method: "ask", request, isPlain: true });
    await screen.untilLineAsked("Run sh?");
    screen.type("\u0003");
    await screen.end();
    expect(screen.lines.slice(1, 3)).toEqual([
      "Asked again. Changed since you answered: the program it runs and a file that",
      "its command names.",
    ]);
  });
});

describe("a permission prompt names the source of the tool", () => {
  test.each([
    [
      "its command and folder",
      { type: "local", command: "sh  run.sh" },
      [
        "• sh()",
        'Source: local command "sh<2 spaces>run.sh"',
        'Folder: "sub"',
        "? Run local sh tool?",
      ],
    ],
    [
      "its server, that server's command and the folder",
      { type: "mcp", server: "docs", tool: "find", command: "npx docs" },
      [
        "• sh()",
        'Source: MCP server "docs" ("npx docs"), tool "find"',
        'Folder: "sub"',
        "? Run MCP sh tool from docs server?",
      ],
    ],
    ["jp itself", { type: "builtin" }, ["• sh()", 'Folder: "sub"', "? Run built-in sh tool?"]],
    [
      "the program",
      { type: "program" },
      ["• sh()", 'Folder: "sub"', "? Run sh tool of this program?"],
    ],
  ] as const)("%s", async (_what, origin, expected) => {
    const request = { kind: "permission", tool: "sh", origin, folder: "sub" } as const;
    const screen = new PromptScreen({ method: "ask", request });
    const lines = await shown(screen, "? more");
    expect(lines.slice(0, -2)).toEqual(expected);
    expect(lines.at(-2)).toBe(
      "  y yes · a yes to all sh calls this turn, in sub/ and below · n no",
    );
  });
});

function change(
  tool: string,
  args: JsonObject,
  context: string,
  more: { readonly isPlain?: boolean; readonly origin?: ToolOrigin } = {},
) {
  const { isPlain = false, origin = { type: "builtin" } as const } = more;
  const isNew = tool === "fs_create_file";
  const question = booleanQuestion("q", isNew ? "Create a.py?" : "Apply these changes to a.py?", {
    exclusive: true,
    context,
  });
  const questionId = isNew ? "create_file" : "apply_changes";
  const request = { inquiryId, question, questionId, source, tool, arguments: args, origin };
  return { method: "ask", request, isPlain } as const;
}

describe("a change to a file", () => {
  const CREATED = Array.from({ length: 240 }, (_, index) => `line ${index + 1}`);

  const DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x\u00a0= 2\n y\n";
  const EDIT = { path: "a.py", patterns: [{ old: "x = 1", new: "x\u00a0= 2" }] };
  const ROWS = ["  @@ -1,2 +1,2 @@", "  -x = 1", "  +x<U+00A0>= 2", "   y"];

  test("is one block: the file, how many lines come and go, and the diff once", async () => {
    counters("T-TERM-11");
    const screen = new PromptScreen(change("fs_modify_file", EDIT, DIFF));
    await screen.answer(["? Apply", "n\r"]);
    await screen.result();
    expect(screen.lines).toEqual([
      "• Edit a.py +1 −1",
      ...ROWS,
      "✖ Apply these changes to a.py? no",
    ]);
  });

  test("is a block for each of several files", async () => {
    counters("T-TERM-11");
    const files = [EDIT, { path: "b.py", content: "• Edit c.py +1 −1\n" }];
    const second = "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+• Edit c.py +1 −1\n";
    const screen = new PromptScreen(change("fs_edit", { files }, DIFF + second));
    await screen.answer(["? Apply", "n\r"]);
    await screen.result();
    expect(screen.lines).toEqual([
      "• Edit 2 files +2 −1",
      "• Edit a.py +1 −1",
      ...ROWS,
      "• Create b.py +1",
      "  +• Edit c.py +1 <U+2212>1",
      "✖ Apply these changes to a.py? no",
    ]);
  });

  test("is the same block in plain mode", async () => {
    const screen = new PromptProcess(change("fs_modify_file", EDIT, DIFF, { isPlain: true }));
    await screen.answerLines("n\r");
    await screen.result();
    const from = screen.lines.indexOf("• Edit a.py +1 −1");
    expect(screen.lines.slice(from + 1, from + 6)).toEqual([
      ...ROWS,
      "Apply these changes to a.py?",
    ]);
  });

  test("shows arguments that the diff does not have", async () => {
    counters("T-TERM-11");
    const patterns = [...EDIT.patterns, { old: "p", new: "a\nb" }, { old: "a\nb", new: "p" }];
    const screen = new PromptScreen(change("fs_modify_file", { ...EDIT, patterns }, DIFF));
    expect((await shown(screen, "? more")).slice(5, -3)).toEqual([
      '  patterns[1].old: "p"',
      "  patterns[1].new:",
      "    │ a",
      "    │ b",
      "  patterns[2].old:",
      "    │ a",
      "    │ b",
      '  patterns[2].new: "p"',
    ]);
  });

  test("is shown with all arguments if another tool asks about it", async () => {
    counters("T-TERM-11");
    const origin = { type: "local", command: "sh" } as const;
    const screen = new PromptScreen(change("fs_modify_file", EDIT, DIFF, { origin }));
    const lines = await shown(screen, "? Apply");
    expect([lines[0], lines.slice(2, 4)]).toEqual([
      "• fs_modify_file",
      ['  patterns: [{"old":"x = 1","new":"x<U+00A0>= 2"}]', 'Source: local command "sh"'],
    ]);
  });

  test("shows its first lines if it is long, and End and y are enough", async () => {
    counters("T-TERM-7");
    const content = `${CREATED.join("\n")}\n`;
    const added = CREATED.map((line) => `+${line}`);
    const diff = `--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,240 @@\n${added.join("\n")}\n`;
    const screen = new PromptScreen(change("fs_create_file", { path: "a.py", content }, diff), {
      rows: 15,
    });
    await screen.answer(["more lines ·", ""]);
    const first = screen.lines;
    await screen.answer(["more lines ·", "y"], ["Read to the end first (End)", END]);
    await screen.answer(["+line 240", ""]);
    const early = screen.resultSoFar;
    screen.type("y");
    expect([first, early, await screen.result(), screen.lines]).toMatchObject([
      [
        "• Create a.py +240",
        ...added.slice(0, 10).map((line) => `  ${line}`),
        "… 230 more lines · End shows the rest · Space next page",
        "? Create a.py?",
        "  y yes · a yes to this question for the rest of the turn · n no · Tab say why",
        "  ? more",
      ],
      undefined,
      { answer: true },
      [
        "• Create a.py +240",
        ...added.slice(0, 9).map((line) => `  ${line}`),
        "… 231 more lines",
        "✔ Create a.py? yes",
      ],
    ]);
  });
});
