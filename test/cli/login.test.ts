/** `jp mcp login` and `logout`, and `/login` in a session, with a real authorization server. */
import { globSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { browse, startGuardedServer } from "../mcp/guarded-server.ts";
import { ModelServer } from "./model-server.ts";
import { queryProject, recordsOf } from "./query-project.ts";
import { Screen, shows } from "./screen.ts";
import { jsonLines, type Project } from "./support.ts";

const COLUMNS = 2000; // A link stays on one line.
const NOTHING_TRUSTED = { JP_TRUSTED_WORKSPACES: "" };

const UNATTENDED = 'conversation.tools."*".run = "unattended"';

/** Waits for the link, and follows it. Returns the address at which the browser ends. */
async function follow(screen: Screen): Promise<string> {
  await shows(screen, /Or paste the address/);
  const text = screen.lines.join("\n");
  const [link = ""] = /http:\S+\/auth\?\S+/.exec(text) ?? [];
  return browse(link, new URL(link).searchParams.get("redirect_uri") ?? "");
}

/** The files in which any of these texts is. */
function filesWith(
  texts: Iterable<string>,
  { root, data, home, temporary }: Project,
): readonly string[] {
  const all = [root, data, home, temporary].flatMap((folder) =>
    globSync("**/*", { cwd: folder }).map((name) => path.join(folder, name)),
  );
  const files = all.filter((file) => statSync(file).isFile());
  return files.filter((file) => {
    const content = readFileSync(file, "latin1");
    return [...texts].some((text) => content.includes(text));
  });
}

test("a login in a session is one key away from the message that needs it, and no record has its tokens", async () => {
  counters("T-MCP-8");
  const server = await startGuardedServer();
  await using models = await ModelServer.start([
    "Alone.",
    { calls: [{ name: "echo", arguments: { text: "hello" } }] },
    "Done.",
  ]);
  const project = queryProject({ server: models, config: UNATTENDED });
  await project.jp("mcp", "add", "notes", server.url);
  const screen = new Screen(project, [], { columns: COLUMNS, variables: { JP_SESSION: "s" } });
  await shows(screen, /^New conversation/m);
  screen.type("one\r");
  await shows(
    screen,
    /requires a login: run `jp mcp login notes`[^]*Alone\.[^]*Press Enter to log in now\.[^]*> \/login notes/,
  );
  screen.type("\r");
  await fetch(await follow(screen));
  await shows(screen, /You are now logged in: notes/);
  await shows(screen, /It offers \d+ tools[^]*\n> ?$/m);
  screen.type("two\r");
  await shows(screen, /Done\.[^]*\n> ?$/m);
  screen.type("\u0004");
  await screen.end();
  const { tokens } = server;
  expect(tokens.size).toBe(1);
  const [file = "", ...others] = filesWith(tokens, project);
  expect([path.dirname(file), others]).toEqual([path.join(project.data, "mcp-logins"), []]);
  expect(screen.lines.join("\n")).not.toContain([...tokens][0]);
  expect(JSON.stringify(recordsOf(project))).toContain("hello");
});

test("a login ends where the browser ends: its address can be pasted, and another one is refused", async () => {
  const server = await startGuardedServer();
  const project = queryProject({});
  await project.jp("mcp", "add", "notes", server.url);
  expect((await project.jp("mcp", "logout", "notes")).stderr).toContain(
    "You are not logged in to notes.",
  );
  const screen = new Screen(project, ["mcp", "login", "notes"], { columns: COLUMNS });
  const address = await follow(screen);
  screen.type(`${address.replace(/state=[^&]+/, "state=other")}\r`);
  await shows(screen, /That is not the address of this login/);
  screen.type(`${address}\r`);
  const { status } = await screen.end();
  expect([status, screen.lines.join("\n")]).toEqual([
    0,
    expect.stringContaining("You are now logged in: notes"),
  ]);
  const [listed] = jsonLines(await project.jp("mcp", "ls", "--format", "json"));
  expect(listed).toMatchObject({
    name: "notes",
    login: { issuer: server.issuer, isRenewed: true, hasEnded: false },
  });
  const { stdout } = await project.jp("doctor");
  expect(stdout).toContain(`notes: logged in, at ${server.issuer}`);
  const out = await project.jp("mcp", "logout", "notes");
  expect([out.status, out.stderr]).toEqual([
    0,
    "You are logged out of notes. The tokens are deleted.\n",
  ]);
  expect(filesWith(server.tokens, project)).toEqual([]);
  expect((await project.jp("mcp", "logout", "notes")).stderr).toContain(
    "You are not logged in to notes.",
  );
});

test("a server of the workspace sends nothing to its authorization server before you agree", async () => {
  counters("T-MCP-9");
  const server = await startGuardedServer();
  const project = queryProject({ config: `[providers.mcp.notes]\nurl = "${server.url}"` });
  const untrusted = await project.jpWith(NOTHING_TRUSTED, "mcp", "login", "notes");
  expect([untrusted.status, untrusted.stderr]).toEqual([
    1,
    expect.stringContaining("Unknown MCP server"),
  ]);
  const { status, stderr } = await project.jp("mcp", "login", "notes");
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining(`asks you to log in at ${server.issuer}/`),
  ]);
  expect(server.requests).toEqual([]);
});
