import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { until } from "../mcp/support.ts";
import { counters } from "../security/threats.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  holdConversation,
  query,
  queryProject,
  recordOf,
  recordsOf,
} from "./query-project.ts";
import { openSession as open, Screen, ScreenProcess, shows } from "./screen.ts";
import type { Project } from "./support.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ESCAPE = "\u001b";
const SESSION = { JP_SESSION: "s" };
const HELD: Reply = { text: "The beginning of it", hangs: true };
const BACK = "Text that was not sent is back. Enter sends it, Ctrl-C clears it.";

async function start(replies: readonly Reply[]) {
  const server = await ModelServer.start(replies);
  return {
    server,
    project: queryProject({ server }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A session in a process of its own. */
async function openProcess(project: Project): Promise<ScreenProcess> {
  const screen = new ScreenProcess(project, [], { variables: SESSION });
  await shows(screen, /^(New conversation|Conversation:)/m);
  return screen;
}

function draftFiles({ data }: Project): readonly string[] {
  const folder = path.join(data, "drafts");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

async function leave(screen: Screen): Promise<void> {
  screen.type(`${CTRL_C}${CTRL_D}`);
  await screen.end();
}

/** The texts of the only file. While one replaces another, there are two. */
function saved(project: Project): unknown {
  const [file, ...others] = draftFiles(project);
  if (file === undefined || others.length > 0) return undefined;
  return (JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>)["texts"];
}

const untilSaved = (project: Project, ...texts: readonly string[]) =>
  until(() => JSON.stringify(saved(project)) === JSON.stringify(texts));

function said(project: Project): readonly unknown[] {
  return recordsOf(project).flatMap((record) =>
    entriesOf(record, "chat_request").map(({ content }) => content),
  );
}

const ANOTHER_TERMINAL = { JP_SESSION: "another" };

describe("messages queued in a session and the draft", () => {
  test.each([
    ["the terminal is closed", (screen: ScreenProcess) => screen.hangUp()],
    ["jp is killed", (screen: ScreenProcess) => process.kill(screen.pid, "SIGKILL")],
  ])("are at the prompt the next time, and not sent by themselves, after %s", async (_, close) => {
    await using server = await ModelServer.start((_body, index) => (index === 0 ? HELD : "Done."));
    const project = queryProject({ server });
    const screen = await openProcess(project);
    screen.type("one\r");
    await shows(screen, "The beginning of");
    for (const keys of ["two\r", "three\r", "half"]) screen.type(keys);
    await untilSaved(project, "half", "two", "three");
    const modes = draftFiles(project).map((file) => statSync(file).mode & 0o777);
    close(screen);
    await until(() => !isAlive(screen.pid));
    const again = new Screen(project, [], { variables: SESSION });
    await shows(again, /^(\? What now\?|> half$)/m);
    if (again.lines.includes("? What now?")) again.type("\r"); // After a kill.
    await shows(
      again,
      /^Text that was not sent is back\. .*\nNot sent, .*: two\nNot sent, .*: three\n\n> half$/m,
    );
    const sent = said(project);
    again.type(" of it\r");
    await shows(again, /> half of it\nDone\.\n(.*\n)*> two$/);
    again.type(`${CTRL_C}four\r`);
    await shows(again, /> four\nDone\.\n(.*\n)*> three$/);
    await leave(again);
    expect([modes, sent, said(project), draftFiles(project)]).toEqual([
      [0o600],
      ["one"],
      ["one", "half of it", "four"],
      [],
    ]);
  });

  test("are kept until they are on record, if jp is killed before", async () => {
    await using server = await ModelServer.start(["One."]);
    const project = queryProject({ server, config: "style.lock_wait.timeout_secs = 600" });
    await query(project, ["one"], { variables: SESSION });
    const holder = await holdConversation(project);
    const screen = await openProcess(project);
    screen.type("two\r");
    await shows(screen, /Waiting for it to be\s+released/);
    await untilSaved(project, "two");
    process.kill(screen.pid, "SIGKILL");
    await until(() => !isAlive(screen.pid));
    holder.tell("release");
    await holder.nextLine();
    const again = await open(project);
    await shows(again, /^> two$/m);
    await leave(again);
    expect(said(project)).toEqual(["one"]);
  });

  test("come back again until they are sent or cleared", async () => {
    await using parts = await start([HELD, "Two."]);
    const { project } = parts;
    const first = await open(project);
    first.type("half");
    await shows(first, "> half");
    first.signal("SIGHUP");
    await first.end();
    const second = await open(project);
    await shows(second, `${BACK}\n\n> half`);
    second.signal("SIGTERM");
    await second.end();
    const third = await open(project);
    await shows(third, `${BACK}\n\n> half`);
    await leave(third);
    const fourth = await open(project);
    fourth.type("x");
    await shows(fourth, /^> x$/m);
    await leave(fourth);
    expect([fourth.lines.includes(BACK), draftFiles(project)]).toEqual([false, []]);
  });

  test("are named in another terminal, and belong to their conversation", async () => {
    await using parts = await start(["One.", "Two."]);
    const { project } = parts;
    const first = await open(project);
    first.type("one\r");
    await shows(first, /One\.\n\n> ?$/m);
    first.type("half");
    await shows(first, "> half");
    first.signal("SIGHUP");
    await first.end();
    const { id } = recordOf(project);
    const other = await open(project, ANOTHER_TERMINAL);
    await shows(other, `Text that was not sent is in other conversations: /resume ${id}\n`);
    other.type(`/resume ${id}\r`);
    await shows(other, /^> half$/m);
    other.type(`${CTRL_C}/new\r`);
    await shows(other, /starts a new conversation\.\n\n> ?$/m);
    await leave(other);
    expect(draftFiles(project)).toEqual([]);
  });

  test("stay with the conversation that the session leaves, and are back with it", async () => {
    await using parts = await start(["One.", HELD, "Two."]);
    const { project } = parts;
    const screen = await open(project);
    screen.type("one\r");
    await shows(screen, /One\.\n\n> ?$/m);
    screen.type("two\r");
    await shows(screen, "The beginning of");
    for (const keys of ["three\r", "four\r"]) screen.type(keys);
    await shows(screen, "next: four");
    screen.type(ESCAPE);
    await shows(screen, /^> three$/m);
    screen.type(`${CTRL_C}/new\r`);
    await shows(screen, /starts a new conversation\.\n\n> ?$/m);
    const meanwhile = saved(project);
    const { id } = recordOf(project);
    screen.type(`/resume ${id}\r`);
    await shows(screen, /Text that was not sent is back.*\n\n> four$/);
    await leave(screen);
    expect(meanwhile).toEqual(["four"]);
  });

  test("of two sessions are not mixed", async () => {
    await using parts = await start([]);
    const { project } = parts;
    const first = await open(project);
    first.type("of the first");
    await until(() => draftFiles(project).length === 1);
    const second = await open(project, ANOTHER_TERMINAL);
    second.type("of the second");
    await until(() => draftFiles(project).length === 2);
    await leave(second);
    const kept = saved(project);
    await leave(first);
    expect([kept, second.lines.includes(BACK), draftFiles(project)]).toEqual([
      ["of the first"],
      false,
      [],
    ]);
  });

  test("are deleted with their conversation", async () => {
    await using parts = await start(["One."]);
    const { project } = parts;
    const screen = await open(project);
    screen.type("one\r");
    await shows(screen, /One\.\n\n> ?$/m);
    screen.type("half");
    await shows(screen, "> half");
    screen.signal("SIGHUP");
    await screen.end();
    const before = draftFiles(project).length;
    const { status } = await project.jp("conversation", "rm", recordOf(project).id, "--yes");
    expect([before, status, draftFiles(project)]).toEqual([1, 0, []]);
  });

  test("are kept without what is typed at a question", async () => {
    counters("T-SEC-13");
    const questions = [{ id: "q", text: "Which name?", answer_type: { type: "text" } }];
    await using server = await ModelServer.start([{ text: "I will.", calls: [{ name: "asker" }] }]);
    const project = queryProject({ server, tools: [{ name: "asker", questions }] });
    const screen = await open(project);
    screen.type("one\r");
    await shows(screen, "? Which name?");
    screen.type("canary");
    await shows(screen, /^(?![^]*until you pause)[^]*canary/);
    screen.signal("SIGHUP");
    await screen.end();
    expect(draftFiles(project)).toEqual([]);
  });

  test("are shown without the control characters of a forged file, and nothing is sent", async () => {
    counters("T-TERM-13");
    await using parts = await start([]);
    const { project } = parts;
    const first = await open(project);
    first.type("half");
    await until(() => draftFiles(project).length === 1);
    first.signal("SIGHUP");
    await first.end();
    const [file = ""] = draftFiles(project);
    const texts = ["\u001b]0;title\u0007draft", "\u001b[2Jqueued\r"];
    writeFileSync(file, JSON.stringify({ texts }));
    const again = await open(project);
    await shows(again, /^> ␛\]0;title␇draft$/m);
    await leave(again);
    expect([/\u001b\]0;title|\u001b\[2J/.test(again.bytes), said(project)]).toEqual([false, []]);
  });

  test("are read aloud in plain mode, and Enter sends them", async () => {
    await using parts = await start(["One."]);
    const { project } = parts;
    const first = await open(project);
    first.type("half");
    await shows(first, "> half");
    first.signal("SIGHUP");
    await first.end();
    const variables = { ...SESSION, JP_PLAIN: "1", TERM: "xterm" };
    const plain = new ScreenProcess(project, [], { variables });
    await shows(plain, /Your draft:\nhalf\nPress Enter to send this[^]*\nMessage: ?$/);
    plain.type("\r");
    await shows(plain, /One\.\n[^]*Message: ?$/);
    plain.type(CTRL_D);
    expect([(await plain.end()).status, said(project)]).toEqual([0, ["half"]]);
  });
});
