/** The assistant asks in the middle of a turn: the built command, on a terminal and without one. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import type { TerminalScreen } from "../support/terminal-screen.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf, without } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { JP, type Project } from "./support.ts";

const DOWN = "\u001B[B";
const ESCAPE = "\u001B";
const NEW_LINE = "\u001B\r";
const CONTROL_C = "\u0003";

/** Keys, each typed when the screen shows the text before it. */
type Step = readonly [shown: RegExp, keys: string];

/** Cancels the question that Ctrl-C was pressed at. */
const LEAVE: Step = [/^\? Leave this for later/m, CONTROL_C];

function asking(args: JsonObject): Reply {
  return { text: "I ask.", calls: [{ name: "ask_user", arguments: args }] };
}

function shows(screen: TerminalScreen, wanted: RegExp): Promise<void> {
  return screen.untilShown((lines) => wanted.test(lines.join("\n")));
}

/** Answers one call on a terminal. Returns the screen, the recorded outcomes, and the result that the model gets. */
async function answer(args: JsonObject, steps: readonly Step[]) {
  await using server = await ModelServer.start([asking(args), "Done."]);
  const project = queryProject({ server });
  const screen = new Screen(project, ["q", "x"]);
  for (const [shown, keys] of steps) {
    await shows(screen, shown);
    screen.type(keys);
  }
  const { status, lines } = await screen.end();
  return { status, lines, outcomes: outcomesIn(project), modelGot: server.lastMessages.at(-1) };
}

function outcomesIn(project: Project): readonly JsonObject[] {
  return entriesOf(recordOf(project), "inquiry_response").map((entry) => without(entry, "type"));
}

const answered = (id: string, fields: JsonObject): JsonObject => ({
  outcome: "answered",
  id: `call_1_1.${id}.1`,
  ...fields,
  answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
});
const cancelled = (id: string): JsonObject => ({
  outcome: "cancelled",
  id: `call_1_1.${id}.1`,
  answer: null,
  reason: "user",
});

const WHICH_WAY = {
  question: "Which way?",
  context: "There are\nsome ways.",
  answer_type: "select",
  options: [
    "backup",
    { value: "overwrite", description: "Loses the old one.", preview: "new:\n  all of it" },
    "abort",
  ],
};
const SURE = { question: "Sure?", answer_type: "boolean" };

describe("a question on a terminal", () => {
  test.each<[string, JsonObject, readonly Step[], readonly string[], JsonObject]>([
    [
      "yes or no",
      { ...SURE, context: "It takes\na while." },
      [
        [
          /^It takes\na while\.\nAssistant\n\? Sure\?\n {2}y yes · n no · Tab add note · \? more$/m,
          "n\r",
        ],
      ],
      ["It takes", "a while.", "Assistant", "✔ Sure? no"],
      { answer_type: "boolean", answer: false },
    ],
    [
      "yes or no, with a default",
      { ...SURE, default: true },
      [[/^\? Sure\?\n {2}y yes \(Enter\) · n no · /m, "\r"]],
      ["Assistant", "✔ Sure? yes"],
      { answer_type: "boolean", answer: true },
    ],
    [
      "a choice with the arrow keys, with descriptions and previews",
      WHICH_WAY,
      [
        [/^❯ backup\n {2}overwrite - Loses the old one\.\n {2}abort\n {2}Other…$/m, DOWN],
        [/^❯ overwrite - Loses the old one\.\n.*\n.*\n {2}│ new:\n {2}│ {3}all of it$/m, "\r"],
      ],
      ["There are", "some ways.", "Assistant", "✔ Which way? overwrite"],
      { answer_type: "select", answer: "overwrite" },
    ],
    [
      "a choice by filter, with a default",
      { ...WHICH_WAY, context: "", default: "overwrite" },
      [
        [/^❯ overwrite - Loses the old one\.$/m, "ab"],
        [/^\? Which way\? ab\n❯ abort\n {2}Other…$/m, "\r"],
      ],
      ["Assistant", "✔ Which way? abort"],
      { answer_type: "select", answer: "abort" },
    ],
    [
      "a choice with free text from Other",
      { ...WHICH_WAY, context: "" },
      [
        [/^\? Which way\?$/m, "\u001B[A"],
        [/^❯ Other…$/m, "\r"],
        [/^\? Which way\? Other:$/m, "first the dog\r"],
      ],
      ["Assistant", "✔ Which way? first the dog"],
      { answer_type: "select", answer: "first the dog", other: true },
    ],
    [
      "a choice with free text typed in the list",
      { ...WHICH_WAY, context: "" },
      [
        [/^\? Which way\?$/m, "the dog"],
        [/^❯ Other: the dog$/m, "\r"],
      ],
      ["Assistant", "✔ Which way? the dog"],
      { answer_type: "select", answer: "the dog", other: true },
    ],
    [
      "a text",
      { question: "Where to?" },
      [[/^\? Where to\?$/m, "/tmp/a b\r"]],
      ["Assistant", "✔ Where to? /tmp/a b"],
      { answer_type: "text", answer: "/tmp/a b" },
    ],
    [
      "the default text",
      { question: "Where to?", default: "/tmp" },
      [[/^\? Where to\? \(\/tmp\)$/m, "\r"]],
      ["Assistant", "✔ Where to? /tmp"],
      { answer_type: "text", answer: "/tmp" },
    ],
    [
      "a text of several lines",
      { question: "Where to?", default: "/tmp" },
      [
        [/^\? Where to\?/m, `one${NEW_LINE}two`],
        [/^ {2}one\n {2}two$/m, "\r"],
      ],
      ["Assistant", "✔ Where to? one two"],
      { answer_type: "text", answer: "one\ntwo" },
    ],
    [
      "yes or no, with a note",
      SURE,
      [
        [/Tab add note/, "\t"],
        [/^\? Note:/m, "but hurry\r"],
        [/^ {2}Note: but hurry$/m, "y"],
      ],
      ["Assistant", "✔ Sure? yes · note: but hurry"],
      { answer_type: "boolean", answer: true, note: "but hurry" },
    ],
  ])("accepts every type of answer: %s", async (_, args, steps, seen, result) => {
    verifies(
      "083/ask-user/called-like-any-tool",
      "083/ask-user/shown-as-inline-prompt",
      "083/ask-user/answer-becomes-the-result",
      "083/ask-user/context-shown-above-the-question",
      "083/ask-user/default-fills-the-prompt",
      "083/ask-user/boolean-result",
      "083/ask-user/select-result",
      "083/ask-user/text-result",
      "083/config/hidden-from-the-display",
      "083/config/label-is-assistant",
      "083/config/runs-without-permission-prompt",
      "083/config/result-delivered-without-prompt",
      "083/answer-config/user-target-supported",
    );
    const { answer_type: _type, ...given } = result;
    expect(await answer(args, steps)).toEqual({
      status: 0,
      lines: ["I ask.", ...seen, "Done."],
      outcomes: [answered("answer", given)],
      modelGot: JSON.stringify(result),
    });
  });

  test("does not offer free text for a strict choice", async () => {
    const { lines, modelGot } = await answer({ ...WHICH_WAY, strict: true }, [
      [/^ {2}abort$\n(?! {2}Other)/m, "zzz"],
      [/No matches for "zzz"\./, "\r"],
      [/No matches for "zzz"\./, "\u0015"],
      [/^❯ backup$/m, "\r"],
    ]);
    expect([lines.at(-2), modelGot]).toEqual([
      "✔ Which way? backup",
      '{"answer_type":"select","answer":"backup"}',
    ]);
  });

  test.each<[string, readonly Step[]]>([
    [
      "Escape and c",
      [
        [/^\? Sure\?/m, ESCAPE],
        [LEAVE[0], "c"],
      ],
    ],
    ["Ctrl-C twice", [[/^\? Sure\?/m, CONTROL_C], LEAVE]],
  ])("is cancelled by %s, and the turn continues without an answer", async (_, steps) => {
    expect(await answer({ ...SURE, default: true }, steps)).toEqual({
      status: 0,
      lines: ["I ask.", "Assistant", "✖ Sure? cancelled", "Done."],
      outcomes: [cancelled("answer")],
      modelGot: "Tool input cancelled by user.",
    });
  });

  test("is asked every time, and never offers to remember the answer", async () => {
    verifies("083/ask-user/question-is-not-remembered");
    await using server = await ModelServer.start([asking(SURE), asking(SURE), "Done."]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Sure\?\n {2}y yes · n no · /m);
    screen.type("y\r");
    await shows(screen, /✔ Sure\? yes\n[^]*^\? Sure\?\n {2}y yes · n no · /m);
    screen.type("n\r");
    await screen.end();
    expect(outcomesIn(project).map(({ answer: value }) => value)).toEqual([true, false]);
  });

  test("stays readable when the window is resized, and keeps what was typed", async () => {
    await using server = await ModelServer.start([
      asking({ question: "What is it that you would like to have written there?" }),
      "Done.",
    ]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"], { columns: 90 });
    await shows(screen, /written there\?$/m);
    screen.type("these words");
    await shows(screen, /written there\? these words$/m);
    screen.resize(64, 20);
    await shows(screen, /^ {2}\w+$/m);
    screen.type(" and more");
    await shows(screen, /and more$/m);
    const narrow = screen.lines;
    screen.type("\r");
    const { status, lines } = await screen.end();
    expect([status, narrow, lines.at(-1)]).toEqual([
      0,
      [
        "I ask.",
        "Assistant",
        "? What is it that you would like to have written there? these",
        "  words and more",
        "  Enter submit · Alt-Enter new line · Tab add note",
      ],
      "Done.",
    ]);
    expect(outcomesIn(project)).toEqual([answered("answer", { answer: "these words and more" })]);
  });

  test("neutralizes what the model wrote", async () => {
    await using server = await ModelServer.start([
      asking({
        question: "Sure?\u001B[2J\u001B]0;evil\u0007",
        context: "\u001B[2Jcontext\u0007",
        answer_type: "select",
        options: [
          { value: "a\u001B[2J", description: "\u001B]0;evil\u0007", preview: "\u001B[2J" },
        ],
      }),
      "Done.",
    ]);
    const screen = new Screen(queryProject({ server }), ["q", "x"]);
    await shows(screen, /^❯ a/m);
    screen.type("\r");
    const { bytes } = await screen.end();
    expect([bytes.includes("\u001B[2J"), bytes.includes("\u001B]0;evil")]).toEqual([false, false]);
  });

  test("is asked on the terminal while the reply goes to a file", async () => {
    verifies("083/ask-user/shown-as-inline-prompt", "083/config/hidden-from-the-display");
    await using server = await ModelServer.start([asking(WHICH_WAY), "**Done.**"]);
    const project = queryProject({ server });
    const line = `"$0" "$1" query x > answer.md 2> notices.txt < /dev/null`;
    const screen = new PseudoTerminal("sh", ["-c", line, process.execPath, JP], {
      folder: project.root,
      variables: project.variables,
    });
    await shows(screen, /^❯ backup$/m);
    screen.type("\r");
    const { status, lines } = await screen.end();
    const read = (name: string) => readFileSync(path.join(project.root, name), "utf8");
    expect([status, lines, read("answer.md"), read("notices.txt")]).toEqual([
      0,
      ["There are", "some ways.", "Assistant", "✔ Which way? backup"],
      "I ask.\n**Done.**\n",
      "",
    ]);
  });
});

describe("several questions on a terminal", () => {
  const FORM = { ...WHICH_WAY, more: [SURE, { question: "Why?", default: "no reason" }] };
  const REVIEW = /^\? Send these answers\?\n {2}y yes \(Enter\) · e change an answer · /m;
  const FILLED: readonly Step[] = [
    [/^Assistant\nThere are\nsome ways\.\n\? \(1\/3\) Which way\?$/m, `${DOWN}\r`],
    [/^✔ \(1\/3\) Which way\? overwrite\n\? \(2\/3\) Sure\?/m, "y"],
    [/^✔ \(2\/3\) Sure\? yes\n\? \(3\/3\) Why\? \(no reason\)$/m, "because\r"],
  ];

  test("are asked one at a time, and reviewed before they are sent", async () => {
    expect(await answer(FORM, [...FILLED, [REVIEW, "y"]])).toEqual({
      status: 0,
      lines: [
        "I ask.",
        "Assistant",
        "✔ Which way? overwrite",
        "✔ Sure? yes",
        "✔ Why? because",
        "Done.",
      ],
      outcomes: [
        answered("answer", { answer: "overwrite" }),
        answered("answer_2", { answer: true }),
        answered("answer_3", { answer: "because" }),
      ],
      modelGot: JSON.stringify({
        answer_type: "select",
        answer: "overwrite",
        more: [
          { answer_type: "boolean", answer: true },
          { answer_type: "text", answer: "because" },
        ],
      }),
    });
  });

  test("can be changed in the review, with free text and a note", async () => {
    const { outcomes, lines } = await answer(FORM, [
      ...FILLED,
      [REVIEW, "1"],
      [/^\? \(1\/3\) Which way\?$/m, "none of them"],
      [/^❯ Other: none of them$/m, "\t"],
      [/^\? Note:/m, "sorry\r"],
      [/^ {2}Note: sorry$/m, "\r"],
      [REVIEW, "\r"],
    ]);
    expect([outcomes, lines.slice(1, -1)]).toEqual([
      [
        answered("answer", { answer: "none of them", other: true, note: "sorry" }),
        answered("answer_2", { answer: true }),
        answered("answer_3", { answer: "because" }),
      ],
      ["Assistant", "✔ Which way? none of them · note: sorry", "✔ Sure? yes", "✔ Why? because"],
    ]);
  });

  test.each<[string, readonly Step[]]>([
    ["Ctrl-C twice in the middle", [...FILLED.slice(0, 2), [/^\? \(3\/3\)/m, CONTROL_C], LEAVE]],
    ["Ctrl-C twice in the review", [...FILLED, [REVIEW, CONTROL_C], LEAVE]],
  ])("are cancelled together by %s, including those already answered", async (_, steps) => {
    expect(await answer(FORM, steps)).toEqual({
      status: 0,
      lines: [
        "I ask.",
        "Assistant",
        "✖ Which way? cancelled",
        "✖ Sure? cancelled",
        "✖ Why? cancelled",
        "Done.",
      ],
      outcomes: ["answer", "answer_2", "answer_3"].map(cancelled),
      modelGot: "Tool input cancelled by user.",
    });
  });

  test("stay a form when the window is resized", async () => {
    await using server = await ModelServer.start([asking(FORM), "Done."]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? \(1\/3\)/m);
    screen.type("\r");
    await shows(screen, /^\? \(2\/3\)/m);
    screen.resize(40, 12);
    screen.type("y");
    await shows(screen, /^\? \(3\/3\)/m);
    screen.resize(100, 30);
    screen.type("\r");
    await shows(screen, REVIEW);
    screen.type("y");
    const { status, lines } = await screen.end();
    expect([status, lines.slice(-4)]).toEqual([
      0,
      ["✔ Which way? backup", "✔ Sure? yes", "✔ Why? no reason", "Done."],
    ]);
  });
});

describe("without a terminal", () => {
  const NO_TERMINAL =
    "ask_user cannot run because no interactive terminal is available. Do not retry this tool call " +
    "in this turn; continue without user input or explain what information is missing.";

  test("the model gets an error without a terminal, and neither a default nor a model answers", async () => {
    verifies("083/ask-user/question-is-exclusive");
    await using server = await ModelServer.start([asking({ ...SURE, default: true }), "Then not."]);
    const project = queryProject({ server });
    const { status, stdout } = await query(project, ["x"]);
    expect({
      status,
      stdout,
      outcomes: outcomesIn(project),
      modelGot: server.lastMessages,
    }).toEqual({
      status: 3,
      stdout: "I ask.\nThen not.\n",
      outcomes: [
        {
          outcome: "cancelled",
          id: "call_1_1.answer.1",
          answer: null,
          reason: "no_prompt_backend",
        },
      ],
      modelGot: ["x", NO_TERMINAL],
    });
  });

  test("the flag --non-interactive has the same effect on a terminal", async () => {
    verifies("083/scope/no-non-interactive-flag");
    await using server = await ModelServer.start([asking(SURE), "Then not."]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "--non-interactive", "x"]);
    const { status, lines } = await screen.end();
    expect([status, server.lastMessages.at(-1), outcomesIn(project)]).toEqual([
      3,
      NO_TERMINAL,
      [
        {
          outcome: "cancelled",
          id: "call_1_1.answer.1",
          answer: null,
          reason: "no_prompt_backend",
        },
      ],
    ]);
    expect(lines.join("\n")).not.toContain("ask_user(");
  });

  test("a configured answer is used if it is one of the options", async () => {
    verifies("083/answer-config/fixed-answer-supported");
    await using server = await ModelServer.start([
      asking(WHICH_WAY),
      "Done.",
      asking(WHICH_WAY),
      "Done.",
    ]);
    const project = queryProject({ server });
    const key = "conversation.tools.ask_user.questions.answer.answer";
    await query(project, ["--cfg", `${key}=abort`, "x"]);
    const first = [outcomesIn(project), server.lastMessages.at(-1)];
    const second = await query(project, ["--cfg", `${key}=something else`, "y"]);
    expect([...first, second.status, server.lastMessages.at(-1)]).toEqual([
      [
        {
          outcome: "answered",
          id: "call_1_1.answer.1",
          answer: "abort",
          answered_by: { kind: "config", key },
        },
      ],
      '{"answer_type":"select","answer":"abort"}',
      0,
      `ask_user: the configured ${key} value does not match the question's answer_type. Update ` +
        "the configuration; do not retry.",
    ]);
  });
});

/** The tools of the first request. */
async function toolsSent(config: string, ...words: readonly string[]) {
  await using server = await ModelServer.start(["Hi."]);
  await query(queryProject({ server, config }), [...words, "--", "x"]);
  const tools = (server.requests[0]?.["tools"] ?? []) as readonly {
    readonly function: JsonObject;
  }[]; // By the protocol.
  return tools.map((tool) => tool.function);
}

async function namesSent(config: string, ...words: readonly string[]) {
  return (await toolsSent(config, ...words)).map(({ name }) => name);
}

describe("the ask_user tool", () => {
  test("is sent with its full description and schema", async () => {
    verifies(
      "083/config/description-reaches-the-model",
      "083/config/registered-for-every-turn",
      "083/ask-user/parameter-question",
      "083/ask-user/parameter-context",
      "083/ask-user/parameter-answer-type",
      "083/ask-user/parameter-options",
      "083/ask-user/parameter-default",
    );
    const project = queryProject({});
    const shown = await project.jp("tool", "show", "ask_user", "--format", "json");
    const { description, parameters } = JSON.parse(shown.stdout) as JsonObject;
    const sent = (await toolsSent("")).find(({ name }) => name === "ask_user");
    expect([sent?.["description"], sent?.["parameters"]]).toEqual([description, parameters]);
    expect(description).toContain("Never ask for secrets");
    expect(parameters).toMatchObject({
      required: ["question"],
      properties: {
        question: { type: "string" },
        context: { type: "string" },
        answer_type: { type: "string", enum: ["boolean", "select", "text"] },
        options: { type: "array" },
        default: { type: "string" },
      },
    });
  });

  test("is not sent if disabled by name, but stays with a bare -T", async () => {
    verifies(
      "083/config/enabled-by-default",
      "083/config/registered-for-every-turn",
      "083/config/bare-disable-all-keeps-it",
      "083/config/disabled-by-name",
      "083/config/disable-all-and-by-name",
      "083/config/disabled-by-state",
    );
    const local = '[conversation.tools.mine]\nsource = "local"\ncommand = "true"\n';
    const off = "[conversation.tools.ask_user]\nenable = { state = false }\n";
    expect([
      await namesSent(local),
      await namesSent(local, "-T"),
      await namesSent(local, "-T", "ask_user"),
      await namesSent(local, "-T", "-T", "ask_user"),
      await namesSent(local + off),
      await namesSent(local + off, "-t", "ask_user"),
    ]).toEqual([
      ["ask_user", "tell_user", "describe_tools", "mine"],
      ["ask_user", "tell_user", "describe_tools"],
      ["tell_user", "describe_tools", "mine"],
      ["tell_user", "describe_tools"],
      ["tell_user", "describe_tools", "mine"],
      ["ask_user", "tell_user", "describe_tools", "mine"],
    ]);
  });
});

test("questions and answers can be read afterwards", async () => {
  await using server = await ModelServer.start([asking({ ...WHICH_WAY, context: "" }), "Done."]);
  const project = queryProject({ server });
  const screen = new Screen(project, ["q", "x"]);
  await shows(screen, /^❯ backup$/m);
  screen.type("the dog\t");
  await shows(screen, /^\? Note:/m);
  screen.type("hungry\r");
  await shows(screen, /^ {2}Note: hungry$/m);
  screen.type("\r");
  await screen.end();
  const [request] = entriesOf(recordOf(project), "inquiry_request");
  const listed = await project.jp("inquiry", "ls");
  const printed = await project.jp("conversation", "print");
  const shown = '"the dog" (custom answer), note: "hungry"';
  expect([
    request?.["source"],
    listed.stdout.split("\n").slice(1, 3),
    printed.stdout.split("\n").filter((line) => line.includes("asks:")),
  ]).toEqual([
    { source: "assistant" },
    [
      "  turn 1  assistant: Which way?",
      `    ${shown} (you, via terminal), just now  call_1_1.answer.1`,
    ],
    [`  ? assistant asks: Which way? → ${shown} (you, via terminal)`],
  ]);
});
