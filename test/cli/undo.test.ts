import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf, without } from "./query-project.ts";
import { lines, type Project } from "./support.ts";

const YES = "answer = true";
const CONFIG = `
[conversation.tools.fs_create_file]
enable = true
questions.create_file.${YES}
questions.overwrite_file.${YES}
[conversation.tools.fs_delete_file]
enable = true
questions.delete_file.${YES}
`;

type Call = readonly [name: string, args: JsonObject];

const write = (name: string, content: string): Call => ["fs_create_file", { path: name, content }];
const remove = (name: string): Call => ["fs_delete_file", { path: name }];

/** A workspace in which each message makes the model do the next of these calls. */
async function start(turns: readonly (readonly Call[])[], config = "") {
  let turn = 0;
  const server = await ModelServer.start(({ messages }) => {
    if (messages.at(-1)?.role === "tool") return "Done.";
    const calls = turns[turn] ?? [];
    turn += 1;
    if (calls.length === 0) return "Fine.";
    return { text: "", calls: calls.map(([name, args]) => ({ name, arguments: args })) };
  });
  const files = { "a.txt": "one\ntwo\n", "gone.txt": "gone\n" };
  const project = queryProject({ server, config: `${CONFIG}${config}`, files });
  return { project, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function contentsOf(project: Project): Readonly<Record<string, string>> {
  const names = readdirSync(project.root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(".jp"))
    .map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    names.map((file) => [path.relative(project.root, file), readFileSync(file, "utf8")]),
  );
}

/** What each message of the last request says, without the system prompt. */
function seen({ requests }: ModelServer): readonly unknown[] {
  const messages = requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === "user").map(({ content }) => content);
}

const run = (command: string): Call => ["shell_run", { command }];

const BEFORE = { "a.txt": "one\ntwo\n", "gone.txt": "gone\n" };

describe("jp undo", () => {
  test("shows what it restores, and restores what the last turn has changed", async () => {
    await using parts = await start([
      [write("a.txt", "one\n2\n"), write("new/deep/b.txt", "b\n"), remove("gone.txt")],
    ]);
    const { project } = parts;
    chmodSync(path.join(project.root, "a.txt"), 0o755);
    await query(project, ["Change it."]);
    expect(contentsOf(project)).toEqual({ "a.txt": "one\n2\n", "new/deep/b.txt": "b\n" });
    const { stdout, stderr, status } = await project.jp("undo", "--yes");
    expect({ stdout, stderr, status }).toEqual({
      status: 0,
      stdout: lines(
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-2",
        "+two",
        "--- /dev/null",
        "+++ b/gone.txt",
        "@@ -0,0 +1 @@",
        "+gone",
        "--- a/new/deep/b.txt",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-b",
      ),
      stderr: lines(
        "Turn 1: Change it.",
        "Restored 3 files.",
        "The model is told with your next message.",
      ),
    });
    expect(contentsOf(project)).toEqual(BEFORE);
    expect(existsSync(path.join(project.root, "new"))).toBe(false);
    expect(statSync(path.join(project.root, "a.txt")).mode & 0o777).toBe(0o755);
  });

  test("is recorded, and the model is told with the next message only", async () => {
    await using parts = await start([[write("a.txt", "2\n"), write("b.txt", "b\n")]]);
    const { project, server } = parts;
    await query(project, ["Change it."]);
    await project.jp("undo", "--yes");
    expect(entriesOf(recordOf(project), "turn_undo").map((one) => without(one, "turn"))).toEqual([
      {
        type: "turn_undo",
        files: [
          { path: "a.txt", change: "restored" },
          { path: "b.txt", change: "removed" },
        ],
      },
    ]);
    await query(project, ["And now?"]);
    await query(project, ["And then?"]);
    expect(seen(server)).toEqual([
      "Change it.",
      lines(
        "[The user has undone changes to files that you made in earlier turns:",
        '- "a.txt": as it was before',
        '- "b.txt": removed, because it did not exist before',
        "The files are as they were before those turns. Read them again before you change them.]",
        "",
        "And now?",
      ).trimEnd(),
      "And then?",
    ]);
    expect(await project.jp("conversation", "verify")).toMatchObject({ status: 0 });
  });

  test("goes back turn by turn", async () => {
    await using parts = await start([[write("a.txt", "1\n")], [], [write("a.txt", "3\n")]]);
    const { project } = parts;
    for (const word of ["One.", "Two.", "Three."]) await query(project, [word]);
    const contents = [];
    for (let time = 0; time < 2; time += 1) {
      await project.jp("undo", "--yes");
      contents.push(contentsOf(project)["a.txt"]);
    }
    const { status, stderr } = await project.jp("undo", "--yes");
    expect({ contents, status, stderr }).toEqual({
      contents: ["1\n", "one\ntwo\n"],
      status: 1,
      stderr: lines(
        "jp: Nothing to undo: jp has kept no changes of this conversation.",
        "jp keeps what its own tools change, unless undo.keep is false in your config.",
      ),
    });
  });

  test("refuses if someone has changed a file since, unless it is forced", async () => {
    counters("T-UNDO-1");
    await using parts = await start([[write("a.txt", "1\n"), write("b.txt", "b\n")]]);
    const { project } = parts;
    await query(project, ["Change it."]);
    writeFileSync(path.join(project.root, "a.txt"), "mine\n");
    const refused = await project.jp("undo", "--yes");
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("jp: 1 file has changed since:\n  a.txt\n");
    expect(contentsOf(project)).toEqual({ ...BEFORE, "a.txt": "mine\n", "b.txt": "b\n" });
    await project.jp("undo", "--yes", "--force");
    expect(contentsOf(project)).toEqual(BEFORE);
    expect(entriesOf(recordOf(project), "turn_undo")).toMatchObject([{ forced: true }]);
  });

  test("asks first, and says what to do where it cannot", async () => {
    await using parts = await start([[write("a.txt", "1\n")]]);
    const { project } = parts;
    await query(project, ["Change it."]);
    const { status, stderr } = await project.jp("undo");
    expect([status, contentsOf(project)["a.txt"]]).toEqual([2, "1\n"]);
    expect(stderr).toContain("Use --yes to undo without confirmation.");
  });

  test("goes back in the conversation too, with --with-message", async () => {
    await using parts = await start([[write("a.txt", "1\n")], [write("a.txt", "2\n")]]);
    const { project, server } = parts;
    await query(project, ["One."]);
    await query(project, ["Two."]);
    await project.jp("undo", "--yes", "--with-message");
    await query(project, ["Three."]);
    expect([contentsOf(project)["a.txt"], seen(server)]).toEqual(["1\n", ["One.", "Three."]]);
    await project.jp("undo", "--yes", "--with-message");
    await project.jp("undo", "--yes", "--with-message");
    await query(project, ["Four."]);
    expect([contentsOf(project)["a.txt"], seen(server)]).toEqual(["one\ntwo\n", ["Four."]]);
    expect(await project.jp("conversation", "verify")).toMatchObject({ status: 0 });
  });

  test("has nothing to restore if undo.keep is false, and nothing is kept", async () => {
    await using parts = await start([[write("a.txt", "1\n")]], "[undo]\nkeep = false\n");
    const { project } = parts;
    await query(project, ["Change it."], { variables: { JP_TRUSTED_WORKSPACES: project.root } });
    const undone = await project.jp("undo", "--yes");
    const kept = existsSync(path.join(project.userFolder, "undo"));
    expect([undone.status, kept, contentsOf(project)["a.txt"]]).toEqual([1, false, "1\n"]);
  });

  test("keeps contents where only the user can read them, outside of the workspace", async () => {
    counters("T-UNDO-4");
    await using parts = await start([[write("a.txt", "1\n")]]);
    const { project } = parts;
    await query(project, ["Change it."]);
    const kept = path.join(project.userFolder, "undo");
    const entries = readdirSync(kept, { recursive: true, withFileTypes: true });
    const modes = entries.map((entry) => {
      const { mode } = statSync(path.join(entry.parentPath, entry.name));
      return `${entry.isDirectory() ? "folder" : "file"} ${(mode & 0o777).toString(8)}`;
    });
    expect(new Set(modes)).toEqual(new Set(["folder 700", "file 600"]));
  });
});

describe("jp undo of commands", () => {
  const shell = '[conversation.tools.shell_run]\nenable = true\nrun = "unattended"\n';

  async function startInGit(...commands: readonly string[]) {
    const parts = await start(
      commands.map((command) => [run(command)]),
      shell,
    );
    const { root } = parts.project;
    const prepare = (line: string) => execFileSync("sh", ["-c", line], { cwd: root });
    prepare("git init -q; echo .jp/ > .git/info/exclude; git add -A");
    return { ...parts, prepare, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() };
  }

  test("names a nested repository that is gone, instead of having nothing to undo", async () => {
    counters("T-UNDO-10");
    await using parts = await startInGit("rm -rf sub");
    parts.prepare("git init -q sub; echo x > sub/file");
    await query(parts.project, ["Go."], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    const { stderr } = await parts.project.jp("undo", "--yes");
    expect(stderr).toContain("Not kept, so it cannot be restored: sub\n");
    expect(stderr).not.toContain("Nothing to undo");
  });

  test("says what is not kept if no file has changed that is", async () => {
    counters("T-UNDO-10");
    await using parts = await startInGit("echo more >> sub/file");
    parts.prepare("git init -q sub; echo x > sub/file");
    await query(parts.project, ["Go."], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    expect(await parts.project.jp("undo", "--yes")).toMatchObject({
      status: 1,
      stderr: lines(
        "jp: No file that jp keeps has changed, so there is nothing to restore.",
        "Files that Git ignores, submodules and nested repositories are not kept. Changes that commands made there stay.",
      ),
    });
  });

  test("says that a folder has become a link, even if it is forced", async () => {
    counters("T-UNDO-2");
    await using parts = await startInGit("echo changed > src/a");
    parts.prepare("mkdir src; echo one > src/a");
    await query(parts.project, ["Go."], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    parts.prepare("mv src elsewhere; ln -s elsewhere src");
    const { status, stderr } = await parts.project.jp("undo", "--yes", "--force");
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining("jp: src was a folder and is a link now"),
    ]);
  });

  test("shows names that are not UTF-8 escaped, and records them so", async () => {
    counters("T-UNDO-9");
    await using parts = await startInGit("printf 'two\\n' > \"$(printf 'f\\351')\"");
    parts.prepare("printf 'one\\n' > \"$(printf 'f\\351')\"");
    await query(parts.project, ["Go."], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    const { stdout } = await parts.project.jp("undo", "--yes");
    expect(stdout).toContain(String.raw`"f\xe9"`);
    expect(entriesOf(recordOf(parts.project), "turn_undo")).toMatchObject([
      { files: [{ path: String.raw`"f\xe9"`, change: "restored" }] },
    ]);
  });

  test("names a damaged journal, instead of having nothing to undo", async () => {
    counters("T-UNDO-11");
    await using parts = await startInGit("rm a.txt");
    await query(parts.project, ["Go."], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    const kept = path.join(parts.project.userFolder, "undo");
    const names = readdirSync(kept, { recursive: true, encoding: "utf8" });
    truncateSync(path.join(kept, names.find((name) => name.endsWith(".jsonl")) ?? ""));
    const { stderr } = await parts.project.jp("undo", "--yes");
    expect(stderr).toContain("jp: The journal of a turn is damaged:");
  });

  test("names a damaged index of Git, and restores what it listed before", async () => {
    counters("T-UNDO-11");
    await using parts = await start(
      [[["shell_run", { command: ": > .git/index; rm a.txt", git: true }]]],
      shell,
    );
    execFileSync("sh", ["-c", "git init -q; echo .jp/ > .git/info/exclude; git add -A"], {
      cwd: parts.project.root,
    });
    const rules = [{ arg: "/git", const: true, mode: "unattended" }];
    const allowing = `conversation.tools.shell_run.policy.run:=${JSON.stringify(rules)}`;
    await query(parts.project, ["Go.", "-c", allowing], {
      variables: { JP_TRUSTED_WORKSPACES: parts.project.root },
    });
    const { stderr } = await parts.project.jp("undo", "--yes");
    expect(stderr).toContain("Commands of this turn cannot be undone: Git's index is damaged.");
    expect(contentsOf(parts.project)["a.txt"]).toBe("one\ntwo\n");
  });
});

test("jp diff shows what a conversation has changed since it began", async () => {
  await using parts = await start([
    [write("a.txt", "1\n"), write("b.txt", "b\n")],
    [write("a.txt", "one\n2\n"), remove("b.txt")],
  ]);
  const { project } = parts;
  const nothing = await project.jp("diff");
  await query(project, ["One."]);
  await query(project, ["Two."]);
  const { stdout } = await project.jp("diff");
  expect([nothing.status, stdout]).toEqual([
    1,
    lines("--- a/a.txt", "+++ b/a.txt", "@@ -1,2 +1,2 @@", " one", "-two", "+2"),
  ]);
});

test("jp diff --stat counts the changed lines of each file, and of all", async () => {
  await using parts = await start([
    [write("a.txt", "1\n"), write("b.txt", "b\nb\n"), write("empty.txt", "")],
    [write("a.txt", "one\n2\n-3\n")],
  ]);
  const { project } = parts;
  await query(project, ["One."]);
  await query(project, ["Two."]);
  const { stdout } = await project.jp("diff", "--stat");
  expect(stdout.split("\n").map((line) => line.trimEnd())).toEqual([
    "FILE       ADDED  REMOVED",
    "a.txt         +2       -1",
    "b.txt         +2",
    "empty.txt                  new, empty",
    "3 files       +4       -1",
    "",
  ]);
});
