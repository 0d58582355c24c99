import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test, vi } from "vitest";
import { changedParts } from "../../src/reach/executor/changed-parts.fixture.ts";
import { createShellRunTool, type ShellPlace } from "../../src/reach/executor/index.ts";
import { createTool } from "../../src/reach/executor/create-tool.ts";
import { resolveShell, resolveTools } from "../../src/settings/config/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { counters } from "../security/threats.ts";
import { scene, useSandbox } from "./support.ts";

interface ShellScene extends ShellPlace {
  readonly outside: string;
  readonly lines: string[];
  readonly call: (
    command: string,
    args?: JsonObject,
    signal?: AbortSignal,
  ) => Promise<{ type: string; text: string }>;
}

/** `isConfined: false`: the home is the workspace, so that there is no sandbox. */
function shellScene({
  isConfined = true,
  isReadOnly = false,
  settings = {},
  more = {},
} = {}): ShellScene {
  const { root, home, hidden, outside } = scene();
  const [dataFolder = ""] = hidden;
  const variables = { HOME: home, PATH: process.env["PATH"], ...more };
  const place = {
    root,
    home: isConfined ? home : root,
    dataFolder,
    variables,
    settings: { ...resolveShell({}), ...settings },
    isReadOnly: () => isReadOnly,
  };
  const { tool } = createShellRunTool(place);
  const lines: string[] = [];
  const call: ShellScene["call"] = async (
    command,
    args = {},
    signal = new AbortController().signal,
  ) => {
    const outcome = await tool.execute({
      arguments: { command, ...args },
      answers: {},
      signal,
      onProgress: (line) => lines.push(line),
    });
    if (outcome.type === "needs_input") throw new Error("it asked");
    return {
      type: outcome.type,
      text: outcome.type === "success" ? outcome.content : outcome.message,
    };
  };
  return { ...place, outside, lines, call };
}

async function sourceOf(place: ShellPlace, args: JsonObject, isShared = false) {
  const shipped = createShellRunTool(place);
  const settings = resolveTools({ conversation: { tools: { shell_run: shipped.config } } }).get(
    "shell_run",
  );
  if (settings === undefined) throw new Error("no settings");
  const tool = await createTool(settings, {
    shipped: [shipped],
    signal: new AbortController().signal,
  });
  return tool.describeSource(args, { isShared });
}

describe("a command while planning", () => {
  useSandbox();

  test("reads the workspace, and can change nothing there, in .git or at a protected name", async () => {
    counters("T-MODE-4");
    const place = shellScene({ isReadOnly: true });
    writeFileSync(path.join(place.root, "a.txt"), "before");
    execFileSync("git", ["init", "-q"], { cwd: place.root });
    mkdirSync(path.join(place.root, "open"), { mode: 0o777 });
    const before = readdirSync(place.root).toSorted();
    const lines = [
      "cat a.txt",
      "echo after > a.txt",
      "rm a.txt",
      "touch open/new",
      "chmod 777 a.txt",
      "git config core.pager evil",
      "mkdir .jp.evil",
      "mv open closed",
    ];
    const ends = await Promise.all(
      lines.map((line) => place.call(line, { network: true, git: true })),
    );
    expect(ends[0]).toEqual({ type: "success", text: "before\n[Exit status 0.]" });
    for (const { type, text } of ends.slice(1)) {
      expect([type, text]).toEqual(["error", expect.stringContaining("Read-only file system")]);
      expect(text).toContain("[The user is planning:");
    }
    expect(readdirSync(place.root).toSorted()).toEqual(before);
    expect(readFileSync(path.join(place.root, "a.txt"), "utf8")).toBe("before");
  });

  test("can write to temporary files, which no one else sees", async () => {
    const place = shellScene({ isReadOnly: true });
    const { text } = await place.call("f=$(mktemp); echo kept > $f; cat $f");
    expect(text).toBe("kept\n[Exit status 0.]");
  });

  test("has no network, even if the call asks for one", async () => {
    counters("T-MODE-4");
    const place = shellScene({ isReadOnly: true });
    const { text } = await place.call("grep -c : /proc/net/dev", { network: true });
    expect(text).toMatch(/^1(?:\n|$)/);
  });

  test("is described as one that can change nothing, and so another call than the same one later", async () => {
    const place = shellScene();
    const free = await sourceOf(place, { command: "make" });
    const planned = await sourceOf({ ...place, isReadOnly: () => true }, { command: "make" });
    expect(planned.origin).toMatchObject({ confinement: "sandbox", workspace: "read_only" });
    expect(changedParts(free, planned)).toEqual(["origin"]);
  });

  test("is not run where there is no sandbox", async () => {
    counters("T-MODE-4");
    const place = shellScene({ isConfined: false, isReadOnly: true });
    const { type, text } = await place.call("touch made");
    expect([type, existsSync(path.join(place.root, "made"))]).toEqual(["error", false]);
    expect(text).toContain("Nothing was run.");
  });
});

const UNCONFINED = { isConfined: false };

describe("a command", () => {
  test("returns its output and its exit status, and streams each line", async () => {
    const { call, lines } = shellScene(UNCONFINED);
    expect(await call("echo one; echo two >&2")).toEqual({
      type: "success",
      text: expect.stringContaining("[Exit status 0.]"),
    });
    expect(lines.toSorted()).toEqual(["one", "two"]);
    expect(await call("echo x; exit 3")).toEqual({ type: "error", text: "x\n[Exit status 3.]" });
    expect(await call("true")).toEqual({ type: "success", text: "[No output.]\n[Exit status 0.]" });
    expect(await call("kill -9 $$")).toEqual({
      type: "error",
      text: "[No output.]\n[Ended by SIGKILL.]",
    });
  });

  test("runs in a folder of the workspace, with the input that it was given, and without a terminal", async () => {
    const { call, root } = shellScene(UNCONFINED);
    mkdirSync(path.join(root, "sub"));
    const { text } = await call("pwd; cat; [ -t 0 ] || [ -t 1 ] || tty -s || echo no tty", {
      folder: "sub",
      stdin: "given\n",
    });
    expect(text).toBe(`${root}/sub\ngiven\nno tty\n[Exit status 0.]`);
    expect(await call("pwd", { folder: "../.." })).toMatchObject({
      type: "error",
      text: expect.stringContaining("outside the workspace"),
    });
    expect(await call("pwd", { folder: ".git" })).toMatchObject({
      type: "error",
      text: expect.stringContaining("protected"),
    });
    expect(await call("pwd", { folder: "none" })).toMatchObject({
      type: "error",
      text: "[Folder none does not exist.]",
    });
  });

  test("does not get secrets, or what the user hides, and its result says what it lacks if it fails", async () => {
    counters("T-SHELL-6");
    const secrets = ["PGPASSWORD", "DB_PASS", "BW_SESSION", "ACCESSTOKEN", "MY_TOKEN"];
    const { call } = shellScene({
      ...UNCONFINED,
      settings: { env: ["MY*"], hideEnv: ["MY_T*", "GOFLAGS"] },
      more: {
        ...Object.fromEntries([...secrets, "GOFLAGS"].map((name) => [name, "geheim"])),
        https_proxy: "http://ana:geheim@proxy.example",
        MYAPP: "added",
      },
    });
    expect((await call("env | grep geheim; echo $MYAPP; exit 1")).text).toBe(
      "added\n[Exit status 1.]\n[left out: 5 variables, see shell.env]",
    );
    expect((await call("true")).text).toBe("[No output.]\n[Exit status 0.]");
  });

  test("with long output shows its beginning and its end, and keeps all of it for the user", async () => {
    const { call, dataFolder } = shellScene(UNCONFINED);
    const { text } = await call("seq 1 20000");
    const [file = ""] = readdirSync(path.join(dataFolder, "shell-output"));
    const notice = text.split("\n").find((line) => line.startsWith("[…"));
    expect(notice).toMatch(/left out, of .* in all\. All of it is kept for the user in /);
    expect([text.startsWith("1\n2\n"), text.endsWith("\n20000\n[Exit status 0.]")]).toEqual([
      true,
      true,
    ]);
    expect(text).toContain(path.join(dataFolder, "shell-output", file));
    expect(Buffer.byteLength(text)).toBeLessThan(17_000);
    expect(
      readFileSync(path.join(dataFolder, "shell-output", file), "utf8").split("\n").length,
    ).toBe(20_001);
  });

  test("ends with everything it started: at its own end, after its time, and if it is cancelled", async () => {
    counters("T-SHELL-3");
    const { call, root } = shellScene(UNCONFINED);
    const pidOf = () => Number(readFileSync(path.join(root, "pid"), "utf8"));
    const sleep = "sleep 60 & echo $! >pid";
    await call(sleep);
    expect(isAlive(pidOf())).toBe(false);
    expect((await call(`${sleep}; wait`, { timeout_secs: 1 })).text).toBe(
      "[No output.]\n[Stopped after 1 s.]",
    );
    expect(isAlive(pidOf())).toBe(false);
    const abort = new AbortController();
    const running = call(`${sleep}; echo started; wait`, {}, abort.signal);
    await vi.waitFor(() => expect(isAlive(pidOf())).toBe(true), { timeout: 20_000 });
    abort.abort();
    expect(await running).toMatchObject({ type: "error" });
    expect(isAlive(pidOf())).toBe(false);
  });

  test("ends after the user's limit of time, whatever the call asks for", async () => {
    counters("T-SHELL-11");
    const limits = { ...resolveShell({}).limits, timeSecs: 1 };
    const { call } = shellScene({ ...UNCONFINED, settings: { limits } });
    expect(await call("sleep 100", { timeout_secs: 90 })).toEqual({
      type: "error",
      text: "[No output.]\n[Stopped after 1 s.]",
    });
  });

  test("ends when jp is killed, also without a sandbox", async () => {
    counters("T-SHELL-3");
    const { call: _call, lines: _lines, ...place } = shellScene(UNCONFINED);
    const program = `
      import { createShellRunTool } from ${JSON.stringify(new URL("../../src/reach/executor/index.ts", import.meta.url))};
      const { tool } = createShellRunTool(${JSON.stringify(place)});
      await tool.execute({ arguments: { command: "sleep 60 & echo $! >pid; wait" }, answers: {}, signal: new AbortController().signal });`;
    const jp = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const file = path.join(place.root, "pid");
    await vi.waitFor(() => expect(existsSync(file) && readFileSync(file, "utf8")).toMatch(/\d\n/), {
      timeout: 20_000,
    });
    jp.kill("SIGKILL");
    await once(jp, "exit");
    await vi.waitFor(() => expect(isAlive(Number(readFileSync(file, "utf8")))).toBe(false), {
      timeout: 20_000,
    });
  });
});

describe("a command in the sandbox", () => {
  useSandbox();

  test("cannot write outside, and its result says why it may have failed", async () => {
    counters("T-SHELL-1");
    const { call, outside } = shellScene();
    const { type, text } = await call(`touch ${outside}/x`);
    expect([type, existsSync(path.join(outside, "x"))]).toEqual(["error", false]);
    expect(text).toContain("[It ran in a sandbox");
  });

  test("was not run if the sandbox could not be set up, and the result says so", async () => {
    counters("T-SHELL-10");
    const { root, call, variables } = shellScene();
    mkdirSync(path.join(root, "cache/sub"), { recursive: true });
    // Hidden from commands, so that none can start there.
    Object.assign(variables, { XDG_CACHE_HOME: path.join(root, "cache") });
    const { type, text } = await call(`touch ${root}/ran`, { folder: "cache/sub" });
    expect([type, existsSync(path.join(root, "ran"))]).toEqual(["error", false]);
    expect(text).toMatch(/^\[The sandbox could not be set up, so nothing was run: bwrap: .*\]$/);
  });

  test("was run if it fails as the sandbox would, or ends with a signal", async () => {
    counters("T-SHELL-10");
    const { call } = shellScene();
    for (const line of ["echo bwrap: no >&2; exit 1", "kill -KILL $$", "/nowhere/x"]) {
      expect((await call(line)).text).toContain("[It ran in a sandbox");
    }
  });

  test("gets a proxy only with a network, and no temporary folder of the user's", async () => {
    counters("T-SHELL-6");
    const { call } = shellScene({
      more: { https_proxy: "http://proxy.example", TMPDIR: "/var/x" },
    });
    const line = "echo $https_proxy$TMPDIR.";
    expect([await call(line), await call(line, { network: true })]).toEqual([
      { type: "success", text: ".\n[Exit status 0.]" },
      { type: "success", text: "http://proxy.example.\n[Exit status 0.]" },
    ]);
  });

  test("that writes a file of jp's loses it, and the result says so", async () => {
    const { call, root } = shellScene();
    expect((await call("echo x >.jp.toml")).text).toContain(
      "[Removed what it created under names of jp and Git: .jp.toml]",
    );
    expect(readdirSync(root)).toEqual([]);
  });

  test("that fails at .git is told what could change it, and one that makes repositories, where they are", async () => {
    const { call, root } = shellScene();
    execFileSync("git", ["init", "-q"], { cwd: root });
    const told = "[.git is read-only in the sandbox. If the user agrees, a call with git: true can";
    expect((await call("touch x; git add x")).text).toContain(told);
    expect((await call("git add x", { git: true })).text).toBe("[No output.]\n[Exit status 0.]");
    expect((await call("git init -q a/b && git init -q --bare c")).text).toContain(
      "[New Git repositories: a/b, c. Git runs what their config says: look at it before you use Git there.]",
    );
    const commit = "git -C a/b -c user.name=me -c user.email=me commit -q --allow-empty -m one";
    expect((await call(`${commit} && git add a 2>/dev/null`, { git: true })).text).toContain(
      "[New Git repositories: a/b. ",
    );
  });

  test("is described as such, with its network and its access to .git, which are nothing without a sandbox", async () => {
    counters("T-SHELL-7");
    const place = shellScene();
    expect([
      (await sourceOf(place, { command: "ls" })).origin,
      (await sourceOf(place, { command: "ls", network: true })).origin,
      (await sourceOf(place, { command: "ls", git: true })).origin,
      (await sourceOf(shellScene(UNCONFINED), { command: "ls", network: true, git: true })).origin,
    ]).toEqual([
      { type: "builtin", confinement: "sandbox", undo: "off" },
      { type: "builtin", confinement: "sandbox", network: true, undo: "off" },
      { type: "builtin", confinement: "sandbox", git: true, undo: "off" },
      { type: "builtin", confinement: "none", undo: "off" },
    ]);
  });

  test("is another call if it can read more folders", async () => {
    counters("T-SHELL-7");
    const place = shellScene();
    const settings = { ...place.settings, readable: ["/opt/tools"] };
    const before = await sourceOf(place, { command: "ls" });
    expect(changedParts(before, await sourceOf({ ...place, settings }, { command: "ls" }))).toEqual(
      ["confined"],
    );
  });

  test("is another call when there is no sandbox any more", async () => {
    counters("T-SHELL-7");
    const place = shellScene();
    const before = await sourceOf(place, { command: "ls" });
    symlinkSync("/", path.join(place.root, ".git"));
    const after = await sourceOf(place, { command: "ls" });
    expect([changedParts(before, after), after.origin]).toEqual([
      ["origin", "confined"],
      { type: "builtin", confinement: "none", undo: "off" },
    ]);
  });
});

describe("the description of a call", () => {
  test("has the programs of all parts, and the files that words name", async () => {
    counters("T-SHELL-7");
    const place = shellScene(UNCONFINED);
    const write = (name: string) => {
      writeFileSync(path.join(place.root, name), "#!/bin/sh\n");
      chmodSync(path.join(place.root, name), 0o755);
      return path.join(place.root, name);
    };
    const [script, program, nested] = ["a.sh", "run", "c.sh"].map(write);
    const source = await sourceOf(place, { command: "sh a.sh && ./run x; env sh -c 'sh c.sh'" });
    expect(JSON.stringify(source.program)).toContain(program);
    expect([
      JSON.stringify(source.file).includes(String(script)),
      JSON.stringify(source.file).includes(String(nested)),
    ]).toEqual([true, true]);
    expect([source.origin, source.folder]).toEqual([
      { type: "builtin", confinement: "none", undo: "off" },
      ".",
    ]);
  });

  test("is the same in another folder with the same files, for all machines that share a conversation", async () => {
    const places = [shellScene(UNCONFINED), shellScene(UNCONFINED)];
    const args = { command: "sh ../a.sh && ./run", folder: "sub" };
    for (const { root } of places) {
      mkdirSync(path.join(root, "sub"));
      writeFileSync(path.join(root, "a.sh"), "echo\n");
      writeFileSync(path.join(root, "sub", "run"), "#!/bin/sh\n", { mode: 0o755 });
    }
    const [one, two] = places;
    if (one === undefined || two === undefined) throw new Error("none");
    const link = path.join(two.outside, "link");
    symlinkSync(two.root, link);
    const source = await sourceOf(one, args, true);
    expect([source.folder, source.file, source.isPortable]).toEqual([
      "sub",
      expect.arrayContaining([
        { path: "a.sh", sha256: expect.any(String) },
        { path: "sub/run", sha256: expect.any(String) },
      ]),
      true,
    ]);
    expect([
      await sourceOf(two, args, true),
      await sourceOf({ ...two, root: link, home: link }, args, true),
    ]).toEqual([source, source]);
    writeFileSync(path.join(two.root, "a.sh"), "echo more\n");
    expect(changedParts(source, await sourceOf(two, args, true))).toEqual(["file"]);
  });

  test.each([
    [undefined, "git"],
    ["not_git", "not_git"],
    ["too_large", "too_large"],
  ] as const)("says whether it can be undone (%s: %s)", async (reason, undo) => {
    const fail = () => Promise.reject(new Error(`Nothing runs: ${undo}`));
    const changes = { keepFile: fail, keepFolder: fail, checkFolder: async () => reason };
    const { origin } = await sourceOf({ ...shellScene(UNCONFINED), changes }, { command: "ls" });
    expect(origin).toMatchObject({ undo });
  });

  test.each([
    ["a script", "sh a.sh", "file"],
    ["a program", "./a.sh", "program"],
    ["a script behind a wrapper", "timeout 5 sh -c 'sh ./a.sh'", "file"],
  ])("is another one when a file of it has changed: %s", async (_what, command, part) => {
    counters("T-SHELL-7");
    const place = shellScene(UNCONFINED);
    const file = path.join(place.root, "a.sh");
    writeFileSync(file, "one");
    chmodSync(file, 0o755);
    const before = await sourceOf(place, { command });
    writeFileSync(file, "two");
    expect(changedParts(before, await sourceOf(place, { command }))).toContain(part);
  });

  test.each([
    ["in a folder that it enters", "cd d && ./s.sh"],
    ["in the folder of a shell in it", "sh -c 'cd d; . ./s.sh'"],
    ["as its input", "sh < d/s.sh"],
    ["as the input of a group", "{ sh; } < d/s.sh"],
    ["in a here-string", "sh <<< 'sh d/s.sh'"],
    ["as the value of an option", "make --file=d/s.sh"],
    ["as the value of an option, in a folder", "make -C d -fs.sh"],
    ["in an assignment", "BASH_ENV=d/s.sh bash -c true"],
  ])(
    "is another one when a file has changed that the command reaches: %s",
    async (_case, command) => {
      counters("T-PROG-6");
      const place = shellScene(UNCONFINED);
      mkdirSync(path.join(place.root, "d"));
      const file = path.join(place.root, "d", "s.sh");
      writeFileSync(file, "one", { mode: 0o755 });
      const before = await sourceOf(place, { command });
      writeFileSync(file, "two");
      expect(changedParts(before, await sourceOf(place, { command }))).toEqual(["file"]);
    },
  );

  test("is another one when a file has changed that its standard input names", async () => {
    counters("T-PROG-6");
    const place = shellScene(UNCONFINED);
    const args = { command: "sh", stdin: "cd d && ./s.sh\n" };
    mkdirSync(path.join(place.root, "d"));
    writeFileSync(path.join(place.root, "d", "s.sh"), "one", { mode: 0o755 });
    const before = await sourceOf(place, args);
    writeFileSync(path.join(place.root, "d", "s.sh"), "two");
    expect(changedParts(before, await sourceOf(place, args))).toEqual(["file"]);
  });

  test("does not depend on where it writes its output", async () => {
    const place = shellScene(UNCONFINED);
    const args = { command: "ls > out.txt" };
    writeFileSync(path.join(place.root, "out.txt"), "one");
    const before = await sourceOf(place, args);
    writeFileSync(path.join(place.root, "out.txt"), "two");
    expect(changedParts(before, await sourceOf(place, args))).toEqual([]);
  });

  test.each(["./a.sh", "env ./a.sh", "chmod +x a.sh; ./a.sh", "cd d && ../a.sh"])(
    "is another one when the program of a `#!` line has changed: %s",
    async (command) => {
      counters("T-PROG-5");
      const place = shellScene(UNCONFINED);
      mkdirSync(path.join(place.root, "d"));
      const program = path.join(place.root, "lang");
      writeFileSync(program, "one", { mode: 0o755 });
      writeFileSync(path.join(place.root, "a.sh"), `#!/usr/bin/env -S ${program} -x\n`);
      const before = await sourceOf(place, { command });
      writeFileSync(program, "two");
      expect(changedParts(before, await sourceOf(place, { command }))).toContain("program");
    },
  );

  test("has the folder relative to the workspace, also if the workspace is a link", async () => {
    const place = shellScene();
    mkdirSync(path.join(place.root, "sub"));
    const link = path.join(place.outside, "link");
    symlinkSync(place.root, link);
    const folders = [place.root, link].flatMap((root) =>
      [".", "sub"].map((folder) => ({ root, folder })),
    );
    const found = await Promise.all(
      folders.map(async ({ root, folder }) => {
        return (await sourceOf({ ...place, root }, { command: "ls", folder })).folder;
      }),
    );
    expect(found).toEqual([".", "sub", ".", "sub"]);
  });

  test("does not fail on lines that make no sense, or folders that do not exist", async () => {
    const place = shellScene(UNCONFINED);
    const sources = await Promise.all(
      ["'", "\0", "x".repeat(40_000), "$(("].map((command) =>
        sourceOf(place, { command, folder: "../x" }),
      ),
    );
    expect(sources.map(({ origin }) => origin.type)).toEqual([
      "builtin",
      "builtin",
      "builtin",
      "builtin",
    ]);
  });
});
