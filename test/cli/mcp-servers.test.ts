import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, inject, test } from "vitest";
import { counters } from "../security/threats.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject, recordsOf } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { jsonLines, printed, Project } from "./support.ts";

const SERVER = [process.execPath, path.join(inject("programs"), "server.mjs")];
const NOTHING_TRUSTED = { JP_TRUSTED_WORKSPACES: "" };

function fileOf(project: Project): string {
  return readFileSync(path.join(project.root, ".jp", "config.toml"), "utf8");
}

test("add writes a command or an address, and keeps what else is in the file", async () => {
  const project = new Project();
  const file = path.join(project.root, ".jp", "config.toml");
  writeFileSync(file, '# Mine\nuser.name = "Ada" # me\n');
  const add = ["mcp", "add", "--in", "workspace"];
  await project.jp(...add, "--env", "TOKEN", "files", "my-server", "--", "--read-only", "a b");
  await project.jp(
    ...add,
    "--no-tools",
    "--header",
    "Authorization: Bearer $T",
    "web",
    "https://x.test/mcp",
  );
  const text = fileOf(project);
  expect(text.startsWith('# Mine\nuser.name = "Ada" # me\n')).toBe(true);
  expect(jsonLines(await project.jp("mcp", "ls", "--format", "json"))).toEqual([
    {
      name: "files",
      needs: ["$TOKEN"],
      type: "stdio",
      target: "my-server --read-only 'a b'",
      tools: "all",
      trusted: true,
      from: file,
    },
    {
      name: "web",
      needs: ["$T"],
      type: "http",
      target: "https://x.test/mcp",
      tools: "configured",
      trusted: true,
      from: file,
    },
  ]);
  expect(text).toContain('[providers.mcp.files]\ncommand = "my-server"\n');
});

test("what you add to the workspace yourself is trusted, and what someone else adds is not", async () => {
  const project = new Project();
  await project.jpWith(NOTHING_TRUSTED, "mcp", "add", "--in", "workspace", "mine", "my-server");
  const file = path.join(project.root, ".jp", "config.toml");
  writeFileSync(file, `${fileOf(project)}\n[providers.mcp.theirs]\ncommand = "evil"\n`);
  const listed = jsonLines(await project.jpWith(NOTHING_TRUSTED, "mcp", "ls", "--format", "json"));
  expect(listed).toMatchObject([
    { name: "mine", trusted: true },
    { name: "theirs", trusted: false },
  ]);
});

test("adding a server to a workspace does not trust what another file makes of it", async () => {
  const project = new Project();
  counters("T-WORK-18");
  const other = '[providers.mcp.files]\ncommand = "evil"\n';
  writeFileSync(path.join(project.root, ".jp.toml"), other);
  const add = ["mcp", "add", "--in", "workspace", "files", "my-server"];
  const { stderr } = await project.jpWith(NOTHING_TRUSTED, ...add);
  const listed = jsonLines(await project.jpWith(NOTHING_TRUSTED, "mcp", "ls", "--format", "json"));
  expect(listed).toMatchObject([{ name: "files", target: "evil", trusted: false }]);
  expect(stderr).toContain("not trusted");
});

test("rm removes the server, and the table if nothing else is in it", async () => {
  const project = new Project();
  const file = path.join(project.root, ".jp", "config.toml");
  writeFileSync(file, '# Mine\nuser.name = "Ada" # me\n');
  await project.jp("mcp", "add", "--in", "workspace", "files", "my-server");
  expect(await project.jp("mcp", "rm", "files")).toMatchObject({ status: 0 });
  expect(fileOf(project).trimEnd()).toBe('# Mine\nuser.name = "Ada" # me');
  expect(await project.jp("mcp", "rm", "files")).toMatchObject({ status: 1 });
});

test("a name that is taken is not replaced without --force, and mistakes are explained", async () => {
  const project = new Project();
  const add = ["mcp", "add", "--in", "workspace", "files"];
  await project.jp(...add, "one");
  expect(await project.jp(...add, "two")).toMatchObject({ status: 1 });
  await project.jp(...add, "--force", "two");
  expect(jsonLines(await project.jp("mcp", "ls", "--format", "json"))).toMatchObject([
    { target: "two" },
  ]);
  expect(await project.jp("mcp", "add", "a.b", "x")).toMatchObject({ status: 2 });
  expect(await project.jp("mcp", "add", "a", "ftp://example.com")).toMatchObject({
    status: 2,
    stderr: "jp: A server's URL starts with http:// or https://.\n",
  });
  expect(await project.jp("mcp", "add", "a", "x", "--header", "A: b")).toMatchObject({ status: 2 });
});

test("tools starts the server and lists its tools", async () => {
  const project = new Project();
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const listed = jsonLines(await project.jp("mcp", "tools", "test", "--format", "json"));
  expect(listed).toContainEqual({ server: "test", name: "echo", description: expect.any(String) });
  expect(await project.jp("mcp", "tools", "tset")).toMatchObject({ status: 1 });
});

test("tools says which tools are unavailable because two servers name them alike", async () => {
  const project = new Project();
  await project.jp("mcp", "add", "--in", "workspace", "one", ...SERVER);
  await project.jp("mcp", "add", "--in", "workspace", "two", ...SERVER);
  const listed = await project.jp("mcp", "tools", "--format", "json");
  const message =
    'Two tools are named echo: one of the MCP server "one", and one of the MCP server "two".';
  const echoes = jsonLines(listed).filter((tool) => (tool as { name: string }).name === "echo");
  expect(echoes).toMatchObject([
    { server: "one", unavailable: message },
    { server: "two", unavailable: message },
  ]);
  expect(listed.stderr.replaceAll(/\s+/g, " ")).toContain(`${message} Neither is available.`);
  expect((await project.jp("mcp", "tools", "one")).stderr).not.toContain("Two tools");
});

test("a model is offered all tools of a server that was added, and can call them", async () => {
  await using server = await ModelServer.start([
    { calls: [{ name: "echo", arguments: { text: "hi" } }] },
    "Done.",
  ]);
  const project = queryProject({ server });
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  await project.jp(
    "config",
    "set",
    "--json",
    "conversation.tools.echo",
    '{"source":"mcp.test.echo","run":"unattended"}',
  );
  const { stdout } = await query(project, ["Go"]);
  expect(stdout).toBe("Done.\n");
  const [offered = []] = toolsOf(server);
  expect(offered.filter((name) => name === "echo")).toHaveLength(1);
  expect(offered.length).toBeGreaterThan(4);
});

test("tool show and tool run take the name of a tool that only the server knows", async () => {
  const project = new Project();
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const { stdout } = await project.jp("tool", "show", "echo");
  expect(stdout).toContain("mcp.test.echo\n");
  expect(await project.jp("tool", "run", "echo", "-a", "text=hi")).toEqual(printed("hi\n"));
  expect(await project.jp("tool", "run", "ecoh")).toMatchObject({
    status: 1,
    stderr: "jp: Unknown tool: ecoh\nDid you mean echo?\n",
  });
});

test("settings for all tools hold for those that only the server knows", async () => {
  await using server = await ModelServer.start([
    { calls: [{ name: "echo", arguments: { text: "hi" } }] },
    "Done.",
    { calls: [{ name: "echo", arguments: { text: "hi" } }] },
    "Done.",
  ]);
  const config = '[conversation.tools."*"]\nrun = "unattended"\n';
  const project = queryProject({ server, config });
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const shown = await query(project, ["Go"]);
  const hidden = await query(project, ["Go", "-c", 'conversation.tools."*".style.hidden=true']);
  expect([shown.stderr, hidden.stderr]).toEqual([
    expect.stringMatching(/^✓ echo.*\n  │ hi\n$/),
    "",
  ]);
});

describe("-t and -T", () => {
  test("name tools that only the server knows, and the conversation remembers them", async () => {
    await using server = await ModelServer.start(() => "Done.");
    const project = queryProject({ server });
    await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
    for (const flags of [["-T", "echo"], [], ["-t", "echo"], ["-T"], ["-T", "-t", "echo"]])
      await query(project, ["Go", ...flags]);
    const offered = toolsOf(server);
    const hasEcho = offered.map((names) => names.includes("echo"));
    expect(hasEcho).toEqual([false, false, true, false, true]);
    expect(offered[0]?.length).toBeGreaterThan(4);
    const builtin = ["ask_user", "tell_user", "describe_tools"]; // Only by name.
    expect(offered.slice(3)).toEqual([builtin, [...builtin, "echo"]]);
  });

  test("fail with a name that no server offers, and nothing is recorded", async () => {
    await using server = await ModelServer.start([]);
    const project = queryProject({ server });
    await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
    const { status, stderr } = await query(project, ["Go", "-T", "ecoh"]);
    expect([status, stderr, recordsOf(project)]).toEqual([
      1,
      "jp: Unknown tool or group: ecoh\nDid you mean echo?\n",
      [],
    ]);
  });
});

test("a name that no server offers fails only one message of a session", async () => {
  await using server = await ModelServer.start(["Here."]);
  const project = queryProject({ server });
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const screen = new Screen(project, []);
  const shows = (text: string) => screen.untilShown((lines) => lines.join("\n").includes(text));
  await shows("New conversation");
  screen.type("/tools off ecoh\r");
  await shows("ecoh is off, starting with your next message.");
  screen.type("Go\r");
  await shows("Unknown tool or group: ecoh\nDid you mean echo?");
  await shows("> Go");
  screen.type("\r");
  await shows("Here.");
  screen.type("\u0004");
  expect((await screen.end()).status).toBe(0);
});

test("the result of such a tool is shown, and the model can read its description", async () => {
  await using server = await ModelServer.start([
    { calls: [{ name: "echo", arguments: { text: "hi" } }] },
    { calls: [{ name: "describe_tools", arguments: { tools: ["echo"] } }] },
    "Done.",
  ]);
  const project = queryProject({ server, config: "conversation.tools.'*'.run = 'unattended'" });
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const { stderr } = await query(project, ["Go"]);
  expect(stderr).toMatch(/echo\(text: "hi"\).*\n {2}│ hi\n/);
  expect(server.lastMessages.at(-1)).toContain("## echo");
});

test("jp tool ls says whose tools it does not list", async () => {
  const project = new Project();
  await project.jp("mcp", "add", "--in", "workspace", "test", ...SERVER);
  const { stderr } = await project.jp("tool", "ls");
  expect(stderr).toBe("All tools of test are on too. To list them: jp mcp tools\n");
});

test("a call of a tool of such a server can be verified without the server", async () => {
  await using server = await ModelServer.start([
    { calls: [{ name: "echo", arguments: { text: "hi" } }] },
    "Done.",
  ]);
  const project = queryProject({ server, config: "conversation.tools.'*'.run = 'unattended'" });
  await project.jp("mcp", "add", "demo", ...SERVER);
  await query(project, ["Go"]);
  expect(await project.jp("conversation", "verify")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("1 turn, all as recorded."),
  });
});

/** The names of the tools in each request. */
function toolsOf({ requests }: ModelServer): readonly (readonly string[])[] {
  return requests.map(({ tools = [] }) => {
    const all = tools as { readonly function: { readonly name: string } }[]; // Of the API.
    return all.map((tool) => tool.function.name);
  });
}

describe("a server that does not start", () => {
  const BROKEN = `
[providers.mcp.broken]
command = "no-such-program"
all_tools = true

[conversation.tools.lookup]
source = "mcp.broken.lookup"

[conversation.tools.find]
source = "mcp.broken.find"
`;
  const GOOD = `
[providers.mcp.good]
command = ${JSON.stringify(SERVER[0])}
arguments = ${JSON.stringify(SERVER.slice(1))}

[conversation.tools.echo]
source = "mcp.good.echo"
run = "unattended"
`;
  const WARNING =
    'warning: The MCP server "broken" did not start: program "no-such-program" not found.\n';

  test("is named once, and the tools of others work", async () => {
    await using server = await ModelServer.start([
      { calls: [{ name: "echo", arguments: { text: "moon" } }] },
      "Done.",
    ]);
    const project = queryProject({ server, config: BROKEN + GOOD });
    const { status, stderr } = await query(project, ["x"]);
    const [record] = recordsOf(project);
    expect({
      status,
      warnings: stderr.split("\n").filter((line) => line.startsWith("warning: ")),
      results: record?.entries.flatMap(({ type, content }) =>
        type === "tool_call_response" ? [content] : [],
      ),
    }).toEqual({ status: 0, warnings: [WARNING.trimEnd()], results: ["moon"] });
  });

  test.each(["lookup", "another"])(
    "is named in the result of a call of one of its tools: %s",
    async (name) => {
      await using server = await ModelServer.start([{ calls: [{ name }] }, "Done."]);
      const project = queryProject({ server, config: BROKEN });
      const { status } = await query(project, ["x"]);
      const [record] = recordsOf(project);
      const result = record?.entries.find(({ type }) => type === "tool_call_response");
      expect({ status, result: result?.["content"] }).toEqual({
        status: 0,
        result: expect.stringContaining('The MCP server "broken" did not start') as string,
      });
    },
  );
});

test("a message that fails before the model is asked leaves no incomplete turn", async () => {
  await using server = await ModelServer.start(["Done."]);
  const project = queryProject({
    server,
    config: '[conversation.tools.lookup]\nsource = "mcp.missing.lookup"\n',
  });
  const failed = await query(project, ["x"]);
  const pending = await project.jp("inquiry", "ls", "--pending");
  writeFileSync(path.join(project.root, ".jp", "config.toml"), server.config);
  const next = await query(project, ["y", "--cfg", "conversation.tools.lookup.enable=false"]);
  expect({
    failed: failed.status,
    pending: [pending.status, pending.stderr],
    ends: recordsOf(project)[0]?.entries.filter(({ type }) => type === "turn_end"),
    next: next.status,
  }).toEqual({
    failed: 1,
    pending: [0, "Nothing is waiting.\n"],
    ends: [{ type: "turn_end", reason: "discarded" }],
    next: 0,
  });
});
