import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { calling } from "../cli/calling-model.ts";
import { query, queryProject, recordsOf } from "../cli/query-project.ts";
import { JP, Project } from "../cli/support.ts";
import { counters } from "./threats.ts";

const TRAVERSALS = [
  "../../../out",
  "/tmp/out",
  "..\\..\\out",
  "C:\\out",
  "\\\\server\\share\\out",
  "a/../../../out",
  "%2e%2e%2fout",
  "..",
  ".",
  "~/out",
  "con",
  "\u2025/out",
];

/** The names namesAround a workspace and directly in its folders. */
function namesAround({ root, data }: Project): readonly string[] {
  const parent = path.dirname(root);
  return [
    ...readdirSync(parent),
    ...readdirSync(root),
    ...readdirSync(path.join(root, ".jp")),
    ...readdirSync(data),
  ].toSorted();
}

test("no title stores its conversation outside the conversations folder", async () => {
  counters("T-PATH-3");
  await using server = await calling([]);
  const project = queryProject({ server });
  await query(project, ["--title", "plain", "-n", "one"]);
  const before = namesAround(project);
  for (const title of TRAVERSALS) await query(project, ["--title", title, "-n", "one"]);
  const folders = recordsOf(project).map(({ folder }) => path.basename(folder));
  expect([
    namesAround(project),
    folders.length,
    folders.filter((name) => !/^\d+(?:-[\w-]+)?$/.test(name)),
  ]).toEqual([before, TRAVERSALS.length + 1, []]);
});

test("no target reaches a record outside the workspace", async () => {
  counters("T-PATH-3");
  const project = new Project();
  const outside = path.join(path.dirname(project.root), "out");
  mkdirSync(outside);
  writeFileSync(path.join(outside, "events.json"), "[]");
  writeFileSync(path.join(outside, "metadata.json"), "{}");
  const ends = TRAVERSALS.flatMap((target) =>
    [
      ["conversation", "show"],
      ["conversation", "rm", "--yes"],
      ["conversation", "path"],
    ].map(async (words) => (await project.jp(...words, target)).status === 0),
  );
  expect([(await Promise.all(ends)).filter(Boolean), readdirSync(outside).length]).toEqual([[], 2]);
});

test("no session name leads outside the sessions folder", async () => {
  counters("T-PATH-3");
  const project = new Project();
  const { id } = project.place({ second: 0, config: {} });
  await project.jp("conversation", "use", id);
  const before = namesAround(project);
  for (const name of TRAVERSALS)
    await project.jpWith({ JP_SESSION: name }, "conversation", "use", id);
  const sessions = readdirSync(path.join(project.userFolder, "sessions"));
  expect([
    namesAround(project),
    sessions.every((name) => /^env-JP_SESSION-[0-9a-f]+\.json$/.test(name)),
  ]).toEqual([before, true]);
});

test("a file that is not a config or schema is not shown when one refers to it", async () => {
  counters("T-PATH-5");
  const project = new Project();
  const outside = path.join(project.home, "private");
  writeFileSync(outside, "canary: a line that is not TOML\n");
  writeFileSync(path.join(project.home, "private.toml"), 'canary = "canary-value"\n');
  const texts = [
    `extends = ["${outside}"]`,
    `extends = ["${outside}.toml"]`,
    `extends = ["${project.home}/*.toml"]`,
  ];
  const outputs: string[] = [];
  for (const text of texts) {
    writeFileSync(path.join(project.root, ".jp", "config.toml"), text);
    for (const words of [["config", "show", "--explain"], ["doctor"], ["query", "one"]]) {
      const { stdout, stderr } = await project.jpWith({ JP_DEBUG: "1" }, ...words);
      outputs.push(stdout, stderr);
    }
  }
  const { stderr } = await project.jp("query", "-s", `@${outside}`, "one");
  expect([...outputs, stderr].filter((text) => /a line that|canary-value/.test(text))).toEqual([]);
});

test("commands that read never show the target of a linked record, and still show other records", async () => {
  counters("T-PATH-7");
  const project = new Project();
  const good = project.place({ second: 0, title: "Good", config: {} });
  const linked = ["metadata.json", "events.json"].map((name, index) => {
    const placed = project.place({ second: index + 1, config: {} });
    const outside = path.join(project.home, `private-${index}`);
    writeFileSync(outside, "canary: a private key\n");
    rmSync(path.join(placed.folder, name));
    symlinkSync(outside, path.join(placed.folder, name));
    return placed.id;
  });
  const outputs: string[] = [];
  for (const id of linked) {
    for (const words of [["show"], ["print"], ["edit", "--metadata"], ["edit", "--events"]]) {
      const [command = "", ...rest] = words;
      const variables = { JP_DEBUG: "1", ...project.editor('cat "$1"') };
      const end = await project.jpWith(variables, "conversation", command, ...rest, id);
      outputs.push(end.stdout, end.stderr);
    }
  }
  const listed = await project.jp("conversation", "ls");
  const searched = await project.jp("conversation", "grep", "Good|canary", "--regex");
  const all = [...outputs, listed.stdout, searched.stdout, searched.stderr].join("\n");
  expect([all.includes("a private key"), listed.status, searched.status]).toEqual([false, 0, 0]);
  expect(listed.stdout).toMatch(/metadata\.json: it is a symbolic link, which jp does not follow/);
  expect(searched.stdout).toContain(good.id);
});

test("an empty or relative entry in PATH never runs a program of a clone", async () => {
  counters("T-PROG-1");
  await using server = await calling(["shell"]);
  const project = queryProject({
    server,
    config:
      '[conversation.tools.shell]\nsource = "local"\nrun = "unattended"\n' +
      'command = { program = "echo done", shell = true }\n',
  });
  const ran = path.join(project.home, "ran");
  for (const name of ["sh", "stty", "my-editor", "grep", "tr"]) {
    const file = path.join(project.root, name);
    writeFileSync(file, `#!/bin/sh\necho ${name} >> ${ran}\n`);
    chmodSync(file, 0o755);
  }
  const variables = { PATH: `:.:${process.env["PATH"] ?? ""}`, EDITOR: "my-editor" };
  await query(project, ["Go."], { variables });
  await project.jpWith(variables, "conversation", "edit", "--metadata");
  expect([existsSync(ran), server.requests.length]).toEqual([false, 2]);
});

test("a folder of the workspace in PATH provides no program that jp starts for itself", async () => {
  counters("T-PROG-8");
  await using server = await calling(["shell"]);
  const project = queryProject({
    server,
    config:
      '[conversation.tools.shell]\nsource = "local"\nrun = "unattended"\n' +
      'command = { program = "echo done", shell = true }\n',
  });
  execFileSync("git", ["init", "-q"], { cwd: project.root });
  const ran = path.join(project.home, "ran");
  const bin = path.join(project.root, ".venv", "bin");
  mkdirSync(bin, { recursive: true });
  for (const name of [
    "git",
    "ssh",
    "sh",
    "bash",
    "ps",
    "stty",
    "rg",
    "bwrap",
    "grep",
    "tr",
    "rmdir",
  ]) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\necho ${name} >> ${ran}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  const variables = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, EDITOR: "true" };
  await query(project, ["Go."], { variables });
  await project.jpWith(variables, "conversation", "edit", "--metadata");
  expect([existsSync(ran), server.requests.length]).toEqual([false, 2]);
});

/** What a command with these variables leaves in the home and the project. */
function filesAfter(variables: (home: string) => Readonly<Record<string, string>>) {
  const project = new Project();
  const all = { ...project.variables, ...variables(project.home) };
  const { NODE_COMPILE_CACHE: _ours, ...env } = all;
  spawnSync(process.execPath, [JP, "conversation", "ls"], { cwd: project.root, env });
  return { home: readdirSync(project.home), project: readdirSync(project.root) };
}

describe("compiled code", () => {
  test("is kept in the user's own cache folder", () => {
    counters("T-PROG-2");
    expect(filesAfter(() => ({}))).toEqual({ home: [".cache"], project: [".jp"] });
  });

  test("is kept where no one else can write, whatever an earlier version has left", () => {
    counters("T-USER-1");
    const folders: string[] = [];
    filesAfter((home) => {
      folders.push(...["jp-ts", "jp-ts/node"].map((name) => path.join(home, ".cache", name)));
      for (const folder of folders) mkdirSync(folder, { recursive: true });
      for (const folder of folders) chmodSync(folder, 0o777);
      return {};
    });
    const modes = folders.map((folder) => statSync(folder).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700]);
  });

  test("is not kept below a relative home, or one that does not exist", () => {
    counters("T-PROG-2");
    const nothing = { home: [], project: [".jp"] };
    expect(filesAfter(() => ({ HOME: "." }))).toEqual(nothing);
    expect(filesAfter((home) => ({ HOME: path.join(home, "none") }))).toEqual(nothing);
  });

  test.runIf(process.getuid?.() === 0)("is not kept in the home of another user", () => {
    counters("T-PROG-2");
    const found = filesAfter((home) => {
      chownSync(home, 65_534, 65_534);
      return {};
    });
    expect(found).toEqual({ home: [], project: [".jp"] });
  });
});
