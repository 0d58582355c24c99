import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { openWorkspace } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { systemClock } from "../../src/util/index.ts";
import type { TerminalScreen } from "../support/terminal-screen.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { queryProject, recordsOf } from "./query-project.ts";
import { message, request, turnStart } from "./records.ts";
import { Screen, ScreenProcess } from "./screen.ts";
import { Project } from "./support.ts";

const CTRL_D = "\u0004";
const ESC = "\u001B";

function shows(screen: TerminalScreen, wanted: RegExp | string): Promise<void> {
  return screen.untilShown((lines) => {
    const text = lines.join("\n");
    return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
  });
}

async function start(replies: readonly Reply[], project = new Project()) {
  const server = await ModelServer.start(replies);
  return {
    server,
    project: queryProject({ server, project }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const LONG = "A very long title that does not fit on a narrow screen with its age and state";

function said(second: number, asked: string, answer: string) {
  return [turnStart(second), request(second, asked), message(second + 1, answer)];
}

/** The most recent one last. */
function place(project: Project) {
  const config = {};
  return [
    project.place({ second: 0, title: "Login", config, events: said(0, "Fix it", "Fixed it.") }),
    project.place({ second: 60, title: LONG, config, events: said(60, "Why?", "Because.") }),
    project.place({ second: 120, title: "Deploy", config, events: said(120, "Ship", "Shipped.") }),
  ] as const;
}

describe("jp resume", () => {
  test("lists title, age and the last message, filters by what is typed, and opens a session there", async () => {
    const project = new Project();
    const [login] = place(project);
    await using parts = await start(["Sure."], project);
    const screen = new Screen(parts.project, ["resume"]);
    await shows(screen, /❯ Deploy \(/);
    screen.type("fixed it");
    await shows(screen, /❯ Login \(2 days ago\) - Assistant: Fixed it\./);
    screen.type("\r");
    await shows(screen, `Conversation: Login (${login.id}`);
    screen.type("and then\r");
    await shows(screen, /Sure\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { status } = await screen.end();
    const record = recordsOf(parts.project).find(({ id }) => id === login.id);
    expect([status, record?.entries.at(-1)]).toEqual([
      0,
      { type: "chat_response", message: "Sure." },
    ]);
  });

  test("says which are waiting for an answer", async () => {
    const project = new Project();
    const { root: from, variables, home } = project;
    const environment = { variables, home, platform: process.platform };
    const workspace = openWorkspace({ from, environment, clock: systemClock, pid: process.pid });
    await using writer = await workspace.conversations.create({ title: "Deploy" });
    await writer.append(...WAITING);
    await writer.release();
    const screen = new Screen(project, ["resume"]);
    await shows(screen, /❯ Deploy \(.*, waits for you \(a_tool\)\)/);
    screen.type(ESC);
    expect((await screen.end()).status).toBe(0);
  });

  test("opens the one that is named, which becomes the active one", async () => {
    const project = new Project();
    const [login] = place(project);
    const screen = new Screen(project, ["resume", "login"]);
    await shows(screen, `Conversation: Login (${login.id}`);
    screen.type(CTRL_D);
    await screen.end();
    const { stdout } = await project.jp("conversation", "path", "active");
    expect(stdout).toContain(login.id.slice(4));
  });

  test("changes nothing if the user leaves the list", async () => {
    const project = new Project();
    place(project);
    const screen = new Screen(project, ["resume"]);
    await shows(screen, "❯ Deploy");
    screen.type(ESC);
    const { status } = await screen.end();
    expect([status, (await project.jp("conversation", "path", "active")).status]).toEqual([0, 1]);
  });

  test("keeps the age visible on 60 columns", async () => {
    const project = new Project();
    place(project);
    const screen = new Screen(project, ["resume"], { columns: 60 });
    await shows(screen, "❯ Deploy");
    screen.type(ESC);
    const { lines } = await screen.end();
    const shown = lines.filter((line) => line.includes("A very long"));
    expect(shown.every((line) => line.length <= 60 && line.endsWith("… (2 days ago)"))).toBe(true);
  });

  test("asks in plain lines where that is wanted", async () => {
    const project = new Project();
    const [login] = place(project);
    const variables = { JP_PLAIN: "1" };
    const screen = new ScreenProcess(project, ["resume"], { variables });
    await screen.untilLineAsked("3. Login (2 days ago): Assistant: Fixed it.");
    screen.type("3\r");
    await shows(screen, new RegExp(`Conversation: Login \\(${login.id}[^]*\\nMessage: ?$`, "m"));
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("without a terminal lists them, and ends with status 2", async () => {
    const project = new Project();
    const placed = place(project);
    const { status, stdout, stderr } = await project.jp("resume");
    expect([status, stdout.match(/jp-c\d+/g), stderr]).toEqual([
      2,
      placed.map(({ id }) => id),
      expect.stringContaining("jp resume <id>"),
    ]);
  });

  test("without a terminal makes the named one active", async () => {
    const project = new Project();
    const [login] = place(project);
    const { status, stderr } = await project.jp("resume", login.id);
    expect([status, stderr]).toEqual([0, `Active in this terminal: ${login.id}  Login\n`]);
  });

  test("says if there is none, or no such one", async () => {
    const none = await new Screen(new Project(), ["resume"]).end();
    const unknown = await new Project().jp("resume", "nope");
    expect([none.lines.join("\n"), unknown.status, unknown.stderr]).toEqual([
      expect.stringContaining("No conversations yet."),
      1,
      expect.stringContaining('No conversation contains "nope".'),
    ]);
  });

  test("shows the end of the conversation above the prompt, and not its beginning", async () => {
    const project = new Project();
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`).join("\n");
    const events = [...said(0, "Begin", "Begun."), ...said(60, "Count", lines)];
    const { id } = project.place({ second: 0, title: "Count", config: {}, events });
    const screen = new Screen(project, ["resume", id]);
    await shows(screen, `Conversation: Count (${id}`);
    const shown = screen.lines.join("\n");
    screen.type(CTRL_D);
    await screen.end();
    expect(shown).toMatch(/… \d+ earlier lines: jp conversation print\nline 4\d\n[^]*\nline 60\n/);
    expect(shown).not.toContain("Begun.");
  });

  test("says which conversation it is before the prompt opens", async () => {
    const project = new Project();
    const [login] = place(project);
    const screen = new Screen(project, ["resume", login.id]);
    await shows(screen, answered("Conversation: Login .*"));
    screen.type(CTRL_D);
    const { bytes } = await screen.end();
    const parts = stripVTControlCharacters(bytes).split("Conversation: Login");
    expect(parts.map((part) => part.includes(">"))).toEqual([false, true]);
  });

  test("shows as many of the last turns as fit", async () => {
    const project = new Project();
    const events = [
      ...said(0, "Far", Array.from({ length: 60 }, () => "far").join("\n")),
      ...said(60, "One", "First."),
      ...said(120, "Two", "Second."),
    ];
    const { id } = project.place({ second: 0, title: "Short", config: {}, events });
    const screen = new Screen(project, ["resume", id]);
    await shows(screen, `Conversation: Short (${id}`);
    const shown = screen.lines.join("\n");
    screen.type(CTRL_D);
    await screen.end();
    expect(shown).toMatch(/One\n[^]*First\.\n[^]*Two\n[^]*Second\.\n/);
    expect(shown).not.toContain("far");
  });
});

describe("jp resume WORDS", () => {
  test("opens the only conversation that contains all of them, wherever they are", async () => {
    const project = new Project();
    const [login] = place(project);
    const screen = new Screen(project, ["resume", "fixed", "login"]);
    await shows(screen, `Conversation: Login (${login.id}`);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("lists those that match, with the line that does, titles first", async () => {
    const project = new Project();
    const [login] = place(project);
    const config = {};
    project.place({ second: 200, title: "Other", config, events: said(200, "Login page?", "No.") });
    const screen = new Screen(project, ["resume", "login"]);
    await shows(screen, /❯ Login \(.*\n? *Other \(.*\) - You: Login page\?/);
    screen.type("\r");
    await shows(screen, `Conversation: Login (${login.id}`);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("says so, with status 1, if no conversation contains all of them", async () => {
    const project = new Project();
    place(project);
    const { status, stderr } = await project.jp("resume", "shipped", "fixed");
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('No conversation contains all of "shipped", "fixed".'),
    ]);
  });

  test("without a terminal lists those that match, and ends with status 2", async () => {
    const project = new Project();
    const [login] = place(project);
    const config = {};
    const events = said(200, "Login page?", "No.");
    const other = project.place({ second: 200, title: "Other", config, events });
    const { status, stdout, stderr } = await project.jp("resume", "login");
    expect([status, stdout, stderr]).toEqual([
      2,
      `${login.id}  Login\n${other.id}  Other\n`,
      expect.stringContaining('More than one conversation contains "login"'),
    ]);
  });

  test("finds an archived conversation, and restores it", async () => {
    const project = new Project();
    const [login] = place(project);
    await project.jp("conversation", "archive", login.id);
    const one = await project.jp("resume", "fixed");
    expect([one.status, one.stderr]).toEqual([
      0,
      `Restored ${login.id} from the archive.\nActive in this terminal: ${login.id}  Login\n`,
    ]);
  });
});

/** Types each, once the one before has shown what it should. */
async function session(replies: readonly Reply[], steps: readonly (readonly [string, RegExp])[]) {
  await using parts = await start(replies);
  const screen = new Screen(parts.project, []);
  await shows(screen, /^New conversation/m);
  for (const [typed, shown] of steps) {
    screen.type(typed);
    await shows(screen, shown);
  }
  screen.type(CTRL_D);
  await screen.end();
  return parts.server.requests.map(({ messages }) =>
    messages.filter(({ role }) => role !== "system").map(({ content }) => content),
  );
}

const answered = (text: string) => new RegExp(`${text}\\n(.*\\n)*> ?$`, "m");

describe("in a session", () => {
  test("/replay sends the last message again, with the words added", async () => {
    const steps = [
      ["one\r", answered("A\\.")],
      ["/replay\r", answered("B\\.")],
      ["/replay shorter\r", answered("C\\.")],
    ] as const;
    expect(await session(["A.", "B.", "C."], steps)).toEqual([
      ["one"],
      ["one"],
      ["one\n\nshorter"],
    ]);
  });

  test("/edit opens the last message, and sends it in place of the old one", async () => {
    const steps = [
      ["one\r", answered("A\\.")],
      ["/edit now\r", answered("jp: Type /edit alone\\. To add words: /replay <words>")],
      ["/edit\r", /^> one$/m],
      [" more\r", answered("B\\.")],
      ["two\r", answered("C\\.")],
    ] as const;
    expect(await session(["A.", "B.", "C."], steps)).toEqual([
      ["one"],
      ["one more"],
      ["one more", "B.", "two"],
    ]);
  });

  test("/fork sends the next message to a copy, and the ones after it too", async () => {
    const steps = [
      ["one\r", answered("A\\.")],
      ["two\r", answered("B\\.")],
      ["/fork 1\r", answered("next message goes to a copy of the last turn\\.")],
      ["three\r", answered("C\\.")],
      ["four\r", answered("D\\.")],
    ] as const;
    expect((await session(["A.", "B.", "C.", "D."], steps)).slice(2)).toEqual([
      ["two", "B.", "three"],
      ["two", "B.", "three", "C.", "four"],
    ]);
  });

  test.each(["/replay", "/edit", "/fork"])("%s says so if there is nothing yet", async (typed) => {
    expect(await session([], [[`${typed}\r`, answered("jp: There is no.*")]])).toEqual([]);
  });
});
