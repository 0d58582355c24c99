import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { parseEvent } from "../../src/conversation/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { problemsOf } from "../../src/conversation/record-rules.fixture.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import type { TerminalScreen } from "../support/terminal-screen.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  query,
  queryProject,
  type QueryRecord,
  recordOf,
  type ScriptedTool,
} from "./query-project.ts";
import { Screen, ScreenProcess } from "./screen.ts";
import { type Project, printed } from "./support.ts";

const CTRL_C = "\u0003";
const KEPT = "Interrupted. Everything up to here is saved.";
const MENU = /^\? Interrupted \[[a-z,]+,\?\]$/m;
const CANCELLATION = /^The user rejected this tool call on purpose\./;

function shows(screen: TerminalScreen, wanted: RegExp): Promise<void> {
  return screen.untilShown((lines) => wanted.test(lines.join("\n")));
}

/** What was said and done, one line each. */
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

/** What is wrong with the record, by the rules of the documents. */
function problemsIn(project: Project): readonly string[] {
  const file = path.join(recordOf(project).folder, "events.json");
  const stored = JSON.parse(readFileSync(file, "utf8")) as JsonObject[];
  return problemsOf(stored.map((json) => parseEvent(json)));
}

/** Waits for ever, and tells its id. */
const STUCK: ScriptedTool = {
  name: "stuck",
  program: `(() => {
  require("node:fs").appendFileSync("pids", process.pid + "\\n");
  setInterval(() => {}, 1000);
  return "";
})()`,
};

/** So does this, with a child that does the same; and nobody can ask them to end. */
const DEAF: ScriptedTool = {
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

/** A process cannot be waited for that is not ours: it is looked at again and again. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("Ctrl-C while the model speaks", () => {
  const SAYS: Reply = { text: "The beginning of it", hangs: true };

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

  test("and c: it goes on as if nothing had been", async () => {
    const rest = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { text: "The beginning of it", after: rest.promise, rest: " and the end." },
    ]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    await shows(screen, /^\? Interrupted \[c,r,s,a,\?\]$/m);
    screen.type("c");
    await shows(screen, /^✔ Interrupted continue$/m);
    rest.resolve();
    const { status, lines } = await screen.end();
    expect([status, story(recordOf(project))]).toEqual([
      0,
      ["user: x", "assistant: The beginning of it and the end."],
    ]);
    expect(lines.at(-1)).toMatch(/and the end\.$/);
  });

  test("and c: a block of code that it was in the middle of goes on, too", async () => {
    const rest = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { text: "```\nfirst\nsec", after: rest.promise, rest: "ond **x**\n```\n\nThe **end**." },
    ]);
    const screen = new Screen(queryProject({ server }), ["q", "x"]);
    await shows(screen, /^first$/m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("c");
    await shows(screen, /^✔ Interrupted continue$/m);
    rest.resolve();
    const { lines } = await screen.end();
    expect(lines.join("\n")).toMatch(/ond \*\*x\*\*\n```\n\nThe end\.$/);
  });

  test.each([
    {
      choice: "r and words: the model gets them",
      keys: [
        [MENU, "r"],
        [/^\? Reply:/m, "shorter\r"],
      ],
      status: 0,
      last: "Again.",
      said: ["user: x", "assistant: The beginning of it", "user: shorter", "assistant: Again."],
    },
    {
      choice: "s: what there is stays",
      keys: [[MENU, "s"]],
      status: 0,
      last: "Stopped.",
      said: ["user: x", "assistant: The beginning of it"],
    },
    {
      choice: "a: nothing stays of the reply",
      keys: [[MENU, "a"]],
      status: 0,
      last: "Stopped.",
      said: ["user: x"],
    },
    {
      choice: "Ctrl-C again: the command ends in good order",
      keys: [[MENU, CTRL_C]],
      status: 130,
      last: KEPT,
      said: ["user: x", "assistant: The beginning of it"],
    },
    {
      choice: "Escape: the same",
      keys: [[MENU, "\u001b"]],
      status: 130,
      last: KEPT,
      said: ["user: x", "assistant: The beginning of it"],
    },
  ] as const)("and $choice", async ({ keys, status, last, said }) => {
    expect(await choose(keys, [SAYS, "Again."])).toEqual({ status, last, story: said });
  });

  test("closes the menu by itself if the reply ends meanwhile", async () => {
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

  test("where nobody can choose ends it in good order", async () => {
    await using server = await ModelServer.start([SAYS]);
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "x", "--non-interactive"]);
    await shows(screen, /^The beginning of/m);
    screen.type(CTRL_C);
    const { status, lines } = await screen.end();
    expect([status, lines.at(-1), story(recordOf(project))]).toEqual([
      130,
      KEPT,
      ["user: x", "assistant: The beginning of it"],
    ]);
  });
});

describe("Ctrl-C while tools run", () => {
  const CALL: Reply = { text: "I call.", calls: [{ name: "stuck" }] };
  const RUNNING = /^\S stuck \d+\.\ds$/m;

  async function interrupted(tool: ScriptedTool, server: ModelServer) {
    const project = queryProject({ server, tools: [tool] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, RUNNING);
    screen.type(CTRL_C);
    await shows(screen, /^\? Interrupted \[c,r,s,t,\?\]$/m);
    return { project, screen };
  }

  test("and r with words: the model gets them as the result", async () => {
    await using server = await ModelServer.start([CALL, "Well then."]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type("r");
    await shows(screen, /^\? Reply:/m);
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

  test.each([
    ["s", "s", 0, "Stopped."],
    ["Ctrl-C again", CTRL_C, 130, KEPT],
  ])("and %s: they are ended with all they started", async (_, key, status, last) => {
    await using server = await ModelServer.start([CALL, "Later."]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type(key);
    const end = await screen.end();
    expect([end.status, end.lines.at(-1), aliveIn(project), problemsIn(project)]).toEqual([
      status,
      last,
      [],
      [],
    ]);
    expect(end.lines).toContain("○ stuck() stopped");
    expect(story(recordOf(project)).slice(2)).toEqual([
      "call: stuck",
      expect.stringMatching(new RegExp(`^result: ${CANCELLATION.source.slice(1)}`)),
    ]);
    // The conversation goes on from there.
    expect(await query(project, ["y"])).toEqual(printed("Later.\n"));
  });

  test("and c, then t: they go on, then begin again", async () => {
    await using server = await ModelServer.start([CALL]);
    const { project, screen } = await interrupted(STUCK, server);
    screen.type("c");
    await shows(screen, /^✔ Interrupted continue\n\S stuck /m);
    const before = aliveIn(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("t");
    await shows(screen, /^✔ Interrupted restart\n\S stuck /m);
    await until(() => startedIn(project).length === 2);
    const after = aliveIn(project);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("s");
    await screen.end();
    const [first, second] = startedIn(project);
    expect([before, after, aliveIn(project), problemsIn(project)]).toEqual([
      [first],
      [second],
      [],
      [],
    ]);
  });

  test("three times: all is over at once, and nobody is left behind", async () => {
    await using server = await ModelServer.start([CALL, "Later."]);
    const project = queryProject({ server, tools: [DEAF] });
    const screen = new ScreenProcess(project, ["q", "x"]);
    await shows(screen, RUNNING);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type(CTRL_C);
    await shows(screen, /^✖ Interrupted quit$/m);
    // The key may still be read by the menu, which is closing.
    process.kill(screen.pid, "SIGINT");
    const { status } = await screen.end();
    await until(() => aliveIn(project).length === 0); // It takes the system a moment.
    expect([status, story(recordOf(project)).slice(2)]).toEqual([130, ["call: stuck"]]);
    expect(await query(project, ["y"])).toEqual(printed("Later.\n"));
    const [, second] = server.requests;
    expect(second?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "user",
    ]);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)(
    "is not the only way: %s ends them too",
    async (name) => {
      await using server = await ModelServer.start([CALL]);
      const project = queryProject({ server, tools: [STUCK] });
      const screen = new ScreenProcess(project, ["q", "x"]);
      await shows(screen, RUNNING);
      process.kill(screen.pid, name);
      const { status, lines } = await screen.end();
      expect([status, aliveIn(project), problemsIn(project)]).toEqual([130, [], []]);
      expect(lines).toContain("○ stuck() stopped");
    },
  );
});

describe("Ctrl-C while something is asked", () => {
  const GO_ON = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
  const ASKER: ScriptedTool = { name: "asker", questions: [GO_ON] };
  const ECHO: ScriptedTool = { name: "echo", program: '"done"' };
  const CALL: Reply = { text: "I call.", calls: [{ name: "asker" }] };

  test.each([
    ["Ctrl-C", CTRL_C],
    ["Escape", "\u001b"],
    ["Ctrl-D", "\u0004"],
  ])("of a person: %s cancels that question, and says so once", async (_, key) => {
    verifies("082/cancel/prompt-cancelled-is-user", "082/prompt/cancellation-carries-the-id");
    verifies("082/record/non-answer-is-cancelled", "082/reason/user-tag");
    verifies("082/cancel/end-of-input-is-user");
    await using server = await ModelServer.start([CALL, "Well then."]);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    screen.type(key);
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
  });

  test("of a person, the next question is asked all the same", async () => {
    await using server = await ModelServer.start([
      { calls: [{ name: "asker" }, { name: "asker" }] },
      "Well then.",
    ]);
    const project = queryProject({ server, tools: [ASKER] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
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

  test("of the inquiry model: the menu, and s ends the inquiry at once", async () => {
    verifies("082/cancel/signal-is-user", "028/backend/cancellation-stops-it");
    await using server = await ModelServer.start(({ response_format: form }) =>
      form === undefined ? CALL : { hangs: true },
    );
    const settings = 'run = "unattended"\nquestions.q.target = "assistant"';
    const project = queryProject({ server, tools: [{ ...ASKER, settings }] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, /^\S asker \d+\.\ds$/m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("s");
    const { status } = await screen.end();
    expect([status, story(recordOf(project)).slice(2), problemsIn(project)]).toEqual([
      0,
      ["call: asker", "cancelled user", expect.stringMatching(/^result: /)],
      [],
    ]);
  });

  test.each([
    ["a question", ASKER, /^\? Go on\?/m, "before its question was answered"],
    ["a permission", { ...ECHO, settings: 'run = "ask"' }, /^\? Run /m, "before the tool ran"],
    [
      "a result",
      { ...ECHO, settings: 'run = "unattended"\nresult = "ask"' },
      /^\? Deliver /m,
      "before the user decided whether you may see its result",
    ],
  ] as const)("SIGTERM at %s does not say that the user rejected it", async (...row) => {
    counters("T-PROV-8");
    const [, tool, shown, reached] = row;
    await using server = await ModelServer.start([{ calls: [{ name: tool.name }] }]);
    const project = queryProject({ server, tools: [tool] });
    const screen = new Screen(project, ["q", "x"]);
    await shows(screen, shown);
    screen.signal("SIGTERM");
    const { status, lines } = await screen.end();
    const record = recordOf(project);
    expect([status, lines.at(-1), problemsIn(project)]).toEqual([130, KEPT, []]);
    expect(story(record).at(-1)).toMatch(
      new RegExp(`^result: .*interrupted ${reached}.* The user did not reject it\\.$`),
    );
    const named = ["permission_decision", "inquiry_response"].flatMap((type) =>
      entriesOf(record, type).filter((entry) => JSON.stringify(entry).includes('"user"')),
    );
    expect(named).toEqual([]);
  });

  test("with the window closed: the record has an end, and no process is left", async () => {
    counters("T-PROV-8");
    await using server = await ModelServer.start([
      { text: "I call.", calls: [{ name: "asker" }, { name: "stuck" }] },
    ]);
    const project = queryProject({ server, tools: [ASKER, STUCK] });
    const screen = new ScreenProcess(project, ["q", "x"]);
    await shows(screen, /^\? Go on\?/m);
    await until(() => startedIn(project).length === 1);
    screen.hangUp();
    await until(() => !isAlive(screen.pid));
    const outcomes = story(recordOf(project)).filter((line) => line.startsWith("cancelled"));
    expect([aliveIn(project), problemsIn(project), outcomes]).toEqual([
      [],
      [],
      ["cancelled interrupted"],
    ]);
  });
});
