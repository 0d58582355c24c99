import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import type { TerminalScreen } from "../support/terminal-screen.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  problemsIn,
  query,
  queryProject,
  type QueryRecord,
  recordOf,
  type ScriptedTool,
} from "./query-project.ts";
import { Screen, ScreenProcess } from "./screen.ts";
import { type Project, printed } from "./support.ts";

const CTRL_C = "\u0003";
const SAVED = "Interrupted. Everything up to here is saved.";
const LEFT = "Interrupted. To continue the turn: jp query --continue-turn";
const MENU = /^\? Interrupted\n {2}c continue \(Enter\) ·/m;
const CANCELLATION = /^The user rejected this tool call on purpose\./;

function shows(screen: TerminalScreen, wanted: RegExp): Promise<void> {
  return screen.untilShown((lines) => wanted.test(lines.join("\n")));
}

/** The events of a record, one line each. */
function story({ entries }: QueryRecord): readonly string[] {
  return entries.flatMap((entry) => {
    const { type, content, message, name, outcome, reason = "" } = entry as Record<string, string>;
    if (type === "chat_request") return [`user: ${content}`];
    if (type === "chat_response") return [`assistant: ${message}`];
    if (type === "tool_call_request") return [`call: ${name}`];
    if (type === "tool_call_response") return [`result: ${content}`];
    if (type === "inquiry_response") return [`${outcome} ${reason}`.trimEnd()];
    return [];
  });
}

/** Never ends, and writes its pid to a file. */
const STUCK: ScriptedTool = {
  name: "stuck",
  program: `(() => {
  require("node:fs").appendFileSync("pids", process.pid + "\\n");
  setInterval(() => {}, 1000);
  return "";
})()`,
};

/** The same with a child process. Both ignore signals. */
const IGNORES_SIGNALS: ScriptedTool = {
  name: "stuck",
  program: `(() => {
  process.on("SIGTERM", () => {}).on("SIGINT", () => {});
  const words = ["-c", "trap '' TERM INT; while :; do sleep 600; done"];
  const child = require("node:child_process").spawn("sh", words, { stdio: "ignore" });
  require("node:fs").appendFileSync("pids", process.pid + "\\n" + child.pid + "\\n");
  setInterval(() => {}, 1000);
  return "";
})()`,
};

function startedIn(project: Project): readonly number[] {
  const file = path.join(project.root, "pids");
  if (!existsSync(file)) return [];
  return (readFileSync(file, "utf8").match(/\d+\n/g) ?? []).map(Number);
}

function aliveIn(project: Project): readonly number[] {
  return startedIn(project).filter(isAlive);
}

/** Polls, because there is no event for processes that are not our children. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function untilStarted(project: Project): Promise<void> {
  return until(() => startedIn(project).length > 0);
}

describe("Ctrl-C while the model replies", () => {
  const PARTIAL_REPLY: Reply = { text: "The beginning of it", hangs: true };

  async function choose(keys: readonly (readonly [RegExp, string])[], replies: readonly Reply[]) {
    await using server = await ModelServer.start(replies);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    for (const [shown, key] of keys) {
      await shows(screen, shown);
      screen.type(key);
    }
    const { status, lines } = await screen.end();
    return { status, last: lines.at(-1), story: story(recordOf(project)) };
  }

  test.each([
    ["Enter", "\r"],
    ["Escape", "\u001b"],
  ])("then %s continues the reply", async (_, key) => {
    const rest = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { text: "The beginning of it", after: rest.promise, rest: " and the end." },
    ]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type(key);
    await shows(screen, /^✔ Interrupted continue$/m);
    rest.resolve();
    const { status, lines } = await screen.end();
    expect([status, story(recordOf(project))]).toEqual([
      0,
      ["user: x", "assistant: The beginning of it and the end."],
    ]);
    expect(lines.at(-1)).toMatch(/and the end\.$/);
  });

  test("then Enter continues in the middle of a code block", async () => {
    const rest = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { text: "```\nfirst\nsec", after: rest.promise, rest: "ond **x**\n```\n\nThe **end**." },
    ]);
    const screen = new Screen(queryProject({ server }), ["q", "x"]);
    await shows(screen, /^first$/m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("\r");
    await shows(screen, /^✔ Interrupted continue$/m);
    rest.resolve();
    const { lines } = await screen.end();
    expect(lines.join("\n")).toMatch(/ond \*\*x\*\*\n─+\n\nThe end\.$/);
  });

  test.each([
    {
      choice: "a reply goes to the model",
      keys: [
        [MENU, "r\r"],
        [/^Stopped\. Write your reply:\n\n>$/m, "shorter\r"],
      ],
      status: 0,
      last: "Again.",
      said: ["user: x", "assistant: The beginning of it", "user: shorter", "assistant: Again."],
    },
    {
      choice: "stopping keeps the partial reply",
      keys: [[MENU, "s\r"]],
      status: 0,
      last: "Stopped.",
      said: ["user: x", "assistant: The beginning of it"],
    },
    {
      choice: "discarding drops the reply",
      keys: [[MENU, "a\r"]],
      status: 0,
      last: "Stopped.",
      said: ["user: x"],
    },
    {
      choice: "Ctrl-C quits and keeps the partial reply",
      keys: [[MENU, CTRL_C]],
      status: 130,
      last: SAVED,
      said: ["user: x", "assistant: The beginning of it"],
    },
  ] as const)("then $choice", async ({ keys, status, last, said }) => {
    expect(await choose(keys, [PARTIAL_REPLY, "Again."])).toEqual({ status, last, story: said });
  });

  test("opens a menu that closes when the reply ends", async () => {
    const rest = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { text: "The beginning of it", after: rest.promise, rest: "." },
    ]);
    const screen = new Screen(queryProject({ server }), ["q", "x"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    rest.resolve();
    const { status, lines } = await screen.end();
    expect([status, lines.filter((line) => MENU.test(line))]).toEqual([0, []]);
  });

  test("quits and keeps the partial reply with --non-interactive", async () => {
    await using server = await ModelServer.start([PARTIAL_REPLY]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x", "--non-interactive"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    const { status, lines } = await screen.end();
    expect([status, lines.at(-1), story(recordOf(project))]).toEqual([
      130,
      SAVED,
      ["user: x", "assistant: The beginning of it"],
    ]);
  });
});

describe("Ctrl-C while tools run", () => {
  const CALL: Reply = { text: "I call.", calls: [{ name: "stuck" }] };
  const RUNNING = /^\S stuck \d+\.\ds · Esc stops/m;

  async function interrupted(tool: ScriptedTool, server: ModelServer) {
    const project = queryProject({ server, tools: [tool] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, RUNNING);
    await untilStarted(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    return { project, screen };
  }

  test("then a reply is sent as the result", async () => {
    await using server = await ModelServer.start([CALL, "Well then."]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type("r\r");
    await shows(screen, /^Stopped\. Write your reply:\n\n>$/m);
    screen.type("not now\r");
    const { status, lines } = await screen.end();
    expect([status, lines.at(-1), aliveIn(project), problemsIn(project)]).toEqual([
      0,
      "Well then.",
      [],
      [],
    ]);
    expect(story(recordOf(project)).slice(2)).toEqual([
      "call: stuck",
      "result: Tool run cancelled by user with a custom message:\n\nnot now",
      "assistant: Well then.",
    ]);
  });

  test("then stopping ends them and their processes", async () => {
    await using server = await ModelServer.start([CALL, "Later."]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type("s\r");
    const end = await screen.end();
    expect([end.status, end.lines.at(-1), aliveIn(project), problemsIn(project)]).toEqual([
      0,
      "Stopped.",
      [],
      [],
    ]);
    expect(end.lines).toContain("○ stuck() stopped");
    expect(story(recordOf(project)).slice(2)).toEqual([
      "call: stuck",
      expect.stringMatching(new RegExp(`^result: ${CANCELLATION.source.slice(1)}`)),
    ]);
    // The conversation can be continued.
    expect(await query(project, ["y"])).toEqual(printed("Later.\n"));
  });

  test("then Ctrl-C ends their processes, and leaves the calls open", async () => {
    await using server = await ModelServer.start([CALL]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type(CTRL_C);
    const { status, lines } = await screen.end();
    expect([status, lines.slice(-2), aliveIn(project)]).toEqual([
      130,
      ["○ stuck() stopped", LEFT],
      [],
    ]);
    expect(story(recordOf(project)).slice(2)).toEqual(["call: stuck"]);
  });

  test("then they continue, or restart", async () => {
    await using server = await ModelServer.start([CALL]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type("\r");
    await shows(screen, /^✔ Interrupted continue\n\S stuck /m);
    const before = aliveIn(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("t\r");
    await shows(screen, /^✔ Interrupted restart\n\S stuck /m);
    await until(() => startedIn(project).length === 2);
    const after = aliveIn(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("s\r");
    await screen.end();
    const [first, second] = startedIn(project);
    expect([before, after, aliveIn(project), problemsIn(project)]).toEqual([
      [first],
      [second],
      [],
      [],
    ]);
  });

  test("three times quits immediately and leaves no process behind", async () => {
    await using server = await ModelServer.start([CALL, "Later."]);
    const project = queryProject({ server, tools: [IGNORES_SIGNALS] });
    const screen = new ScreenProcess(project, ["q", "x"]);
    await shows(screen, RUNNING);
    await untilStarted(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type(CTRL_C);
    await shows(screen, /^✖ Interrupted quit$/m);
    // Not typed, because the closing menu might still read the key.
    process.kill(screen.pid, "SIGINT");
    const { status } = await screen.end();
    await until(() => aliveIn(project).length === 0); // The kernel takes a moment.
    expect([status, story(recordOf(project)).slice(2)]).toEqual([130, ["call: stuck"]]);
    const refused = await query(project, ["y"]);
    expect([refused.status, server.requests.length]).toEqual([1, 1]);
    expect(await query(project, ["y", "--discard-turn"])).toEqual(printed("Later.\n"));
    const [, second] = server.requests;
    expect(second?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant", // A local model's chat template wants a word from it before the user's.
      "user",
    ]);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)(
    "is not the only way to end them: %s does too",
    async (name) => {
      await using server = await ModelServer.start([CALL]);
      const project = queryProject({ server, tools: [STUCK] });
      const screen = new ScreenProcess(project, ["q", "x"]);
      await shows(screen, RUNNING);
      await untilStarted(project);
      process.kill(screen.pid, name);
      const { status, lines } = await screen.end();
      expect([status, aliveIn(project), lines.slice(-2)]).toEqual([
        130,
        [],
        ["○ stuck() stopped", LEFT],
      ]);
      expect(story(recordOf(project)).slice(2)).toEqual(["call: stuck"]);
    },
  );
});

describe("while a question is open", () => {
  const LEAVE = /^\? Leave this for later/m;
  const GO_ON = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
  const ASKER: ScriptedTool = { name: "asker", questions: [GO_ON] };
  const ECHO: ScriptedTool = { name: "echo", program: '"done"' };
  const CALL: Reply = { text: "I call.", calls: [{ name: "asker" }] };

  test.each([
    ["Ctrl-C twice", [CTRL_C, CTRL_C]],
    ["Ctrl-C, then c", [CTRL_C, "c"]],
    ["Escape, then c", ["\u001b", "c"]],
    ["Ctrl-D, then c", ["\u0004", "c"]],
  ])(
    "each key that cancels a question cancels only that question, and the screen says so once: %s",
    async (_, [key = "", next]) => {
      verifies("082/cancel/prompt-cancelled-is-user", "082/prompt/cancellation-carries-the-id");
      verifies("082/record/non-answer-is-cancelled", "082/reason/user-tag");
      verifies("082/cancel/end-of-input-is-user");
      await using server = await ModelServer.start([CALL, "Well then."]);
      const project = queryProject({ server, tools: [ASKER] });
      const screen = new Screen(project, ["q", "x"]);
      await shows(screen, /^\? Go on\?/m);
      screen.type(key);
      if (next !== undefined) {
        await shows(screen, LEAVE);
        screen.type(next);
      }
      const { status, lines } = await screen.end();
      expect([status, story(recordOf(project)).slice(2), problemsIn(project)]).toEqual([
        0,
        [
          "call: asker",
          "cancelled user",
          "result: Tool input cancelled by user.",
          "assistant: Well then.",
        ],
        [],
      ]);
      expect(lines.filter((line) => line.includes("Go on?"))).toEqual(["✖ Go on? cancelled"]);
    },
  );

  test("Ctrl-C, then l leaves that question for later, and the command says how to answer it", async () => {
    await using server = await ModelServer.start([CALL]);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    screen.type(CTRL_C);
    await shows(screen, LEAVE);
    screen.type("l");
    const { status, lines } = await screen.end();
    expect([status, lines.slice(-4), story(recordOf(project)).slice(2)]).toEqual([
      4,
      [
        "✖ Go on? left for later",
        'Waiting: asker asks "Go on?"',
        '    Source: local command "node asker.cjs"',
        "  jp inquiry answer call_1_1.q.1",
      ],
      ["call: asker"],
    ]);
  });

  test("Ctrl-C, then b goes back to that question", async () => {
    await using server = await ModelServer.start([CALL, "Well then."]);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    screen.type(CTRL_C);
    await shows(screen, LEAVE);
    screen.type("b");
    await shows(screen, /^\? Go on\?/m);
    screen.type("y");
    const { status } = await screen.end();
    expect([status, story(recordOf(project)).slice(2)]).toEqual([
      0,
      ["call: asker", "answered", 'result: {"q":true}', "assistant: Well then."],
    ]);
  });

  test("Ctrl-C twice cancels only that question, and the next one is asked", async () => {
    await using server = await ModelServer.start([
      { calls: [{ name: "asker" }, { name: "asker" }] },
      "Well then.",
    ]);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    screen.type(CTRL_C);
    await shows(screen, LEAVE);
    screen.type(CTRL_C);
    await shows(screen, /^✖ Go on\? cancelled\n[\s\S]*^\? Go on\?/m);
    screen.type("y");
    const { status } = await screen.end();
    const record = recordOf(project);
    expect([status, entriesOf(record, "inquiry_response").map(({ outcome }) => outcome)]).toEqual([
      0,
      ["cancelled", "answered"],
    ]);
    expect(problemsIn(project)).toEqual([]);
  });

  test("Ctrl-C opens the menu during a question to the inquiry model, and stopping ends the inquiry", async () => {
    verifies("082/cancel/signal-is-user", "028/backend/cancellation-stops-it");
    await using server = await ModelServer.start(({ response_format: form }) =>
      form === undefined ? CALL : { hangs: true },
    );
    const settings = 'run = "unattended"\nquestions.q.target = "assistant"';
    const project = queryProject({ server, tools: [{ ...ASKER, settings }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\S Waiting for llamacpp\/scripted to answer asker \d+\.\ds/m);
    await until(() => server.requests.length === 2);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("s\r");
    const { status } = await screen.end();
    expect([status, story(recordOf(project)).slice(2), problemsIn(project)]).toEqual([
      0,
      ["call: asker", "cancelled user", expect.stringMatching(/^result: /)],
      [],
    ]);
  });

  test.each([
    ["a question", ASKER, /^\? Go on\?/m],
    ["a permission", { ...ECHO, settings: 'run = "ask"' }, /^\? Run /m],
    ["a result", { ...ECHO, settings: 'run = "unattended"\nresult = "ask"' }, /^\? Deliver /m],
  ] as const)(
    "SIGTERM leaves an open prompt undecided, and rejects nothing: %s",
    async (_, tool, shown) => {
      counters("T-PROV-8");
      await using server = await ModelServer.start([{ calls: [{ name: tool.name }] }]);
      const project = queryProject({ server, tools: [tool] });
      const screen = new Screen(project, ["q", "x"]);
      await shows(screen, shown);
      screen.signal("SIGTERM");
      const { status, lines } = await screen.end();
      const record = recordOf(project);
      expect([status, lines.at(-1), story(record).slice(1)]).toEqual([
        130,
        LEFT,
        [`call: ${tool.name}`],
      ]);
      const named = ["permission_decision", "inquiry_response"].flatMap((type) =>
        entriesOf(record, type).filter((entry) => JSON.stringify(entry).includes('"user"')),
      );
      expect(named).toEqual([]);
    },
  );

  test.each([
    ["a question", ASKER, /^\? Go on\?/m, "inquiry_request"],
    ["a permission", { ...ECHO, settings: 'run = "ask"' }, /^\? Run /m, "permission_request"],
  ] as const)(
    "a window that closes leaves an open prompt waiting under the id on record: %s",
    async (_, tool, shown, type) => {
      await using server = await ModelServer.start([{ calls: [{ name: tool.name }] }]);
      const project = queryProject({ server, tools: [tool] });
      const screen = new ScreenProcess(project, ["q", "x"]);
      await shows(screen, shown);
      screen.hangUp();
      await until(() => !isAlive(screen.pid));
      const asked = entriesOf(recordOf(project), type).map((entry) => entry["id"]);
      const { stdout } = await project.jp("inquiry", "ls", "--pending", "--format", "json");
      const pending = stdout
        .trimEnd()
        .split("\n")
        .map((line) => {
          return (JSON.parse(line) as JsonObject)["id"]; // One object per line.
        });
      expect([asked.length, pending]).toEqual([1, asked]);
    },
  );

  test("a window that closes leaves the question and the calls open, and no process behind", async () => {
    counters("T-PROV-8");
    await using server = await ModelServer.start([
      { text: "I call.", calls: [{ name: "asker" }, { name: "stuck" }] },
    ]);
    const project = queryProject({ server, tools: [ASKER, STUCK] });
    const screen = new ScreenProcess(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    await untilStarted(project);
    screen.hangUp();
    await until(() => !isAlive(screen.pid));
    expect([aliveIn(project), story(recordOf(project)).slice(2)]).toEqual([
      [],
      ["call: asker", "call: stuck"],
    ]);
  });
});
