import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/command-host.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  holdConversation,
  query,
  queryProject,
  recordOf,
  recordsOf,
  type ScriptedTool,
} from "./query-project.ts";
import { openSession as open, Screen, ScreenProcess, shows } from "./screen.ts";
import { LIST_LOADED, type Project } from "./support.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const UP = "\u001b[A";
const PROMPT = /^> ?$/m;

/** The requests and replies of every conversation, oldest first. */
function said(project: Project): readonly (readonly string[])[] {
  return recordsOf(project).map(({ entries }) =>
    entries.flatMap((entry) => {
      const { type, content, message } = entry as Record<string, string>; // As far as it is used.
      if (type === "chat_request") return [`user: ${content}`];
      return type === "chat_response" ? [`assistant: ${message}`] : [];
    }),
  );
}

async function start(replies: readonly (Reply | string)[], tools: readonly ScriptedTool[] = []) {
  const server = await ModelServer.start(replies);
  return {
    server,
    project: queryProject({ server, tools }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const SHIFT_TAB = "\u001b[Z";
const CREATE = { name: "fs_create_file", arguments: { path: "a.txt", content: "a" } };
const READ = { name: "fs_read_file", arguments: { path: "a.txt" } };
const FILES = "conversation.tools.fs.enable = true";
const MODE_ROW = /^  mode (\w+) · /m;

describe("the mode of a session", () => {
  test("changes with Shift-Tab, counts for the next message, and is shown until then and during the turn", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await ModelServer.start([
      { calls: [CREATE] },
      { text: "Work", after: promise, rest: "ing. Created." },
    ]);
    const screen = await open(queryProject({ server, config: FILES }));
    screen.type(SHIFT_TAB);
    await shows(screen, "  mode edits · Shift-Tab changes it");
    screen.type("create it");
    await shows(screen, /^> create it\n {2}mode edits · Shift-Tab changes it$/m);
    screen.type("\r");
    await shows(screen, /policy: mode\.edits[^]*scripted.* · mode edits · Esc stops/);
    screen.type(SHIFT_TAB);
    await shows(screen, /mode plan · Esc stops/);
    resolve();
    await shows(screen, /Created\.\n\n> ?\n(.*\n)+ {2}mode plan · Shift-Tab changes it/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("changes during a turn: the stricter one counts at once", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const calls = { text: "Wait", after: promise, calls: [CREATE] };
    await using server = await ModelServer.start([calls, "Planned."]);
    const project = queryProject({ server, config: FILES });
    const screen = new Screen(project, ["--mode", "edits"], { variables: { JP_SESSION: "s" } });
    await shows(screen, "  mode edits · Shift-Tab changes it");
    await shows(screen, /^New conversation/m);
    screen.type("create it\r");
    await shows(screen, /mode edits · Esc stops/);
    screen.type(SHIFT_TAB);
    await shows(screen, /mode plan · Esc stops/);
    resolve();
    await shows(screen, /Planned\.\n\n>/);
    screen.type(CTRL_D);
    await screen.end();
    expect(existsSync(path.join(project.root, "a.txt"))).toBe(false);
  });

  test("is not changed by Shift-Tab in pasted text", async () => {
    const screen = await open(queryProject({}));
    screen.type(`\u001b[200~one${SHIFT_TAB}\u001b[201~`);
    await shows(screen, "> one␛[Z");
    screen.type(`${CTRL_C}two${SHIFT_TAB}`);
    await shows(screen, "> two");
    expect(screen.lines.join("\n")).not.toMatch(MODE_ROW);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
  });

  test("is the one of --mode, which counts more than that of the config", async () => {
    const project = queryProject({ config: 'conversation.mode = "plan"' });
    const configured = await open(project);
    await shows(configured, "  mode plan · Shift-Tab changes it");
    const given = new Screen(project, ["--mode", "ask"], { variables: { JP_SESSION: "s" } });
    await shows(given, /^New conversation/m);
    const before = given.lines.join("\n");
    given.type("/allow\r");
    await shows(given, /^❯ ask \(in use\) - jp asks/m);
    given.type("\u001b");
    await shows(given, /^The mode is ask\.$/m);
    for (const screen of [configured, given]) screen.type(CTRL_D);
    await Promise.all([configured.end(), given.end()]);
    expect(before).not.toMatch(MODE_ROW);
  });

  test("is chosen from a list with /allow, and counts from then on", async () => {
    const variables = { JP_SESSION: "s" };
    const screen = new Screen(queryProject({}), ["--mode", "edits"], { variables });
    await shows(screen, /^New conversation/m);
    screen.type("/allow\r");
    await shows(screen, /❯ edits \(in use\)[^]*\n {2}ask - /);
    screen.type("plan");
    await shows(screen, "❯ plan - only tools that read and commands you allow run");
    screen.type("\r");
    await shows(
      screen,
      /^Mode plan: only tools that read and commands you allow run; nothing is changed\.$/m,
    );
    await shows(screen, "  mode plan · Shift-Tab changes it");
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("in plain mode is a line when the session opens and before each message", async () => {
    const project = queryProject({});
    const variables = { JP_SESSION: "s", JP_PLAIN: "1", TERM: "xterm" };
    const screen = new ScreenProcess(project, ["--mode", "plan"], { variables });
    await shows(
      screen,
      /^Mode plan: only tools that read and commands you allow run; nothing is changed\.\nMessage: ?$/m,
    );
    screen.type("/cost\r");
    await shows(screen, /^Mode: plan\.\nMessage: ?$/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });
});

describe("jp alone", () => {
  test("on a terminal opens a session, whose messages go to one conversation", async () => {
    await using parts = await start(["Hello.", "Again."]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "Hello.");
    await shows(screen, PROMPT);
    screen.type("two\\");
    screen.type("\r");
    screen.type("three\r");
    await shows(screen, /Again\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { status } = await screen.end();
    expect([status, said(parts.project)]).toEqual([
      0,
      [["user: one", "assistant: Hello.", "user: two\nthree", "assistant: Again."]],
    ]);
  });

  test("stops waiting for another process with Ctrl-C, and keeps the message", async () => {
    await using server = await ModelServer.start(["Hello."]);
    const project = queryProject({ server, config: "style.lock_wait.timeout_secs = 600" });
    await query(project, ["one"], { variables: { JP_SESSION: "s" } });
    const screen = await open(project);
    await holdConversation(project);
    screen.type("two\r");
    await shows(screen, /Waiting for it to be\s+released/);
    screen.signal("SIGINT");
    await shows(screen, /^Wait for it to finish[^]*^> two$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect([(await screen.end()).status, said(project)]).toEqual([
      0,
      [["user: one", "assistant: Hello."]],
    ]);
  });

  test("continues the conversation of this terminal, and says which", async () => {
    await using parts = await start(["Hello.", "Again."]);
    await query(parts.project, ["Fix the login"], { variables: { JP_SESSION: "s" } });
    const screen = await open(parts.project);
    await shows(screen, /^Conversation: Fix the login \(jp-c\d+, just now\)/m);
    screen.type("and the test\r");
    await shows(screen, /Again\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual([
      ["user: Fix the login", "assistant: Hello.", "user: and the test", "assistant: Again."],
    ]);
  });

  test("begins with the folder, the model, the mode, and what models may do", async () => {
    await using server = await ModelServer.start([]);
    const screen = await open(queryProject({ server, config: FILES }));
    await shows(
      screen,
      /^\S+ · (llamacpp\/)?scripted · mode ask: reads files, asks to edit\nNew conversation/m,
    );
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("says which conversation it is even if the first message comes before it knows", async () => {
    await using parts = await start(["Hello."]);
    const screen = new Screen(parts.project, [], { variables: { JP_SESSION: "s" } });
    screen.type("one\r");
    await shows(screen, /^New conversation[^]*Hello\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("starts a new conversation where the config would ask for one", async () => {
    const screen = await open(queryProject({ config: 'conversation.default_id = "ask"' }));
    await shows(screen, /^New conversation\./m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("without a terminal prints help, with status 2", async () => {
    const { status, stdout, stderr } = await runCommand([]);
    expect([status, stdout, stderr.startsWith("Usage: jp [options] [command]")]).toEqual([
      2,
      "",
      true,
    ]);
  });

  test("with words that are not a command suggests jp query", async () => {
    const { status, stderr } = await runCommand(["why", "is it's sky blue"]);
    expect([status, stderr.trimEnd().split("\n").at(-1)]).toEqual([
      2,
      String.raw`To ask the assistant: jp query 'why is it'\''s sky blue'`,
    ]);
  });

  test("in a folder that does not exist says so", async () => {
    const screen = new Screen(queryProject({}), ["--workspace", "/not/there"]);
    const { status, lines } = await screen.end();
    expect([status, lines[0]]).toEqual([1, "jp: There is no folder /not/there."]);
  });
});

describe("leaving a session", () => {
  test.each([
    ["Ctrl-D", [CTRL_D]],
    ["Ctrl-C twice", [CTRL_C, CTRL_C]],
    ["/quit", ["/quit\r"]],
  ])("by %s ends jp with status 0", async (_, keys) => {
    const screen = await open(queryProject({}));
    for (const key of keys) screen.type(key);
    expect((await screen.end()).status).toBe(0);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)("by %s ends jp with status 130", async (signal) => {
    const screen = await open(queryProject({}));
    screen.signal(signal);
    expect((await screen.end()).status).toBe(130);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)(
    "by %s prints what was typed and not sent, and Up brings it back",
    async (signal) => {
      const project = queryProject({});
      const first = await open(project);
      first.type("half a message");
      await shows(first, "> half a message");
      first.signal(signal);
      const { lines, status } = await first.end();
      const second = await open(project);
      second.type(UP);
      await shows(second, "> half a message");
      second.type(`${CTRL_C}${CTRL_D}`);
      await second.end();
      expect([status, lines.slice(-2)]).toEqual([130, ["Not sent:", "  half a message"]]);
    },
  );

  test("by Ctrl-C twice in a turn keeps what was said", async () => {
    await using parts = await start([{ text: "The beginning of it", hangs: true }]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    screen.type(CTRL_C);
    await shows(screen, "? Interrupted\n  c continue");
    screen.type(CTRL_C);
    expect([(await screen.end()).status, said(parts.project)]).toEqual([
      130,
      [["user: one", "assistant: The beginning of it"]],
    ]);
  });
});

test("a turn that is stopped leads back to the prompt", async () => {
  await using parts = await start([{ text: "The beginning of it", hangs: true }, "Next."]);
  const screen = await open(parts.project);
  screen.type("one\r");
  await shows(screen, "The beginning of");
  screen.type(CTRL_C);
  await shows(screen, "? Interrupted\n  c continue");
  screen.type("s");
  await shows(screen, /Stopped\.\n(.*\n)*> ?$/m);
  screen.type("two\r");
  await shows(screen, /Next\.\n(.*\n)*> ?$/m);
  screen.type(CTRL_D);
  expect((await screen.end()).status).toBe(0);
});

test("Ctrl-Z suspends jp at the prompt, and the prompt comes back with its text", async () => {
  const screen = await open(queryProject({}));
  screen.type("half a mess");
  await shows(screen, "> half a mess");
  screen.type("\u001a");
  await screen.untilSuspended();
  await screen.untilShown((lines) => !lines.join("\n").includes("half"));
  const isRaw = screen.isRaw;
  screen.continueCommand();
  await shows(screen, "> half a mess");
  expect([screen.suspensions, isRaw, screen.isRaw]).toEqual([1, false, true]);
  screen.type(`${CTRL_C}${CTRL_D}`);
  await screen.end();
});

test("an error is reported, and the message stays at the prompt", async () => {
  const screen = await open(queryProject({ config: '[assistant.model]\nid = "nowhere/x"\n' }));
  screen.type("hello\r");
  await shows(screen, /provider "nowhere"[^]*\n> hello$/m);
  screen.type(`${CTRL_C}${CTRL_D}`);
  expect((await screen.end()).status).toBe(0);
});

/** The config of local servers. */
function serversAt(urls: Readonly<Record<"ollama" | "llamacpp", string>>): string {
  const lines = Object.entries(urls).map(
    ([name, url]) => `providers.llm.${name}.base_url = "${url}"`,
  );
  return lines.join("\n");
}

describe("without a configured model, a session names /model", () => {
  test("once, where it has found one", async () => {
    await using server = await ModelServer.start(["Hello."]);
    const config = serversAt({ ollama: await ModelServer.closedUrl(), llamacpp: server.url });
    const screen = await open(queryProject({ config }));
    screen.type("hello\r");
    await shows(screen, /Hello\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { lines } = await screen.end();
    expect(lines.filter((line) => line.startsWith("No model"))).toEqual([
      "No model configured; using llamacpp/scripted. To choose one: /model",
    ]);
  });

  test("as a way to get one, where there is none", async () => {
    const closed = await ModelServer.closedUrl();
    const config = serversAt({ ollama: closed, llamacpp: closed });
    const screen = await open(queryProject({ config }));
    screen.type("hello\r");
    await shows(
      screen,
      /^  - choose one for this conversation: \/model provider\/name\n\n> hello$/m,
    );
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect((await screen.end()).status).toBe(0);
  });
});

test("what is wrong with the config is said once", async () => {
  await using parts = await start(["A.", "B."]);
  const { server } = parts;
  queryProject({ ...parts, config: "assistant.nmae = 'x'" });
  const screen = await open(parts.project);
  for (const [typed, shown] of [
    ["one", /A\.\n(.*\n)*> ?$/m],
    ["/model", /The model is[^]*> ?$/m],
    ["two", /B\.\n(.*\n)*> ?$/m],
  ] as const) {
    screen.type(`${typed}\r`);
    await shows(screen, shown);
  }
  screen.type(CTRL_D);
  const { lines } = await screen.end();
  expect(lines.filter((line) => line.includes("nmae"))).toEqual([
    expect.stringMatching(/^warning: /),
  ]);
  expect(server.requests).toHaveLength(2);
});

test("a config that cannot be read is reported before the first message", async () => {
  await using parts = await start(["Hello."]);
  await query(parts.project, ["one"], { variables: { JP_SESSION: "s" } });
  const file = path.join(parts.project.root, ".jp", "config.toml");
  writeFileSync(file, "assistant.name = 'x");
  const screen = await open(parts.project);
  screen.type(CTRL_D);
  const { status, lines } = await screen.end();
  const first = lines.findIndex((line) => line.startsWith("jp: "));
  expect([status, lines.slice(first).join("\n")]).toEqual([
    0,
    expect.stringMatching(/config\.toml:[^]*invalid TOML:[^]*\nConversation: /),
  ]);
});

test("a session asks once whether to trust the workspace, if you say no", async () => {
  await using parts = await start(["A.", "B."], [{ name: "broom" }]);
  const screen = await open(parts.project, { JP_TRUSTED_WORKSPACES: "" });
  screen.type("one\r");
  await shows(screen, "? Trust this workspace");
  screen.type("n\r");
  await shows(screen, /A\.\n(.*\n)*> ?$/m);
  screen.type("two\r");
  await shows(screen, /B\.\n(.*\n)*> ?$/m);
  screen.type(CTRL_D);
  const { lines } = await screen.end();
  expect(lines.filter((line) => line.includes("Trust this workspace"))).toHaveLength(1);
});

test("a question left open is offered first, and what was typed is kept", async () => {
  const question = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
  const calls = [{ name: "asker" }];
  await using parts = await start(
    [{ text: "I call.", calls }, "Done."],
    [{ name: "asker", questions: [question] }],
  );
  await query(parts.project, ["one", "--defer"], { variables: { JP_SESSION: "s" } });
  const screen = new Screen(parts.project, [], { variables: { JP_SESSION: "s" } });
  screen.type("half"); // Before the prompt is there.
  await shows(screen, "? What now?");
  screen.type("\r");
  await shows(screen, "? Go on?");
  screen.type("y");
  await shows(screen, /Done\.\n(.*\n)*> half$/m);
  screen.type(`${CTRL_C}${CTRL_D}`);
  expect((await screen.end()).status).toBe(0);
});

test("a signal ends jp also while it asks about a turn left open, and decides nothing", async () => {
  const question = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
  const calls = [{ name: "asker" }];
  await using parts = await start(
    [{ text: "I call.", calls }],
    [{ name: "asker", questions: [question] }],
  );
  const variables = { JP_SESSION: "s" };
  await query(parts.project, ["one", "--defer"], { variables });
  const first = new Screen(parts.project, [], { variables });
  await shows(first, "? What now?");
  first.signal("SIGTERM");
  const { status } = await first.end();
  const second = new Screen(parts.project, [], { variables });
  await shows(second, "? What now?");
  second.signal("SIGHUP");
  expect([status, (await second.end()).status]).toEqual([130, 130]);
});

/** Types a command, waits for what it shows, and leaves. */
async function command(project: Project, typed: string, wanted: RegExp) {
  const screen = await open(project);
  screen.type(`${typed}\r`);
  await shows(screen, wanted);
  screen.type(`${CTRL_C}${CTRL_D}`);
  return (await screen.end()).lines;
}

describe("a command", () => {
  test("/help lists all of them, and the keys", async () => {
    const lines = await command(queryProject({}), "/help", /Ctrl-Z/);
    const names = lines.flatMap((line) => /^ {2}(\/[a-z]+)/.exec(line)?.[1] ?? []);
    expect(names).toEqual([
      "/help",
      "/new",
      "/resume",
      "/replay",
      "/edit",
      "/fork",
      "/model",
      "/allow",
      "/tools",
      "/login",
      "/attach",
      "/share",
      "/compact",
      "/undo",
      "/diff",
      "/cost",
      "/context",
      "/title",
      "/quit",
    ]);
  });

  test("that is unknown stays at the prompt", async () => {
    const lines = await command(
      queryProject({}),
      "/nope",
      /Unknown command: \/nope\.[^]*\n> \/nope$/m,
    );
    expect(lines.join(" ")).toContain("start with a space");
  });

  test("/undo shows the difference and asks, and /diff what the conversation has changed", async () => {
    const args = { path: "a.txt", content: "new\n" };
    const calls = [{ name: "fs_create_file", arguments: args }];
    const server = await ModelServer.start([{ text: "", calls }, "Done."]);
    await using _ = server;
    const config =
      "[conversation.tools.fs_create_file]\nenable = true\nquestions.create_file.answer = true\n";
    const project = queryProject({ server, config });
    const screen = await open(project);
    for (const [typed, shown] of [
      ["write it\r", /Done\.\n(.*\n)*> ?$/m],
      ["/diff\r", /\+new\n(.*\n)*> ?$/m],
      ["/diff stat\r", /^1 file +\+1 *-?\d*\n(.*\n)*> ?$/m],
      ["/undo what\r", /Type \/undo, \/undo message or \/undo force\.\n(.*\n)*> ?$/m],
      ["/undo\r", /-new\n(.*\n)*.*Restore 1 file\?/m],
      ["y\r", /Restored 1 file\.\n(.*\n)*> ?$/m],
    ] as const) {
      screen.type(typed);
      await shows(screen, shown);
    }
    expect(existsSync(path.join(project.root, "a.txt"))).toBe(false);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("/new starts a conversation, and /resume goes back to one, with its end above the prompt", async () => {
    await using parts = await start(["A.", "B.", "C."]);
    const screen = await open(parts.project);
    for (const [typed, shown] of [
      ["one\r", /A\.\n(.*\n)*> ?$/m],
      ["/new\r", /new conversation\.\n(.*\n)*> ?$/m],
      ["two\r", /B\.\n(.*\n)*> ?$/m],
      ["/resume\r", "❯ two (just now)"],
      ["a. ONE", "❯ one (just now) - Assistant: A."],
      ["\r", /^> \/resume\n[^]*one\n[^]*A\.\n[^]*Conversation: one .*\n[^]*> ?$/m],
      ["three\r", /C\.\n(.*\n)*> ?$/m],
    ] as const) {
      screen.type(typed);
      await shows(screen, shown);
    }
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual([
      ["user: one", "assistant: A.", "user: three", "assistant: C."],
      ["user: two", "assistant: B."],
    ]);
  });

  test("/resume says so if nothing is selected", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    for (const [typed, shown] of [
      ["one\r", /A\.\n(.*\n)*> ?$/m],
      ["/resume\r", "❯ one (just now)"],
      ["\u001b", /^> \/resume\nNo conversation selected\.\n\n> ?$/m],
    ] as const) {
      screen.type(typed);
      await shows(screen, shown);
    }
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("/title changes the title, of a new conversation too", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("/title Before\r");
    await shows(screen, "the title Before");
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    const before = recordOf(parts.project).title;
    screen.type("/title After it\r");
    await shows(screen, /^The title is now: After it$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect([before, recordOf(parts.project).title]).toEqual(["Before", "After it"]);
  });

  test("/tools turns a tool off for the next messages, and the conversation remembers it", async () => {
    await using parts = await start(["A.", "B."], [{ name: "broom" }]);
    const screen = await open(parts.project);
    screen.type("/tools off broom\r");
    await shows(screen, "broom is off, starting with your next message.");
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type("/tools\r");
    await shows(screen, /off +broom/);
    screen.type(CTRL_D);
    await screen.end();
    await query(parts.project, ["two"], { variables: { JP_SESSION: "s" } });
    const named = parts.server.requests.map((request) => JSON.stringify(request).includes("broom"));
    expect(named).toEqual([false, false]);
  });

  test.each(["/tools shell on", "/tools on shell"])(
    "/tools takes the name of a tool or group before or after the word: %s",
    async (typed) => {
      await using parts = await start(["A."]);
      const screen = await open(parts.project);
      screen.type(`${typed}\r`);
      await shows(screen, "shell is on, starting with your next message.");
      screen.type("/tools\r");
      await shows(screen, /^on +shell_run/m);
      screen.type(CTRL_D);
      expect((await screen.end()).status).toBe(0);
    },
  );

  test.each(["/tools shell", "/tools on off", "/tools shell fs on"])(
    "/tools says what to type: %s",
    async (typed) => {
      const lines = await command(queryProject({}), typed, /jp: /);
      expect(lines.join(" ")).toContain("Type /tools, /tools <name> on or /tools <name> off.");
    },
  );

  test("/tools refuses a name that is unknown", async () => {
    const lines = await command(queryProject({}), "/tools on nope", /jp: /);
    expect(lines.join(" ")).toMatch(/jp: .*nope/);
  });

  test("/model says which it is if there is no other", async () => {
    await using parts = await start([]);
    const lines = await command(parts.project, "/model", /No others were found/);
    expect(lines.join(" ")).toMatch(/The model is llamacpp\/scripted\. No others were found\./);
  });

  test("/model lists models with what is known of them, searches that, and uses the chosen one", async () => {
    await using server = await ModelServer.start(["A."], ["scripted", "other", "third"]);
    const config = `[providers.llm.aliases]
speedy = "llamacpp/other"
[usage.prices."llamacpp/*"]
input = 3
output = 15
`;
    const screen = await open(queryProject({ server, config }));
    screen.type("/model\r");
    await shows(screen, /❯ llamacpp\/scripted \(in use\) - .*USD 3 in, 15 out per million tokens/);
    screen.type("out speed");
    await shows(screen, /❯ llamacpp\/other - speedy · USD 3 in, 15 out per million tokens/);
    screen.type("\r");
    await shows(screen, /The model is now llamacpp\/other\.\n(.*\n)*> ?$/m);
    screen.type("/model\r");
    await shows(screen, "❯ llamacpp/other (in use)");
    screen.type("\u001b");
    await shows(screen, /^The model is llamacpp\/other\.\n(.*\n)*> ?$/m);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect([(await screen.end()).status, server.requests[0]?.model]).toEqual([0, "other"]);
  });

  test("/model refuses a name that a local server does not list, and suggests one", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("/model llamacpp/scriptd\r");
    await shows(
      screen,
      /does not list the model scriptd\.\nDid you mean llamacpp\/scripted\?\n(.*\n)*> ?$/m,
    );
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect([(await screen.end()).status, parts.server.requests[0]?.model]).toEqual([0, "scripted"]);
  });

  test("/model refuses a provider that is unknown", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("/model nowhere/x\r");
    await shows(screen, /jp: [^]*nowhere[^]*> ?$/m);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });
});

test("/compact shortens old turns, and /cost shows what the conversation took", async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 };
  await using parts = await start([
    { text: "A.", usage },
    { text: "B.", usage },
    { text: "Short.", usage },
  ]);
  const screen = await open(parts.project);
  for (const [typed, shown] of [
    ["/cost", /Nothing spent yet: the conversation is new\.\n(.*\n)*> ?$/m],
    ["one", /A\.\n(.*\n)*> ?$/m],
    ["two", /B\.\n(.*\n)*> ?$/m],
    ["/compact s:..", /To undo: \/compact undo\n(.*\n)*> ?$/m],
    ["/compact undo", /Removed 1 compaction[^]*> ?$/m],
    ["/cost", /^llamacpp\/scripted +3000 +0 +60 +0 +3$[^]*> ?$/m],
  ] as const) {
    screen.type(`${typed}\r`);
    await shows(screen, shown);
  }
  screen.type(CTRL_D);
  expect((await screen.end()).status).toBe(0);
});

test("/context shows what fills the context window, before the first message and after the last", async () => {
  const usage = { prompt_tokens: 3000, completion_tokens: 20, total_tokens: 3020 };
  await using server = await ModelServer.start([
    { calls: [READ] },
    { text: "A long answer.", usage },
  ]);
  const files = { "a.txt": "many words\n".repeat(400) };
  const config = `${FILES}\nconversation.compaction.auto.context_window = 10_000`;
  const screen = await open(queryProject({ server, config, files }));
  screen.type("/context\r");
  await shows(
    screen,
    /^instructions +\d+ +\d+%\ndescriptions of tools +[\d,]+ +\d+%\nllamacpp\/scripted/m,
  );
  await shows(screen, /about [\d,]+ tokens of context used, [\d,]+ left \(\d+%\)\.$/m);
  screen.type("@a.txt read it\r");
  await shows(screen, /answer\.\n(.*\n)*> ?$/m);
  screen.type("/context\r");
  await shows(screen, /^llamacpp\/scripted: 3,020 tokens of context used, 6,980 left \(69%\)\.$/m);
  screen.type(CTRL_D);
  const lines = (await screen.end()).lines.filter((line) => / <?\d+%$/.test(line));
  expect(lines.slice(-6).map((line) => line.replace(/ +[\d,]+ +<?\d+%$/, ""))).toEqual([
    "descriptions of tools",
    "attached files",
    "your messages",
    "the model's replies",
    "tool calls",
    "tool results",
  ]);
});

test("Ctrl-C stops a summary, and the session goes on", async () => {
  await using parts = await start(["A.", { hangs: true }, "B."]);
  const screen = await open(parts.project);
  for (const [typed, shown] of [
    ["one\r", /A\.\n(.*\n)*> ?$/m],
    ["/compact s:..\r", /Summarizing/],
    [CTRL_C, /Stopped\. Nothing was changed\.\n(.*\n)*> ?$/m],
    ["two\r", /B\.\n(.*\n)*> ?$/m],
  ] as const) {
    screen.type(typed);
    await shows(screen, shown);
  }
  screen.type(CTRL_D);
  expect((await screen.end()).status).toBe(0);
});

test("/attach attaches files to the next message, lists them, and takes them off", async () => {
  await using parts = await start(["A.", "Again.", "B."]);
  for (const name of ["a.md", "b.md"])
    writeFileSync(path.join(parts.project.root, name), `content of ${name}`);
  const screen = await open(parts.project);
  screen.type("/attach missing.md\r");
  await shows(screen, /missing\.md: it does not exist\.\n(.*\n)*> ?$/m);
  screen.type("/attach a.m");
  await shows(screen, "❯ a.md");
  screen.type("\t\r");
  await shows(screen, /Attached to your next message: a\.md\n(.*\n)*> ?$/m);
  screen.type("/attach b.md\r");
  await shows(screen, /Attached to your next message: b\.md\n(.*\n)*> ?$/m);
  screen.type("/attach rm b.md\r");
  await shows(screen, /Detached b\.md\n(.*\n)*> ?$/m);
  screen.type("one\r");
  await shows(screen, /Attached: 1 document, 15 B\n[^]*A\.\n(.*\n)*> ?$/m);
  screen.type("again\r");
  await shows(screen, /^Again\.\n(.*\n)*> ?$/m);
  screen.type("/attach\r");
  await shows(screen, /^a\.md \(1 document, 15 B\)\n(.*\n)*> ?$/m);
  screen.type("/attach rm a.md\r");
  await shows(screen, /Detached a\.md\n(.*\n)*> ?$/m);
  screen.type("two\r");
  await shows(screen, /B\.\n(.*\n)*> ?$/m);
  screen.type(CTRL_D);
  const { lines } = await screen.end();
  expect(lines.filter((line) => line.startsWith("Attached: "))).toHaveLength(1);
  const sent = parts.server.requests.map((request) =>
    ["a.md", "b.md"].filter((name) => JSON.stringify(request).includes(`content of ${name}`)),
  );
  expect(sent).toEqual([["a.md"], ["a.md"], []]);
});

describe("at the prompt", () => {
  test("Up brings back what was said at a permission, and in the menu of Ctrl-C", async () => {
    await using parts = await start(
      [{ calls: [{ name: "broom" }] }, { text: "The beginning of it", hangs: true }, "Well."],
      [{ name: "broom", settings: 'run = "ask"' }],
    );
    const screen = await open(parts.project);
    for (const [typed, shown] of [
      ["one\r", /^\? Run local broom/m],
      ["use the mop\r", "The beginning of"],
      [CTRL_C, "? Interrupted"],
      ["r\r", /^Stopped\. Write your reply:/m],
      ["and be quick\r", /Well\.\n(.*\n)*> ?$/m],
      [UP, /^> and be quick\n  ↑↓ history/m],
      [UP, /^> use the mop\n  ↑↓ history/m],
      [UP, /^> one\n  ↑↓ history/m],
    ] as const) {
      screen.type(typed);
      await shows(screen, shown);
    }
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect((await screen.end()).status).toBe(0);
  });

  test("Ctrl-X opens the editor of the config, for the first message too", async () => {
    const config = "editor.cmd = 'echo from the editor >'";
    const screen = await open(queryProject({ config }));
    screen.type("\u0018");
    await shows(screen, /^> from the editor$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect((await screen.end()).status).toBe(0);
  });

  test.each([
    ["offers the editor", { EDITOR: "vi" }, true],
    ["offers no editor where none is set", {}, false],
  ])("it %s", async (_, variables, isOffered) => {
    const screen = await open(queryProject({}), variables);
    await shows(screen, "Ctrl-D leave");
    screen.type(CTRL_D);
    const { bytes } = await screen.end();
    expect(bytes.includes("Ctrl-X editor")).toBe(isOffered);
  });

  test("@ completes files, which go along with the message", async () => {
    await using parts = await start(["A."]);
    mkdirSync(path.join(parts.project.root, "my docs"));
    writeFileSync(path.join(parts.project.root, "my docs", "ask.md"), "What is it?\n");
    const screen = await open(parts.project);
    screen.type("See @my");
    await shows(screen, '❯ @"my docs/');
    screen.type("\t");
    await shows(screen, '❯ @"my docs/ask.md"');
    screen.type("\t\r");
    await shows(screen, /Attached: 1 document, 12 B\n[^]*A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual([['user: See @"my docs/ask.md"', "assistant: A."]]);
    expect(JSON.stringify(parts.server.requests)).toContain("What is it?");
  });

  test("the history of earlier sessions is there, in a file for this user only, without secrets", async () => {
    const project = queryProject({});
    const variables = { MY_TOKEN: "correct-horse" };
    const first = await open(project, variables);
    for (const title of ["one", "correct-horse"]) {
      first.type(`/title ${title}\r`);
      await shows(first, new RegExp(`the title ${title}[^]*> ?$`, "m"));
    }
    first.type(CTRL_D);
    await first.end();
    const second = await open(project, variables);
    second.type("\u001b[A");
    await shows(second, "> /title one");
    second.type(`${CTRL_C}${CTRL_D}`);
    await second.end();
    const file = path.join(project.data, "input-history.jsonl");
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([
      '"/title one"\n',
      0o600,
    ]);
  });
});

test("the first prompt loads only what draws it", async () => {
  const project = queryProject({});
  const [preloaded, list] = ["list.cjs", "loaded.json"].map((name) =>
    path.join(project.home, name),
  );
  writeFileSync(
    `${preloaded}`,
    `${LIST_LOADED}
    const { existsSync, writeFileSync } = require("node:fs");
    const { Duplex } = require("node:stream");
    const { write } = Duplex.prototype;
    Duplex.prototype.write = function (text, ...rest) {
      const isFirst = String(text).includes("Enter send") && !existsSync("${list}");
      if (isFirst) writeFileSync("${list}", JSON.stringify(loaded));
      return write.call(this, text, ...rest);
    };`,
  );
  const variables = { TERM: "xterm", NODE_OPTIONS: `--require ${preloaded}` };
  const screen = new ScreenProcess(project, [], { variables });
  await shows(screen, "Enter send");
  screen.type(CTRL_D);
  await screen.end();
  const loaded = JSON.parse(readFileSync(`${list}`, "utf8")) as readonly string[];
  const files = loaded;
  const size = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const names = files.map((file) => path.basename(file).replace(/-[\w-]{8}\.cjs$/, ""));
  expect(names).toContain("session"); // What draws the prompt.
  // One package that does not belong here, such as the Markdown parser, is larger than the rest together.
  expect(size < 105_000 ? "little" : names).toBe("little");
});

test("in plain mode, a session reads lines; pasted ones wait for Enter", async () => {
  await using parts = await start(["A.", "B."]);
  const variables = { JP_SESSION: "s", JP_PLAIN: "1", TERM: "xterm" };
  const screen = new ScreenProcess(parts.project, [], { variables, columns: 60 });
  await shows(screen, /leaves\.\n.* · mode ask: .*\nNew conversation[^]*Message: ?$/m);
  screen.type("/help\r");
  await shows(screen, /^ {2}Ctrl-Z[^]*Message: ?$/m);
  screen.type("/nope\r");
  await shows(screen, /start with a space\.\nMessage: ?$/);
  screen.type("one\\\r");
  await shows(screen, /one\\\nMessage: ?$/);
  screen.type("two\r");
  await shows(screen, /A\.\nMessage: ?$/);
  screen.type("three\rfour\r");
  await shows(screen, /Press Enter to send this, or type more\. Ctrl-C clears it\.\nMessage: ?$/);
  const before = said(parts.project);
  screen.type("\r");
  await shows(screen, /B\.\nMessage: ?$/);
  screen.type("/edit\r");
  await shows(screen, /Ctrl-D goes back\.\nYour draft:\nthree\nfour\n.*\nMessage: ?$/);
  screen.type(CTRL_C);
  await shows(screen, /Nothing was sent: you are back at the prompt\.\nMessage: ?$/);
  screen.type(CTRL_C);
  await shows(screen, /Press Ctrl-C again to leave\.\nMessage: ?$/);
  screen.type(CTRL_C);
  const { status, bytes } = await screen.end();
  expect(bytes).toContain("/lines  ");
  expect(bytes).not.toMatch(/Alt-Enter|Ctrl-R|Tab/); // Only keys that work here.
  expect([before, said(parts.project), status, bytes.includes("\u001b")]).toEqual([
    [["user: one\ntwo", "assistant: A."]],
    [["user: one\ntwo", "assistant: A.", "user: three\nfour", "assistant: B."]],
    0,
    false,
  ]);
});
