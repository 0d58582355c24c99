import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import type { TerminalScreen } from "../support/terminal-screen.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  query,
  queryProject,
  type QueryRecord,
  recordOf,
  type ScriptedTool,
  without,
} from "./query-project.ts";
import { Screen } from "./screen.ts";
import { JP, jsonLines, type Project } from "./support.ts";

const GO_ON = { id: "q", text: "Go on?", answer_type: { type: "boolean" } } as const;

/** A tool that ends when this file exists. */
function waitingFor(name: string, file: string): ScriptedTool {
  const program = `(() => {
  const { existsSync } = require("node:fs");
  while (!existsSync("${file}")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  return "${name} has ended";
})()`;
  return { name, program };
}

function shows(screen: TerminalScreen, wanted: RegExp): Promise<void> {
  return screen.untilShown((lines) => wanted.test(lines.join("\n")));
}

function calls(...names: readonly string[]): Reply {
  return { text: "I call.", calls: names.map((name) => ({ name })) };
}

function responses(record: QueryRecord): readonly unknown[] {
  return entriesOf(record, "tool_call_response").map(({ content }) => content);
}

describe("an answer on a terminal", () => {
  const REPLY = {
    reasoning: "Let me think.",
    text: "# Title\n\nSome **bold** words and `code`.\n\n- one\n- two\n\n```js\nlet a = 1;\n```\n",
  };
  const REASONING_SHOWN = 'style.reasoning.display = "full"';
  const SHOWN = [
    "│ Let me think.",
    "Title",
    "",
    "Some bold words and code.",
    "",
    "• one",
    "• two",
    "",
    "── js ──────────────────────────────────",
    "let a = 1;",
    "────────────────────────────────────────",
  ];

  test("is rendered as Markdown, below dim reasoning", async () => {
    await using server = await ModelServer.start([REPLY]);
    const project = queryProject({ server, config: REASONING_SHOWN });
    const { status, bytes, lines } = await new Screen(project, ["q", "x"]).end();
    expect([status, lines]).toEqual([0, SHOWN]);
    expect(bytes).toContain("\u001b[2mthink.\u001b[22m");
    expect(bytes).toContain("\u001b[1mbold\u001b[22m");
  });

  test("has no colors with NO_COLOR", async () => {
    await using server = await ModelServer.start([REPLY]);
    const variables = { NO_COLOR: "1" };
    const project = queryProject({ server, config: REASONING_SHOWN });
    const { bytes, lines } = await new Screen(project, ["q", "x"], { variables }).end();
    // Without colors, the Markdown syntax stays visible.
    const marked = SHOWN.with(1, "# Title").with(3, "Some **bold** words and `code`.");
    expect(lines).toEqual(marked.with(8, "```js").with(10, "```"));
    // What is drawn below the answer moves the cursor, and erases itself.
    expect(bytes).not.toMatch(/\u001b\[[\d;]*m/);
  });

  test("appears while it is streamed, and wraps at the width of the screen", async () => {
    const more = Promise.withResolvers<void>();
    const text = "The first paragraph.\n\nThe second";
    await using server = await ModelServer.start([
      { text, after: more.promise, rest: " is too long for this screen." },
    ]);
    const screen = new Screen(queryProject({ server }), ["q", "x"], { columns: 30 });
    await shows(screen, /^The first paragraph\.$/m);
    more.resolve();
    const { lines } = await screen.end();
    expect(lines).toEqual([
      "The first paragraph.",
      "",
      "The second is too long for",
      "this screen.",
    ]);
  });

  test("is neutralized", async () => {
    await using server = await ModelServer.start([
      { reasoning: "\u001b]0;evil\u0007", text: "a \u001b[2J\u001b]0;evil\u0007 b\r\u0008c" },
    ]);
    const { bytes } = await new Screen(queryProject({ server }), ["q", "x"]).end();
    expect([
      bytes.includes("\u001b[2J"),
      bytes.includes("\u001b]0;"),
      bytes.includes("\u0008"),
    ]).toEqual([false, false, false]);
  });

  test("is preceded by a status line with the waiting time", async () => {
    const start = Promise.withResolvers<void>();
    await using server = await ModelServer.start([{ after: start.promise, rest: "Here." }]);
    const screen = new Screen(queryProject({ server }), ["q", "x"]);
    await shows(screen, /^\S Waiting for llamacpp\/scripted (0\.[4-9]|[1-9]\d*\.\d)s · Esc stops/m);
    start.resolve();
    const { lines } = await screen.end();
    expect(lines).toEqual(["Here."]);
  });
});

describe("the message", () => {
  test("is written in the editor if the command line has none", async () => {
    await using server = await ModelServer.start(["Yes."]);
    const project = queryProject({ server });
    const variables = project.editor('echo "from the editor" > "$1"');
    const { status, lines } = await new Screen(project, ["q"], { variables }).end();
    expect([status, lines, server.lastMessages]).toEqual([0, ["Yes."], ["from the editor"]]);
  });

  test("is not edited with -E", async () => {
    const project = queryProject({});
    const variables = project.editor("exit 9");
    const config = ["-m", "ollama/x"];
    const { status, lines } = await new Screen(project, ["q", "-E", ...config], {
      variables,
    }).end();
    expect([status, lines[0]]).toEqual([2, "jp: The message is empty: nothing to ask."]);
  });

  test("is not asked for if a complete turn is to be continued", async () => {
    await using server = await ModelServer.start(["Yes."]);
    const project = queryProject({ server });
    await query(project, ["Is it?"]);
    const variables = project.editor("exit 9");
    const { status, lines } = await new Screen(project, ["q", "--continue-turn"], {
      variables,
    }).end();
    expect([status, lines]).toEqual([0, ["The last turn is complete: nothing to continue."]]);
  });

  test("is typed at a prompt if no editor is set, with what was given to edit", async () => {
    await using server = await ModelServer.start(["Yes."]);
    const screen = new Screen(queryProject({ server }), ["q", "-e", "Is it"]);
    await shows(screen, /^> Is it$/m);
    screen.type(" here?\r");
    const { status, lines } = await screen.end();
    expect([status, lines, server.lastMessages]).toEqual([
      0,
      ["> Is it here?", "Yes."],
      ["Is it here?"],
    ]);
  });

  test("is not sent if the user leaves the prompt", async () => {
    await using server = await ModelServer.start([]);
    const screen = new Screen(queryProject({ server }), ["q"]);
    await shows(screen, /^> ?$/m);
    screen.type("\u0004");
    expect((await screen.end()).lines).toEqual(["The message is empty: nothing to ask."]);
  });
});

describe("tool calls on a terminal", () => {
  test("have one line each, with the duration and the start of the result", async () => {
    await using server = await ModelServer.start([
      { calls: [{ name: "many", arguments: { path: "a.txt", deep: { x: [1, 2] } } }] },
      "Done.",
    ]);
    const program = "Array.from({ length: 30 }, (_, index) => 'line ' + index).join('\\n')";
    const settings = [
      'run = "unattended"',
      "style = { inline_results = 3 }",
      'parameters = { path = { type = "string" }, deep = { type = "object" } }',
    ].join("\n");
    const project = queryProject({ server, tools: [{ name: "many", program, settings }] });
    const { lines } = await new Screen(project, ["q", "x"], { columns: 50 }).end();
    expect(lines.map((line) => line.replace(/\d+\.\ds$/, "0.1s"))).toEqual([
      '✓ many(path: "a.txt", deep: {"x":[1,2]}) 0.1s',
      "  │ line 0",
      "  │ line 1",
      "  │ line 2",
      "  │ … 27 more lines",
      "Done.",
    ]);
  });

  test("are listed with the time since they started, and their results in the order of the calls", async () => {
    await using server = await ModelServer.start([calls("slow", "quick"), "Done."]);
    const tools = [waitingFor("slow", "end-slow"), waitingFor("quick", "end-quick")];
    const project = queryProject({ server, tools });
    const screen = new Screen(project, ["q", "x"]);
    const secondsOf = (names: string) =>
      Number(new RegExp(`^\\S ${names} ([\\d.]+)s · `, "m").exec(screen.lines.join("\n"))?.[1]);
    await shows(screen, /^\S slow, quick [\d.]+s · /m);
    await untilRecorded(project, "attempt_start");
    // The permission has set the time back. What is on the screen may be from before it.
    const first = secondsOf("slow, quick");
    await screen.untilShown(() => secondsOf("slow, quick") >= first + 0.5);
    const before = secondsOf("slow, quick");
    writeFileSync(path.join(project.root, "end-quick"), "");
    await shows(screen, /^\S slow [\d.]+s · /m);
    const after = secondsOf("slow");
    writeFileSync(path.join(project.root, "end-slow"), "");
    const { lines } = await screen.end();
    expect(lines.map((line) => line.replace(/[\d.]+s$/, "0s"))).toEqual([
      "I call.",
      "✓ slow() 0s",
      "  │ slow has ended",
      "✓ quick() 0s",
      "  │ quick has ended",
      "Done.",
    ]);
    expect(after).toBeGreaterThanOrEqual(before);
  });
});

describe("permission", () => {
  const GREET: ScriptedTool = {
    name: "greet",
    program: "'hi ' + tool.arguments.name",
    settings: 'parameters.name = { type = "string" }',
  };
  const CALL: Reply = { calls: [{ name: "greet", arguments: { name: "Ada" } }] };
  const USER = { kind: "user", channel: "terminal", auth: "os_user" };

  /** Types the keys, each when the screen matches the pattern before it. */
  async function decide(
    replies: readonly Reply[],
    steps: readonly (readonly [shown: RegExp, keys: string])[],
  ) {
    await using server = await ModelServer.start(replies);
    const project = queryProject({ server, tools: [GREET] });
    const screen = new Screen(project, ["q", "x"]);
    for (const [shown, keys] of steps) {
      await shows(screen, shown);
      screen.type(keys);
    }
    const { status, lines } = await screen.end();
    const record = recordOf(project);
    const decisions = entriesOf(record, "permission_decision").map((entry) =>
      without(entry, "type", "tool_call_id", "tool"),
    );
    return { status, lines, decisions, results: responses(record) };
  }

  const ASKED =
    /^\? Run local greet tool\?\n {2}y yes · a yes to all greet calls this turn · s always… · n no · Tab say why\n {2}\? more$/m;

  test("is asked below the arguments of the call", async () => {
    await using server = await ModelServer.start([CALL, "Done."]);
    const screen = new Screen(queryProject({ server, tools: [GREET] }), ["q", "x"]);
    await shows(screen, ASKED);
    expect(screen.lines.join("\n")).toContain('greet(name: "Ada")');
  });

  test.each([
    {
      name: "y",
      steps: [[ASKED, "y"]],
      closed: "✔ Run local greet tool? yes",
      decision: { decision: "approved", decided_by: USER },
      result: "hi Ada",
    },
    {
      name: "n",
      steps: [[ASKED, "n\r"]],
      closed: "✖ Run local greet tool? no",
      call: '○ greet(name: "Ada") skipped',
      decision: { decision: "denied", decided_by: USER },
      result: "Tool skipped by user.",
    },
    {
      name: "p, then y",
      steps: [
        [ASKED, "p"],
        [/"name": "Ada"/, "y"],
      ],
      closed: "✔ Run local greet tool? yes",
      decision: { decision: "approved", decided_by: USER },
      result: "hi Ada",
    },
    {
      name: "Tab and a reason",
      steps: [
        [ASKED, "\t"],
        [/No, because:/, "too early\r"],
      ],
      closed: "✖ Run local greet tool? no: too early",
      decision: { decision: "denied", decided_by: USER, reason: "too early" },
      result: "Tool skipped by user: too early",
    },
    {
      name: "e and edited arguments",
      steps: [
        [ASKED, "e"],
        [/Edit arguments:/, `${"\u007F".repeat(30)}{"name":"Bob"}\r`],
      ],
      closed: "✔ Run local greet tool? yes, with edited arguments",
      decision: { decision: "edited", decided_by: USER, arguments: { name: "Bob" } },
      result:
        'The user edited the arguments of this call before it ran. Arguments used: {"name":"Bob"}' +
        "\n\nhi Bob",
      call: '  greet edited by user (terminal); the model asked for (name: "Ada")',
    },
    {
      name: "Escape and c",
      steps: [
        [ASKED, "\u001b"],
        [/^\? Leave this for later/m, "c"],
      ],
      closed: "✖ Run local greet tool? cancelled",
      decision: { decision: "denied", decided_by: USER },
      result: "Tool skipped by user.",
    },
  ] as const)("can be decided with $name", async ({ steps, closed, decision, result, ...of }) => {
    const decided = await decide([CALL, "Done."], steps);
    expect(decided).toMatchObject({ status: 0, decisions: [decision], results: [result] });
    const shown = [closed, ...("call" in of ? [of.call] : [])];
    expect(decided.lines).toEqual(expect.arrayContaining(shown));
  });

  test("shows edited arguments wherever the call is shown", async () => {
    counters("T-TERM-10");
    const calling = { calls: [{ name: "greet", arguments: { name: "Ada" } }] };
    await using server = await ModelServer.start([calling, "Done."]);
    const project = queryProject({ server, tools: [{ ...GREET, questions: [GO_ON] }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, ASKED);
    screen.type("e");
    await shows(screen, /Edit arguments:/);
    screen.type(`${"\u007F".repeat(30)}{"name":"Bob"}\r`);
    await shows(screen, /^• greet\(name: "Bob"\)\n\? Go on\?/m);
    screen.type("y");
    await screen.end();
    const printed = await project.jp("conversation", "print");
    const markdown = await project.jp("conversation", "print", "--format", "markdown");
    const shown = await project.jp("inquiry", "show", "call_1_1.q.1");
    const listed = await project.jp("inquiry", "ls", "--format", "json");
    expect(screen.lines.join("\n")).toMatch(
      /^✓ greet\(name: "Bob"\) .*\n {2}greet edited by user/m,
    );
    expect(printed.stdout).toMatch(/^✓ greet\(name: "Bob"\)\n {2}greet edited .*\(name: "Ada"\)$/m);
    expect(markdown.stdout).toContain(
      'It ran with these arguments:\n\n```json\n{\n  "name": "Bob"\n}',
    );
    expect(shown.stdout).toMatch(/^Ran with +\{"name":"Bob"\} \(edited by user \(terminal\)\)$/m);
    expect(jsonLines(listed)).toMatchObject([
      { kind: "permission", arguments: { name: "Ada" }, edited_arguments: { name: "Bob" } },
      { kind: "question", arguments: { name: "Bob" } },
    ]);
  });

  test.each([
    ["a\r", "yes", "approved", "hi Ada", "hi Ada"],
    ["Y\r", "yes", "approved", "hi Ada", "hi Ada"],
    ["N\r", "no", "denied", "Tool skipped by user.", "Tool skipped by user (remembered)."],
  ])(
    "holds until the turn ends if you press the key for that: %j",
    async (key, said, decision, first, then) => {
      verifies("082/remember/permissions-keyed-by-tool");
      const decided = await decide([CALL, CALL, "Done."], [[ASKED, key]]);
      expect(decided).toMatchObject({
        status: 0,
        decisions: [
          { decision, decided_by: { ...USER, scope: "turn" } },
          { decision, decided_by: { kind: "remembered", from: "call_1_1:run:1" } },
        ],
        results: [first, then],
      });
      expect(decided.lines.filter((line) => line.includes("Run local"))).toEqual([
        `${said === "yes" ? "✔" : "✖"} Run local greet tool? ${said} to all greet calls this turn`,
      ]);
    },
  );
});

function outcomes(record: QueryRecord): readonly JsonObject[] {
  return entriesOf(record, "inquiry_response").map((entry) => without(entry, "type"));
}

describe("a question in the middle of a turn", () => {
  const ANSWERED = {
    outcome: "answered",
    answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
  };

  test.each([
    { type: { type: "boolean" }, keys: "n\r", answer: false },
    { type: { type: "text" }, keys: "some words\r", answer: "some words" },
    { type: { type: "select", options: ["a", "b", "c"] }, keys: "\u001b[B\r", answer: "b" },
  ])("is answered according to its type: $type.type", async ({ type, keys, answer }) => {
    verifies("082/record/prompt-answer", "083/routing/user-target-with-a-person");
    verifies("082/prompt/answer-carries-the-id", "082/record/otherwise-routed");
    await using server = await ModelServer.start([calls("asker"), "Done."]);
    const questions = [{ ...GO_ON, answer_type: type, context: "-old\n+new" }];
    const project = queryProject({ server, tools: [{ name: "asker", questions }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^-old\n\+new\n\? Go on\?/m);
    screen.type(keys);
    const { status } = await screen.end();
    const record = recordOf(project);
    expect([status, outcomes(record), responses(record)]).toEqual([
      0,
      [{ ...ANSWERED, id: "call_1_1.q.1", answer }],
      [JSON.stringify({ q: answer })],
    ]);
  });

  test("is not asked again after an answer for the turn", async () => {
    verifies("082/remember/answers-keyed-by-tool-and-question", "082/record/remembered-answer");
    verifies("083/prompt/turn-offers-to-remember");
    await using server = await ModelServer.start([calls("asker"), calls("asker"), "Done."]);
    const project = queryProject({ server, tools: [{ name: "asker", questions: [GO_ON] }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?\n {2}y yes · a yes to this question/m);
    screen.type("a\r");
    const { lines } = await screen.end();
    expect(lines.filter((line) => line.includes("Go on?"))).toEqual([
      "✔ Go on? yes to this question for the rest of the turn",
      "  ? asker asks: Go on? → yes (you said so earlier in this turn)",
    ]);
    expect(outcomes(recordOf(project)).map(({ answered_by: by }) => by)).toEqual([
      { kind: "user", channel: "terminal", auth: "os_user", scope: "turn" },
      { kind: "remembered", from: "call_1_1.q.1" },
    ]);
  });

  test("is shown in full with its context if its answer is remembered, even if calls are hidden", async () => {
    counters("T-TERM-9");
    await using server = await ModelServer.start([calls("asker"), calls("asker"), "Done."]);
    const context = Array.from({ length: 30 }, (_, index) => `+line ${index + 1}`).join("\n");
    const text = `Change src/${"deep/".repeat(15)}calc.py?`;
    const questions = [{ ...GO_ON, text, context: `@@ -1 +1 @@\n${context}` }];
    const settings = 'run = "unattended"\nstyle.hidden = true';
    const project = queryProject({ server, tools: [{ name: "asker", questions, settings }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /more lines ·/);
    screen.type("\u001b[F");
    await shows(screen, /PgUp PgDn scroll/);
    screen.type("a\r");
    const shown = (await screen.end()).lines.join("");
    const after = shown.slice(shown.lastIndexOf("✔")).replaceAll(/\s/g, "");
    expect(after).toContain(
      `@@-1+1@@${context.replaceAll(/\s/g, "")}?askerasks:${text.replaceAll(" ", "")}`,
    );
  });

  test("keeps the screen to itself while another tool ends", async () => {
    await using server = await ModelServer.start([calls("other", "asker"), "Done."]);
    const asker = { name: "asker", questions: [GO_ON] };
    const project = queryProject({ server, tools: [waitingFor("other", "end-other"), asker] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    writeFileSync(path.join(project.root, "end-other"), "");
    await untilRecorded(project, "other has ended");
    const open = screen.lines;
    screen.type("y");
    const { lines } = await screen.end();
    expect([open, lines.map((line) => line.replace(/[\d.]+s$/, "0s"))]).toEqual([
      [
        "I call.",
        "• asker()",
        "? Go on?",
        "  y yes · a yes to this question for the rest of the turn · n no · Tab say why",
        "  ? more",
      ],
      [
        "I call.",
        "• asker()",
        "✔ Go on? yes",
        "✓ other() 0s",
        "  │ other has ended",
        "✓ asker() 0s",
        '  │ {"q":true}',
        "Done.",
      ],
    ]);
  });

  test("is asked on the terminal while the reply goes to a file", async () => {
    await using server = await ModelServer.start([calls("asker"), "**Done.**"]);
    const project = queryProject({ server, tools: [{ name: "asker", questions: [GO_ON] }] });
    const line = `"$0" "$1" query x > answer.md 2> notices.txt < /dev/null`;
    const screen = new PseudoTerminal("sh", ["-c", line, process.execPath, JP], {
      folder: project.root,
      variables: project.variables,
    });
    await shows(screen, /^\? Go on\?/m);
    screen.type("y");
    const { status, lines } = await screen.end();
    const read = (name: string) => readFileSync(path.join(project.root, name), "utf8");
    expect([status, lines, read("answer.md"), read("notices.txt").includes("\u001b")]).toEqual([
      0,
      ["✔ Go on? yes"],
      "I call.\n**Done.**\n",
      false,
    ]);
  });

  test("stays readable when the window is resized", async () => {
    await using server = await ModelServer.start([calls("asker"), "Done."]);
    const text = "Is this a question that is longer than a narrow screen is wide?";
    const project = queryProject({
      server,
      tools: [{ name: "asker", questions: [{ ...GO_ON, text }] }],
    });
    const screen = new Screen(project, ["q", "x"], { columns: 90 });
    await shows(screen, /wide\?\n {2}y yes · a yes to this question/m);
    screen.resize(40, 20);
    await shows(screen, /^than a narrow screen is wide\?\n[^]*\? more$/m);
    const narrow = screen.lines;
    screen.type("y");
    const { status, lines } = await screen.end();
    expect([status, narrow, lines.at(-1)]).toEqual([
      0,
      [
        "I call.",
        "• asker()",
        "? Is this a question that is longer",
        "than a narrow screen is wide?",
        "  y yes · a yes to all · n no",
        "  Tab say why · ? more",
      ],
      "Done.",
    ]);
  });
});

/** Polls the text of the records, because it may be read in the middle of a write. */
async function untilRecorded(project: Project, content: string): Promise<void> {
  const isRecorded = () =>
    globSync(path.join(project.root, ".jp", "conversations", "*", "events.json")).some((file) =>
      readFileSync(file, "utf8").includes(content),
    );
  while (!isRecorded()) await new Promise((resolve) => setTimeout(resolve, 10));
}
