import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../../test/security/threats.ts";
import type { CommandConfig } from "../../../settings/config/index.ts";
import { temporaryFolder } from "../../../stores/temporary-workspace.fixture.ts";
import type { ToolSource } from "../../../record/tool/index.ts";
import { sha256 } from "../../../util/index.ts";
import { changedParts } from "../changed-parts.fixture.ts";
import { describeLocalSource } from "./local-source.ts";

interface Scene {
  /** Without links. */
  readonly root: string;
  /** A folder of programs, the first in `PATH`. */
  readonly bin: string;
  readonly write: (name: string, content: string) => string;
  readonly source: (command: Command, subjectIgnore?: readonly string[]) => Promise<ToolSource>;
  /** The same for other machines. */
  readonly shared: Scene["source"];
}

type Command = readonly string[] | CommandConfig;

function scene(): Scene {
  const root = realpathSync(temporaryFolder());
  const bin = realpathSync(temporaryFolder());
  const variables = { PATH: [bin, process.env["PATH"]].join(path.delimiter), HOME: root };
  const place = { workspaceRoot: root, variables };
  return {
    root,
    bin,
    write: (name, content) => {
      const file = path.resolve(root, name);
      writeFileSync(file, content);
      chmodSync(file, 0o755);
      return file;
    },
    source: (command, subjectIgnore = []) =>
      describeLocalSource({ command: toCommand(command), subjectIgnore }, place),
    shared: (command, subjectIgnore = []) =>
      describeLocalSource({ command: toCommand(command), subjectIgnore }, place, {
        isShared: true,
      }),
  };
}

function toCommand(command: Command): CommandConfig {
  if ("program" in command) return command;
  const [program = "", ...args] = command;
  return { program, args, shell: false };
}

const shell = (program: string, ...args: string[]): CommandConfig => ({
  program,
  args,
  shell: true,
});

test("a local tool is described by its command, its program, and the files that its words name", async () => {
  const { root, write, source } = scene();
  const program = write("run.sh", "exit\n");
  write("rules.json", "{}");
  expect(await source(["./run.sh", "rules.json", "two words", "{{tool.arguments.a}}"])).toEqual({
    origin: {
      type: "local",
      command: "./run.sh rules.json 'two words' '{{tool.arguments.a}}'",
    },
    identity: {
      program: "./run.sh",
      args: ["rules.json", "two words", "{{tool.arguments.a}}"],
      shell: false,
    },
    program: { path: program, sha256: sha256("exit\n") },
    file: [{ path: path.join(root, "rules.json"), sha256: sha256("{}") }],
    folder: ".",
  });
});

test("a tool without a command is described as such", async () => {
  expect(await describeLocalSource({}, { workspaceRoot: "/", variables: {} })).toEqual({
    origin: { type: "local", command: "" },
    folder: ".",
  });
});

describe("the source of a local tool", () => {
  test("stays the same while nothing changes", async () => {
    const { write, source } = scene();
    write("deploy.sh", "echo one\n");
    const command = ["sh", "deploy.sh"];
    expect(changedParts(await source(command), await source(command))).toEqual([]);
  });

  test("is another one if its script has other content, even of the same length and time", async () => {
    counters("T-PROG-3");
    const { write, source } = scene();
    const file = write("deploy.sh", "echo one\n");
    utimesSync(file, 1, 1);
    const before = await source(["sh", "deploy.sh"]);
    write("deploy.sh", "echo two\n");
    utimesSync(file, 1, 1);
    expect(changedParts(before, await source(["sh", "deploy.sh"]))).toEqual(["file"]);
  });

  test("is another one if a file that it names as data has other content, or is gone", async () => {
    counters("T-PROG-3");
    const { write, source } = scene();
    const file = write("rules.json", "{}");
    const command = ["cat", "rules.json"];
    const before = await source(command);
    write("rules.json", "[]");
    const changed = await source(command);
    rmSync(file);
    const gone = await source(command);
    expect([changedParts(before, changed), changedParts(before, gone)]).toEqual([
      ["file"],
      ["file"],
    ]);
  });

  test("is another one if PATH leads to another program", async () => {
    counters("T-PROG-3");
    const { bin, write, source } = scene();
    const before = await source(["cat", "x"]);
    const other = write(path.join(bin, "cat"), "exit\n");
    const after = await source(["cat", "x"]);
    expect([changedParts(before, after), after.program]).toEqual([
      ["program"],
      { path: other, sha256: sha256("exit\n") },
    ]);
  });

  test("is another one if its program has other content", async () => {
    counters("T-PROG-3");
    const { write, source } = scene();
    write("run.sh", "#!/bin/sh\n");
    const before = await source(["./run.sh"]);
    write("run.sh", "#!/bin/bash\n");
    expect(changedParts(before, await source(["./run.sh"]))).toEqual(["program"]);
  });

  test("is another one if its script was swapped for a link to a file with the same content", async () => {
    counters("T-PROG-3");
    const { root, write, source } = scene();
    const file = write("deploy.sh", "echo\n");
    const elsewhere = write("elsewhere.sh", "echo\n");
    const before = await source(["sh", "deploy.sh"]);
    rmSync(file);
    symlinkSync("elsewhere.sh", path.join(root, "deploy.sh"));
    const after = await source(["sh", "deploy.sh"]);
    expect([changedParts(before, after), after.file]).toEqual([
      ["file"],
      [{ path: elsewhere, sha256: sha256("echo\n") }],
    ]);
  });

  test("is another one if its command has other arguments, or runs in a shell", async () => {
    const { source } = scene();
    const before = await source(["cat", "a"]);
    expect([
      changedParts(before, await source(["cat", "b"])),
      changedParts(before, await source(shell("cat a"))),
    ]).toEqual([
      ["origin", "identity"],
      ["identity", "program"],
    ]);
  });

  test("is another one if a file above 1 MB has other content, even of the same length and time", async () => {
    counters("T-PROG-4");
    const { write, source } = scene();
    const text = "x".repeat(1024 ** 2 + 1);
    const file = write("big.bin", text);
    utimesSync(file, 1, 1);
    const before = await source(["cat", "big.bin"]);
    utimesSync(file, 2, 2);
    const touched = await source(["cat", "big.bin"]);
    write("big.bin", `${text.slice(1)}y`);
    utimesSync(file, 1, 1);
    const after = await source(["cat", "big.bin"]);
    expect([before.file, changedParts(before, touched), changedParts(before, after)]).toEqual([
      [{ path: file, sha256: sha256(text) }],
      [],
      ["file"],
    ]);
  });

  test("has the size and the change time of files above 1 GB, which are not read", async () => {
    counters("T-PROG-4");
    const { write, source } = scene();
    const file = write("huge.bin", "");
    truncateSync(file, 1024 ** 3 + 1);
    utimesSync(file, 1, 1);
    const before = await source(["cat", "huge.bin"]);
    chmodSync(file, 0o700);
    utimesSync(file, 1, 1);
    const after = await source(["cat", "huge.bin"]);
    expect([before.file, changedParts(before, after)]).toEqual([
      [{ path: file, size: 1024 ** 3 + 1, changed: expect.stringMatching(/^\d{19}$/) }],
      ["file"],
    ]);
  });

  test("leaves out folders, missing files, pipes and devices, and does not wait for them", async () => {
    const { root, source } = scene();
    mkdirSync(path.join(root, "folder"));
    execFileSync("mkfifo", [path.join(root, "pipe")]);
    const command = ["cat", "folder", "missing", "pipe", "/dev/zero", "", "a\0b", "."];
    expect(await source(command)).not.toHaveProperty("file");
  });

  test("leaves out words with templates, even if files have such names", async () => {
    const { write, source } = scene();
    write("{{x}}", "");
    write("a.sh", "");
    const command = ["cat", "{{x}}", "{% if x %}a.sh{% endif %}"];
    expect(await source(command)).not.toHaveProperty("file");
  });

  test("leaves out code in an argument", async () => {
    const { write, source } = scene();
    write("a.sh", "");
    expect(await source(["sh", "-c", "sh a.sh"])).not.toHaveProperty("file");
  });

  test("has each file once, however often it is named", async () => {
    const { root, write, source } = scene();
    const file = write("run.sh", "exit\n");
    symlinkSync("run.sh", path.join(root, "link.sh"));
    const { program, file: files } = await source(["./run.sh", "run.sh", "link.sh", file]);
    const expected = { path: file, sha256: sha256("exit\n") };
    expect([program, files]).toEqual([expected, [expected]]);
  });

  test("says that a program is missing, is a folder, or depends on a template", async () => {
    const { root, source } = scene();
    mkdirSync(path.join(root, "folder"));
    const programs = [["no-such-program"], ["./no/program"], ["./folder"], ["{{tool.options.p}}"]];
    const sources = await Promise.all(programs.map((command) => source(command)));
    expect(sources.map(({ program }) => program)).toEqual([
      { missing: "no-such-program" },
      { missing: "./no/program" },
      { missing: "./folder" },
      { template: "{{tool.options.p}}" },
    ]);
  });
});

describe("the program of a `#!` line", () => {
  test.each([
    ["itself", "#!%\n", ["./run.sh"]],
    ["behind env", "#!/usr/bin/env lang\n", ["./run.sh"]],
    ["behind env with options", "#!/usr/bin/env -S -u X A=b lang --flag\n", ["./run.sh"]],
    ["behind env, without a blank", "#!/usr/bin/env -Slang\n", ["./run.sh"]],
    ["with blanks and an argument", "#! % -e\r\n", ["./run.sh"]],
    ["of a script that the command names", "#!/usr/bin/env lang\n", ["env", "./run.sh"]],
    ["of a script in a shell line", "#!/usr/bin/env lang\n", shell("./run.sh | cat")],
    ["of a script above 1 MB", `#!/usr/bin/env lang\n${" ".repeat(1024 ** 2)}`, ["./run.sh"]],
  ])(
    "is part of the source, and a changed one makes it another: %s",
    async (_case, script, command) => {
      counters("T-PROG-5");
      const { bin, write, source } = scene();
      const program = write(path.join(bin, "lang"), "one");
      write("run.sh", script.replace("%", program));
      const before = await source(command);
      expect(before.program).toContainEqual({ path: program, sha256: sha256("one") });
      write(program, "two");
      expect(changedParts(before, await source(command))).toEqual(["program"]);
    },
  );

  test("may be a script, whose own counts too", async () => {
    counters("T-PROG-5");
    const { bin, write, source } = scene();
    const lang = write(path.join(bin, "lang"), "one");
    write(path.join(bin, "wrapper"), "#!/usr/bin/env lang\n");
    write("run.sh", `#!${bin}/wrapper\n`);
    const before = await source(["./run.sh"]);
    write(lang, "two");
    expect(changedParts(before, await source(["./run.sh"]))).toEqual(["program"]);
  });

  test("counts with the files that its line names", async () => {
    counters("T-PROG-5");
    const { root, write, source } = scene();
    write("setup.txt", "one");
    write("run.sh", `#!/usr/bin/env -S cat --file=${root}/setup.txt\n`);
    const before = await source(["./run.sh"]);
    write("setup.txt", "two");
    expect(changedParts(before, await source(["./run.sh"]))).toEqual(["program"]);
  });

  test("may be missing, or the script itself", async () => {
    const { root, write, source } = scene();
    write("run.sh", `#!${root}/run.sh /none\n#!/bin/sh\n`);
    const program = await source(["./run.sh"]);
    expect(program.program).toMatchObject({ path: path.join(root, "run.sh") });
  });
});

describe("a file that the command reaches", () => {
  test.each([
    ["in a folder that it enters", shell("cd d && ./s.sh")],
    ["in a folder within that", shell("cd d; cd e; cat < ../s.sh")],
    ["in the folder of an option", ["env", "-C", "d", "./s.sh"]],
    ["in the folder of an option's value", ["env", "--chdir=d", "./s.sh"]],
    ["as the value of an option", ["make", "--file=d/s.sh"]],
    ["as the value of an option without a blank", ["make", "-fd/s.sh"]],
    ["as the value of an assignment", ["env", "BASH_ENV=./d/s.sh", "sh"]],
    ["in a list of arguments", ["cc", "@d/s.sh"]],
    ["in the home", shell("~/d/s.sh")],
    ["in the home, by its variable", shell("cd $HOME/d && sh s.sh")],
  ])("is part of the source, and a changed one makes it another: %s", async (_case, command) => {
    counters("T-PROG-6");
    const { root, write, source } = scene();
    mkdirSync(path.join(root, "d", "e"), { recursive: true });
    const file = write("d/s.sh", "one");
    const before = await source(command);
    expect(before.file).toContainEqual({ path: file, sha256: sha256("one") });
    write("d/s.sh", "two");
    expect(changedParts(before, await source(command))).toEqual(["file"]);
  });

  test("may change if subject_ignore names it", async () => {
    const { root, write, source } = scene();
    mkdirSync(path.join(root, "d"));
    write("d/state.json", "one");
    const [command, ignored] = [shell("cd d && cat state.json"), ["d/state.json"]];
    const before = await source(command, ignored);
    write("d/state.json", "two");
    expect([before.file, changedParts(before, await source(command, ignored))]).toEqual([
      undefined,
      [],
    ]);
  });
});

describe("the earlier form of a source", () => {
  test("has the files that words name, and no others", async () => {
    const { root, write, source } = scene();
    mkdirSync(path.join(root, "d"));
    const [script, named] = [write("run.sh", "#!/bin/sh\n"), write("named.txt", "")];
    write("d/inner.txt", "");
    const program = { path: script, sha256: sha256("#!/bin/sh\n") };
    const file = [{ path: named, sha256: sha256("") }];
    const { earlier } = await source(["./run.sh", "named.txt", "d", "inner.txt"]);
    const { earlier: bare } = await source(["./run.sh", "d", "inner.txt"]);
    expect([earlier, bare]).toEqual([{ program, file }, { program }]);
  });

  test("is absent if it is the same", async () => {
    const { write, source } = scene();
    write("run.sh", "exit\n");
    expect(await source(["./run.sh", "none"])).not.toHaveProperty("earlier");
  });

  test("cannot be compared if a file in it is above the limit of its version", async () => {
    const { bin, write, source, shared } = scene();
    write("big.bin", "x".repeat(1024 ** 2 + 1));
    truncateSync(write("huge.bin", ""), 1024 ** 3 + 1);
    write(path.join(bin, "lang"), "x".repeat(1024 ** 2 + 1));
    write("run.sh", "#!/usr/bin/env lang\n");
    const commands = [["cat", "big.bin"], ["cat", "huge.bin"], ["./run.sh"]];
    const sources = await Promise.all(commands.flatMap((each) => [source(each), shared(each)]));
    expect(sources.map(({ earlier }) => earlier)).toEqual([
      "incomparable",
      undefined,
      "incomparable",
      "incomparable",
      // Only the interpreter is long, and was not in it.
      { program: expect.anything() },
      { program: expect.anything() },
    ]);
  });
});

describe("the source of a shell program", () => {
  test("has the shell, the text, and the files that its words name", async () => {
    const { root, write, source } = scene();
    for (const name of ["a.sh", "b c.sh", "d.sh", "e.txt", "f.txt", "g.sh"]) write(name, name);
    const text = `cd . && ./a.sh|sh 'b c.sh' >e.txt; X=$(sh d.sh) {{ tool.arguments.x }} {{y}}g.sh`;
    const { origin, program, file } = await source(shell(text, "f.txt", "a b"));
    const named = ["a.sh", "b c.sh", "e.txt", "d.sh", "f.txt"];
    expect([origin, program, file]).toEqual([
      { type: "local", command: `${text} f.txt 'a b'` },
      expect.objectContaining({ path: expect.stringMatching(/sh$/) }),
      named.map((name) => ({ path: path.join(root, name), sha256: sha256(name) })),
    ]);
  });

  test("never has a shell from PATH", async () => {
    counters("T-PROG-3");
    const { bin, write, source } = scene();
    const before = await source(shell("echo"));
    write(path.join(bin, "sh"), "#!/bin/false\n");
    expect(changedParts(before, await source(shell("echo")))).toEqual([]);
  });

  test("is described even if its quotes or templates are not closed", async () => {
    const { source } = scene();
    const texts = [`echo "a`, "echo 'a", "echo {{ a", "echo {# a", "echo \\"];
    const sources = await Promise.all(texts.map((text) => source(shell(text))));
    expect(sources.map(({ origin }) => origin)).toEqual(
      texts.map((command) => ({ type: "local", command })),
    );
  });
});

describe("a file in subject_ignore", () => {
  test("may change, and others may not", async () => {
    const { write, source } = scene();
    write("deploy.sh", "one");
    write("state.json", "{}");
    const command = ["sh", "deploy.sh", "./state.json"];
    const before = await source(command, ["state.json"]);
    write("state.json", "[]");
    const after = await source(command, ["state.json"]);
    write("deploy.sh", "two");
    const other = await source(command, ["state.json"]);
    expect([changedParts(before, after), changedParts(before, other)]).toEqual([[], ["file"]]);
  });

  test("may be the program itself, which must stay where it is", async () => {
    const { root, write, source } = scene();
    const program = write("run.sh", "#!/bin/sh\n");
    const before = await source(["./run.sh"], ["run.sh"]);
    write("run.sh", "#!/bin/sh\n# run once\n");
    const after = await source(["./run.sh"], ["run.sh"]);
    rmSync(program);
    write("other.sh", "#!/bin/sh\n");
    symlinkSync("other.sh", path.join(root, "run.sh"));
    const moved = await source(["./run.sh"], ["run.sh"]);
    expect([before.program, changedParts(before, after), changedParts(before, moved)]).toEqual([
      { path: program },
      [],
      ["program"],
    ]);
  });

  test("does not hide another file by being a link to it", async () => {
    counters("T-PROG-3");
    const { root, write, source } = scene();
    write("deploy.sh", "one");
    symlinkSync("deploy.sh", path.join(root, "state.json"));
    const command = ["sh", "deploy.sh", "state.json"];
    const before = await source(command, ["state.json"]);
    write("deploy.sh", "two");
    expect(changedParts(before, await source(command, ["state.json"]))).toEqual(["file"]);
  });
});

const COMMAND = ["ship", "tools/deploy.sh", "{{tool.arguments.a}}", "notes.txt"];

/** A checkout, and the program outside of it. */
function checkout(files: Readonly<Record<string, string>> = {}): Scene {
  const made = scene();
  mkdirSync(path.join(made.root, "tools"));
  made.write("tools/deploy.sh", files["deploy.sh"] ?? "echo one\n");
  made.write(path.join(made.bin, "ship"), files["ship"] ?? "exit\n");
  made.write("notes.txt", "");
  return made;
}

describe("the source of a local tool, for all machines that share a conversation,", () => {
  test("names files in the workspace by their path in it, and others by the end of theirs", async () => {
    const { program, file, folder, isPortable } = await checkout().shared(COMMAND);
    expect({ program, file, folder, isPortable }).toEqual({
      program: { name: "ship", sha256: sha256("exit\n") },
      file: [
        { path: "tools/deploy.sh", sha256: sha256("echo one\n") },
        { path: "notes.txt", sha256: sha256("") },
      ],
      folder: ".",
      isPortable: true,
    });
  });

  test("is the same in another folder with the same files, whenever they were written", async () => {
    const [one, two] = [checkout(), checkout()];
    utimesSync(path.join(two.root, "tools/deploy.sh"), 1, 1);
    utimesSync(path.join(two.bin, "ship"), 1, 1);
    expect(await two.shared(COMMAND)).toEqual(await one.shared(COMMAND));
    expect(changedParts(await one.source(COMMAND), await two.source(COMMAND))).toEqual([
      "program",
      "file",
    ]);
  });

  test("is the same if the workspace is reached through a link", async () => {
    const { root, shared } = checkout();
    const link = path.join(temporaryFolder(), "link");
    symlinkSync(root, link);
    const command = ["sh", "tools/deploy.sh"];
    const linked = await describeLocalSource(
      { command: toCommand(command) },
      { workspaceRoot: link, variables: process.env },
      { isShared: true },
    );
    expect(linked).toEqual(await shared(command));
  });

  test.each([
    ["program", "ship"],
    ["file", "deploy.sh"],
  ])("is another one if the content differs (%s)", async (part, name) => {
    counters("T-PROG-3");
    const [one, two] = [checkout(), checkout({ [name]: "something else" })];
    expect(changedParts(await one.shared(COMMAND), await two.shared(COMMAND))).toEqual([part]);
  });

  test("is another one if a link leads out of the workspace, or to another place in it", async () => {
    counters("T-PROG-3");
    const [one, two, three] = [checkout(), checkout(), checkout()];
    const outside = one.write(path.join(one.bin, "deploy.sh"), "echo one\n");
    const other = three.write("other.sh", "echo one\n");
    for (const [{ root }, target] of [[two, outside] as const, [three, other] as const]) {
      rmSync(path.join(root, "tools/deploy.sh"));
      symlinkSync(target, path.join(root, "tools/deploy.sh"));
    }
    const before = await one.shared(COMMAND);
    const [outer, inner] = [await two.shared(COMMAND), await three.shared(COMMAND)];
    expect([changedParts(before, outer), changedParts(before, inner)]).toEqual([
      ["file"],
      ["file"],
    ]);
    expect(outer.file).toContainEqual({ name: "deploy.sh", sha256: sha256("echo one\n") });
  });

  test("has the content of files above 1 MB, and notices that it has changed", async () => {
    counters("T-PROG-3");
    const [one, two] = [scene(), scene()];
    const text = "x".repeat(1024 ** 2 + 1);
    const command = ["cat", "big.bin"];
    const file = one.write("big.bin", text);
    two.write("big.bin", text);
    utimesSync(file, 1, 1);
    const before = await one.shared(command);
    expect(before.file).toEqual([{ path: "big.bin", sha256: sha256(text) }]);
    expect([await one.shared(command), await two.shared(command)]).toEqual([before, before]);
    one.write("big.bin", `${text.slice(1)}y`);
    utimesSync(file, 1, 1);
    expect(changedParts(before, await one.shared(command))).toEqual(["file"]);
  });

  test("is that of this machine alone for files above 1 GB, which are not read", async () => {
    const { write, shared } = scene();
    const file = write("huge.bin", "");
    truncateSync(file, 1024 ** 3 + 1);
    const { file: files } = await shared(["cat", "huge.bin"]);
    const changed = String(statSync(file, { bigint: true }).ctimeNs);
    expect(files).toEqual([{ path: file, size: 1024 ** 3 + 1, changed }]);
  });

  test("has a program in subject_ignore by its name alone", async () => {
    const [one, two] = [checkout(), checkout({ ship: "#!/bin/false\n" })];
    const before = await one.shared(["ship"], [path.join(one.bin, "ship")]);
    expect([before.program, await two.shared(["ship"], [path.join(two.bin, "ship")])]).toEqual([
      { name: "ship" },
      before,
    ]);
  });
});
