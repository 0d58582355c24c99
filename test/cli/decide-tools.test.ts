import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../mcp/support.ts";
import { useSandbox } from "../shell/support.ts";
import { resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import { queryProject, recordsOf } from "./query-project.ts";
import { openSession, Screen, ScreenProcess, shows } from "./screen.ts";
import type { Project } from "./support.ts";

const ASKED = "? What may models do in this folder?";
const ESC = "\u001b";
const DOWN = "\u001b[B";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const PERSON = { CI: "" };
const ANSWERED = /Done\.\n(.*\n)*> ?$/m;
const READING = ["fs_read_file", "fs_list_files", "fs_grep_files"];
const CALL = { name: "fs_read_file", arguments: { path: "a.txt" } };

function project(server: ModelServer): Project {
  return queryProject({ server, files: { "a.txt": "hello\n" } });
}

function offeredIn({ requests }: ModelServer, index: number): readonly string[] {
  const tools = (requests[index]?.["tools"] ?? []) as { function: { name: string } }[]; // By contract.
  return tools.map((tool) => tool.function.name).filter((name) => /^(fs|shell)_/.test(name));
}

function ownConfig({ userFolder }: Project): string | undefined {
  const file = path.join(userFolder, "config.toml");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** The workspace's files, apart from its conversations. */
function filesOf({ root }: Project) {
  return ["a.txt", ".jp/.id", ".jp/config.toml"].map((name) =>
    readFileSync(path.join(root, name), "utf8"),
  );
}

describe("the first message in a folder where nothing was decided", () => {
  test("waits for the user, who lets models read with Enter, from then on and in no file of the workspace", async () => {
    await using server = await ModelServer.start((body) =>
      body.messages.at(-1)?.role === "user" ? { text: "", calls: [CALL] } : "Done.",
    );
    const here = project(server);
    const before = filesOf(here);
    const screen = await openSession(here, PERSON);
    screen.type("one\r");
    await shows(screen, ASKED);
    const asked = server.requests.length;
    screen.type("\r");
    await shows(screen, ANSWERED);
    screen.type("two\r");
    await shows(screen, /two\n(.*\n)*Done\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    const later = await new Screen(here, ["query", "-n", "three"], { variables: PERSON }).end();
    expect({
      asked,
      offered: [offeredIn(server, 0), offeredIn(server, 2), offeredIn(server, 4)],
      result: resultsIn(server)[0],
      isAskedLater: later.bytes.includes(ASKED),
      own: ownConfig(here),
      after: filesOf(here),
    }).toEqual({
      asked: 0,
      offered: [READING, READING, READING],
      result: "hello\n",
      isAskedLater: false,
      own: '[conversation.tools.fs]\nenable = "read"\n',
      after: before,
    });
  });

  test("is sent as it was before if the user presses Esc, and the session does not ask again", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const here = project(server);
    const screen = await openSession(here, PERSON);
    screen.type("one\r");
    await shows(screen, ASKED);
    screen.type(ESC);
    await shows(screen, ANSWERED);
    screen.type("two\r");
    await shows(screen, /two\n(.*\n)*Done\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { bytes } = await screen.end();
    expect([bytes.split(`${ASKED} `).length, offeredIn(server, 1), ownConfig(here)]).toEqual([
      bytes.split(`${ASKED} cancelled`).length,
      [],
      undefined,
    ]);
  });

  test("is back at the prompt after Ctrl-C, and nothing was sent", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const here = project(server);
    const screen = await openSession(here, PERSON);
    screen.type("one\r");
    await shows(screen, ASKED);
    screen.type(CTRL_C);
    await shows(screen, /Nothing was sent\.\n+> one$/m);
    const sent = [server.requests.length, recordsOf(here).length];
    screen.type("\r");
    await shows(screen, new RegExp(`Nothing was sent[^]*${ASKED.replaceAll("?", "\\?")}`));
    screen.type("\r");
    await shows(screen, ANSWERED);
    screen.type(CTRL_D);
    await screen.end();
    expect([sent, offeredIn(server, 0)]).toEqual([[0, 0], READING]);
  });

  test("ends jp query with Ctrl-C, and is in the history if it was typed at the prompt", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const here = project(server);
    const screen = new Screen(here, ["query", "-n"], { variables: PERSON });
    await shows(screen, "Enter send");
    screen.type("one\r");
    await shows(screen, ASKED);
    screen.type(CTRL_C);
    const { status } = await screen.end();
    const history = readFileSync(path.join(here.data, "input-history.jsonl"), "utf8");
    expect([status, history, server.requests.length]).toEqual([130, '"one"\n', 0]);
  });

  test("is at the prompt of the next session if the process is killed while it waits", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const here = project(server);
    const variables = { ...PERSON, JP_SESSION: "s", TERM: "xterm" };
    const screen = new ScreenProcess(here, [], { variables });
    await shows(screen, /^New conversation/m);
    screen.type("one\r");
    await shows(screen, ASKED);
    const drafts = path.join(here.data, "drafts");
    await until(() => isKept(drafts, "one"));
    process.kill(screen.pid, "SIGKILL");
    await screen.end();
    const next = new ScreenProcess(here, [], { variables });
    await shows(next, /Text that was not sent is back[^]*^> one$/m);
    next.type("\r");
    await shows(next, ASKED);
    next.type("\r");
    await shows(next, ANSWERED);
    next.type(CTRL_D);
    expect([(await next.end()).status, offeredIn(server, 0)]).toEqual([0, READING]);
  });

  test("is sent with tools even if the user's own config cannot be changed", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const here = project(server);
    await here.jp("config", "set", "--in", "local", "user.name", "Ada");
    const { userFolder } = here;
    renameSync(path.join(userFolder, "config.toml"), path.join(userFolder, "config.yaml"));
    writeFileSync(path.join(userFolder, "config.yaml"), "user:\n  name: Ada # me\n");
    const screen = new Screen(here, ["query", "Go."], { variables: PERSON });
    await shows(screen, ASKED);
    screen.type("\r");
    const { status, lines } = await screen.end();
    expect([
      status,
      offeredIn(server, 0),
      lines.join(" ").includes("counts for this conversation only"),
    ]).toEqual([0, READING, true]);
  });
});

describe("the first message where there is a sandbox", () => {
  useSandbox();

  test("can let commands run in the sandbox without asking, at once", async () => {
    const calls = [{ name: "shell_run", arguments: { command: "cat a.txt" } }];
    await using server = await ModelServer.start([{ text: "", calls }, "Done."]);
    const here = project(server);
    const screen = new Screen(here, ["query", "Go."], { variables: PERSON });
    await shows(screen, ASKED);
    screen.type(`${DOWN}${DOWN}${DOWN}\r`);
    const { status, lines } = await screen.end();
    expect([
      status,
      resultsIn(server),
      lines.join(" ").includes('conversation.mode to "sandbox"'),
    ]).toEqual([0, [expect.stringContaining("hello")], true]);
  });
});

/** Whether a draft has this text. */
function isKept(folder: string, text: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some(
    (file) =>
      file.name.endsWith(".json") &&
      readFileSync(path.join(file.parentPath, file.name), "utf8").includes(text),
  );
}
