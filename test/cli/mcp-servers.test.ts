import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, inject, test } from "vitest";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import { jsonLines, Project } from "./support.ts";

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
      type: "stdio",
      target: "my-server --read-only 'a b'",
      tools: "all",
      trusted: true,
      from: file,
    },
    {
      name: "web",
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
    stderr: "jp: The address of a server starts with http:// or https://.\n",
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
  const offered = toolsOf(server).map((tool) => tool.function.name);
  expect(offered.filter((name) => name === "echo")).toHaveLength(1);
  expect(offered.length).toBeGreaterThan(4);
});

function toolsOf({
  requests,
}: ModelServer): readonly { readonly function: { readonly name: string } }[] {
  const [first] = requests;
  return first?.["tools"] as { readonly function: { readonly name: string } }[]; // Of the API.
}
