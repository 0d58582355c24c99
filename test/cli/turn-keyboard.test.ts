import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  queryProject,
  recordOf,
  recordsOf,
  type ScriptedTool,
} from "./query-project.ts";
import { openSession as open, Screen, shows, UNASKED } from "./screen.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { JP, type Project } from "./support.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ESCAPE = "\u001b";
const UP = "\u001b[A";
const MENU = "? Interrupted\n  c continue";

function said(project: Project): readonly string[] {
  return recordsOf(project).flatMap(({ entries }) =>
    entries.flatMap((entry) => {
      const { type, content } = entry as Record<string, string>; // As far as it is used.
      return type === "chat_request" ? [`${content}`] : [];
    }),
  );
}

interface Held {
  readonly reply: Reply;
  readonly end: () => void;
}

/** A reply that ends when the test says so. */
function held(text = "The beginning of it"): Held {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { reply: { text, after: promise, rest: " and the end." }, end: resolve };
}

async function start(replies: readonly Reply[], tools: readonly ScriptedTool[] = []) {
  const server = await ModelServer.start(replies);
  return {
    server,
    project: queryProject({ server, tools }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe("during a turn of a session, what is typed", () => {
  test("is shown below the answer, and each message is sent when the turn ends without calling a tool", async () => {
    const first = held();
    await using parts = await start([first.reply, "Two.", "Three."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    for (const line of ["two\r", "three\r", "half"]) screen.type(line);
    await shows(screen, /^The beginning of\n(.*\n){0,2}  next: two\n  next: three\n» half$/m);
    const whileTyping = screen.lines;
    first.end();
    await shows(screen, /Three\.\n\n> half$/);
    screen.type(`${CTRL_C}${CTRL_D}`);
    const { lines } = await screen.end();
    expect(said(parts.project)).toEqual(["one", "two", "three"]);
    expect(whileTyping.filter((line) => line.startsWith("The"))).toEqual(["The beginning of"]);
    expect(lines.slice(2, 10)).toEqual([
      "> one",
      "The beginning of it and the end.",
      "",
      "> two",
      "Two.",
      "",
      "> three",
      "Three.",
    ]);
  });

  test("stands below how full the context is, and what the conversation has cost so far", async () => {
    const second = held();
    const usage = { prompt_tokens: 2000, completion_tokens: 500, total_tokens: 2500 };
    await using server = await ModelServer.start([{ text: "One.", usage }, second.reply]);
    const config = `conversation.compaction.auto.context_window = 10_000
[usage.prices."llamacpp/*"]
input = 1
output = 4
`;
    const screen = await open(queryProject({ server, config }));
    screen.type("one\r");
    await shows(screen, /One\.\n(.*\n)*> ?$/m);
    screen.type("two\r");
    await shows(
      screen,
      /Esc stops · Ctrl-C menu\n {2}2,50\d tokens of context used, 7,49\d left \(74%\) · 0\.0040 USD so far\n»/,
    );
    second.end();
    await shows(screen, /and the end\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect((await screen.end()).lines.join("\n")).not.toContain("so far");
  });

  test("can be taken back with Up, edited, and entered again", async () => {
    const first = held();
    await using parts = await start([first.reply, "Two."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type("two\r");
    await shows(screen, "  next: two (↑ takes it back)");
    screen.type(UP);
    await shows(screen, /^» two$/m);
    screen.type(" and more\r");
    await shows(screen, "next: two and more");
    first.end();
    await shows(screen, /Two\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual(["one", "two and more"]);
  });

  test("is at the prompt after Escape has stopped the turn, and nothing is sent by itself", async () => {
    await using parts = await start([
      { text: "The beginning of it", hangs: true },
      "Later.",
      "Last.",
    ]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type("two\r");
    screen.type("half a mess");
    await shows(screen, "» half a mess");
    screen.type(ESCAPE);
    await shows(
      screen,
      /^Stopped\.\nNot sent, and back at the next prompt: two\n\n> half a mess$/m,
    );
    const sent = said(parts.project);
    screen.type("age\r");
    await shows(screen, /Later\.\n\n> two$/);
    screen.type("\r");
    await shows(screen, /Last\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect([sent, said(parts.project)]).toEqual([["one"], ["one", "half a message", "two"]]);
  });

  test("is kept while a question is asked, and does not answer it", async () => {
    const question = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
    const calls = [{ name: "asker" }];
    const { promise, resolve } = Promise.withResolvers<void>();
    await using parts = await start(
      [{ text: "I will call it", after: promise, rest: ".", calls }, "Done."],
      [{ name: "asker", questions: [question] }],
    );
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "I will call");
    screen.type("yes please");
    await shows(screen, "» yes please");
    resolve();
    await shows(screen, /^\? Go on\?/m);
    const whileAsked = screen.lines.join("\n");
    screen.type("y\r"); // It might be a part of the message.
    await shows(screen, "nothing is decided until you pause");
    await shows(screen, /^(?![^]*until you pause)/);
    screen.type("\u0015");
    await shows(screen, /Tab say why/);
    screen.type("n\r");
    await shows(screen, /Done\.\n\n> yes please$/);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    const { entries } = recordOf(parts.project);
    const answers = entries.filter(({ type }) => type === "inquiry_response");
    expect([whileAsked.includes("yes please"), answers]).toEqual([
      false,
      [expect.objectContaining({ answer: false })],
    ]);
  });

  test("goes to a notice after a question was answered elsewhere, and to no other question", async () => {
    const ask = { id: "q", answer_type: { type: "text" } };
    const last = held();
    const calls = ["asker", "other"].map((name) => ({ text: "I will.", calls: [{ name }] }));
    await using parts = await start(
      [...calls, last.reply],
      [
        { name: "asker", questions: [{ ...ask, text: "Which name?" }] },
        { name: "other", questions: [{ ...ask, text: "Which colour?" }] },
      ],
    );
    const { project } = parts;
    const entries = (type: string) => entriesOf(recordOf(project), type);
    const lastAsked = () => {
      const id = entries("inquiry_request").at(-1)?.["id"];
      return typeof id === "string" ? id : "";
    };
    const answerLast = () => project.jp("inquiry", "answer", lastAsked(), "red");
    const screen = await open(project);
    screen.type("one\r");
    await shows(screen, /^\? Which name\?/m);
    screen.type("my long ");
    await answerLast();
    await shows(screen, "This question was answered elsewhere");
    screen.type("answer");
    await shows(screen, "Not sent: answer");
    screen.type("\r");
    await shows(screen, /^\? Which colour\?\n.*what was not sent/m);
    await answerLast();
    await shows(screen, "This question was answered elsewhere");
    screen.type("s");
    await shows(screen, "Not sent: s");
    screen.type("\r");
    await shows(screen, /^(?![^]*Not sent)/);
    last.end();
    await shows(screen, /the end\.\n\n> my long answers$/);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect([said(project), entries("inquiry_response").map(({ answer }) => answer)]).toEqual([
      ["one"],
      ["red", "red"],
    ]);
  });

  test("never includes what the terminal reports late", async () => {
    const first = held();
    await using parts = await start([first.reply, "Two."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    for (const piece of ["t", "\u001b[>0;27", "6;0c", "wo\u001b[24;1R\r"]) screen.type(piece);
    await shows(screen, "next: two");
    first.end();
    await shows(screen, /Two\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { lines } = await screen.end();
    expect([said(parts.project), lines.join("\n").includes("276")]).toEqual([
      ["one", "two"],
      false,
    ]);
  });

  test("is printed if Ctrl-C is pressed twice, and is in the history", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type("two\r");
    screen.type("half");
    await shows(screen, "» half");
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type(CTRL_C);
    const { status, lines } = await screen.end();
    expect([status, lines.slice(-4)]).toEqual([130, ["Not sent:", "  two", "Not sent:", "  half"]]);
    const again = await open(parts.project);
    again.type(UP);
    await shows(again, /^> half$/m);
    again.type(`${CTRL_C}${CTRL_D}`);
    await again.end();
  });
});

test("no empty row is drawn between reasoning that ends a line and the line below", async () => {
  await using server = await ModelServer.start([{ reasoning: "One.\nTwo.\n", hangs: true }]);
  const config = 'style.reasoning.display = "full"';
  const screen = await open(queryProject({ server, config }), { FORCE_COLOR: "1" });
  screen.type("one\r");
  await shows(screen, /^│ Two\.\n»/m);
  screen.type(ESCAPE);
  await shows(screen, "Stopped.");
  screen.type(CTRL_D);
  expect(await screen.end()).toMatchObject({ status: 0 });
});

test("Ctrl-Z during a turn suspends jp, and the line comes back with its text", async () => {
  const first = held();
  await using parts = await start([first.reply]);
  const screen = await open(parts.project);
  screen.type("one\r");
  await shows(screen, "The beginning of");
  screen.type("half");
  await shows(screen, "» half");
  screen.type("\u001a");
  await screen.untilSuspended();
  await screen.untilShown((lines) => !lines.join("\n").includes("half"));
  const { isRaw } = screen;
  screen.continueCommand();
  await shows(screen, "» half");
  first.end();
  await shows(screen, /end\.\n\n> half$/);
  screen.type(`${CTRL_C}${CTRL_D}`);
  await screen.end();
  expect([screen.suspensions, isRaw]).toEqual([1, false]);
});

describe("a reply in the menu", () => {
  const STUCK: ScriptedTool = {
    name: "stuck",
    program: `(() => {
      require("node:fs").writeFileSync("started", "");
      const wait = () => require("node:fs").existsSync("end") ? process.exit() : setTimeout(wait, 20);
      wait();
      return "";
    })()`,
  };

  test("stops a tool before it is written, and is sent whatever the tool does", async () => {
    await using parts = await start(
      [{ text: "I call.", calls: [{ name: "stuck" }] }, "Well."],
      [STUCK],
    );
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, /^\S stuck /m);
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("r\r");
    await shows(screen, /^Stopped\. Write your reply:/m);
    screen.type("not now");
    await shows(screen, "> not now");
    writeFileSync(path.join(parts.project.root, "end"), ""); // The tool could end by itself.
    screen.type("\r");
    await shows(screen, /Well\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    const { entries } = recordOf(parts.project);
    expect(entries.find(({ type }) => type === "tool_call_response")).toMatchObject({
      content: expect.stringContaining("not now") as string,
    });
  });

  test("comes after the last word that the model has said", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }, "Well."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("r\r");
    await shows(screen, /^Stopped\. Write your reply:/m);
    screen.type("not now\r");
    await shows(screen, /Well\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { lines } = await screen.end();
    expect(lines.slice(3, 9)).toEqual([
      "The beginning of",
      "it",
      "✔ Interrupted reply",
      "Stopped. Write your reply:",
      "",
      "> not now",
    ]);
  });

  test("that is not sent is back at the prompt", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("r\r");
    await shows(screen, /^Stopped\. Write your reply:/m);
    screen.type("rather not");
    await shows(screen, "> rather not");
    screen.type(CTRL_C);
    await shows(screen, /^Stopped\.\n\n> rather not$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect(said(parts.project)).toEqual(["one"]);
  });

  test("that is being written when the terminal closes is in the output", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type(CTRL_C);
    await shows(screen, MENU);
    screen.type("r\r");
    await shows(screen, /^Stopped\. Write your reply:/m);
    screen.type("rather not");
    await shows(screen, "> rather not");
    screen.signal("SIGTERM");
    const { lines } = await screen.end();
    expect(lines.slice(-2)).toEqual(["Not sent:", "  rather not"]);
  });
});

test("after an error without a reply, the next message is simply sent", async () => {
  await using parts = await start([{ status: 400 }, "Hello."]);
  const screen = await open(parts.project);
  screen.type("one\r");
  await shows(screen, /HTTP 400[^]*\n> ?$/m);
  screen.type("two\r");
  await shows(screen, /Hello\.\n(.*\n)*> ?$/m);
  screen.type(CTRL_D);
  const { lines } = await screen.end();
  expect([said(parts.project), lines.join("\n").includes("What now?")]).toEqual([
    ["one", "two"],
    false,
  ]);
});

describe("/edit", () => {
  test.each([
    ["Ctrl-C", CTRL_C],
    ["Escape", ESCAPE],
  ])("is left with %s, and what is typed then is no edit", async (_, key) => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type("/edit\r");
    await shows(screen, /Esc goes back\.\n\n> one$/m);
    screen.type(key);
    await shows(screen, /^Nothing was sent: you are back at the prompt\.\n\n>$/m);
    screen.type("/cost\r");
    await shows(screen, /^> \/cost\n(.+\n)+\n> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual(["one"]);
  });

  test("takes a command for a command, and keeps an edit that is left", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type("/edit\r");
    await shows(screen, /> one$/m);
    screen.type("\u0015/title\r");
    await shows(screen, /> \/title\nNothing was sent: you are back at the prompt\.\n(.+\n)+\n>$/m);
    screen.type("/edit\r");
    await shows(screen, /> one$/m);
    screen.type(" more");
    screen.type(ESCAPE);
    await shows(screen, /↑ brings your edit\s+back\.\n\n>$/m);
    screen.type(UP);
    await shows(screen, /> one more$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect(said(parts.project)).toEqual(["one"]);
  });
});

/** Runs the command from a shell, which then says how the terminal is set. */
function inShell(project: Project, script: string): PseudoTerminal {
  const words = ["-c", script, "sh", process.execPath, JP, "q", "x"];
  return new PseudoTerminal("sh", words, {
    folder: project.root,
    variables: { ...UNASKED, ...project.variables },
  });
}

describe("during jp query", () => {
  test("the terminal is as before when jp is killed, and nothing was echoed", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const script =
      '"$@" & echo $! > pid; fg > /dev/null; stty -a | grep -o "[ -]icanon\\|[ -]echo "';
    const screen = inShell(parts.project, `set -m; ${script}`);
    await shows(screen, /^The beginning of\n(.*\n)*\S+ .* · Esc stops/m);
    screen.type("xyzzy");
    await shows(screen, /^» xyzzy$/m);
    process.kill(Number(readFileSync(path.join(parts.project.root, "pid"), "utf8")), "SIGTERM");
    const { lines } = await screen.end();
    expect(lines.slice(-5)).toEqual([
      "Not sent:",
      "  xyzzy",
      "Interrupted. Everything up to here is saved.",
      " icanon",
      " echo",
    ]);
    expect(lines.filter((line) => line.startsWith("The"))).toEqual(["The beginning of it"]);
  });

  test("jp leaves the keyboard to the shell if it runs in the background", async () => {
    await using parts = await start(["Hello there."]);
    const screen = inShell(parts.project, 'set -m; "$@" & wait; echo "ended with $?"');
    const { lines, bytes } = await screen.end();
    expect([lines.slice(-2), bytes.includes("\u001b[?2004h")]).toEqual([
      ["Hello there.", "ended with 0"],
      false,
    ]);
  });

  test("Escape stops the turn, and what was typed is printed and not sent", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const screen = new Screen(parts.project, ["q", "x"]);
    await shows(screen, "The beginning of");
    screen.type("ls -la\rpwd");
    await shows(screen, /^» ls -la\n  pwd$/m);
    screen.type(ESCAPE);
    const { status, lines } = await screen.end();
    expect([status, lines]).toEqual([
      0,
      ["The beginning of it", "Stopped.", "Not sent:", "  ls -la", "  pwd"],
    ]);
  });
});
