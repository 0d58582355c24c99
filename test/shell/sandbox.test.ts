import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { findProblemIn } from "../../src/reach/shell/index.ts";
import { counters } from "../security/threats.ts";
import { diskFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { runIn, scene, type Scene, useSandbox } from "./support.ts";

/** A server that counts who connects to it. */
async function listen(where: number | string) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  if (typeof where === "number") server.listen(where, "127.0.0.1");
  else server.listen(where);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, connections: () => connections };
}

/** A copy in the workspace: where the tests' own Node is may be hidden. */
function placeNode({ root }: Scene): void {
  copyFileSync(process.execPath, path.join(root, "node"));
}

const connect = (target: string) =>
  `./node -e 'require("net").connect(${target}).on("connect", () => process.exit(0)).on("error", () => process.exit(7))'`;

function makeRepository({ root }: Scene): void {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, stdio: "ignore" });
  git("init");
  git("config", "user.name", "me");
  git("config", "user.email", "me@example.com");
  writeFileSync(path.join(root, "a.txt"), "a\n");
  git("add", ".");
  git("commit", "-m", "one");
}

/** The processes of this machine whose command line has a text. */
function processesWith(text: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

describe("a command in the sandbox", () => {
  useSandbox();

  test("writes to the workspace, and reads the system", async () => {
    const { root, run } = scene();
    expect(await run("echo hi >new; head -c 4 /etc/passwd")).toBe("root\n0");
    expect(readFileSync(path.join(root, "new"), "utf8")).toBe("hi\n");
  });

  test("cannot read the home, jp's folders, or other homes", async () => {
    counters("T-SHELL-1");
    const { home, hidden, run } = scene();
    // The program that runs the tests may be in one of them.
    const [, , own = ""] = process.execPath.split("/");
    const output = await run(
      `ls -A ${home}; cat ${home}/secret ${hidden[0]}/secret 2>/dev/null; ls -A /home /root /run /mnt | grep -v ':$' | grep -vxF '${own}' | grep .`,
    );
    // Of the home, only the folder that the workspace is in.
    expect(output).toBe("project\n1");
  });

  test("cannot read jp's folders in the workspace, also where everything around it is hidden", async () => {
    counters("T-SHELL-1");
    const { run: _run, ...place } = scene();
    const root = diskFolder();
    const data = path.join(root, "data");
    mkdirSync(data);
    writeFileSync(path.join(data, "secret"), "geheim");
    const output = await runIn({ ...place, root, hidden: [data] }, "cat data/secret 2>/dev/null");
    expect(output).toBe("1");
  });

  test("sees a folder of the home that the user names, and cannot write to it", async () => {
    const { run: _run, ...place } = scene();
    const tools = path.join(place.home, "tools");
    mkdirSync(tools);
    writeFileSync(path.join(tools, "x"), "tool");
    const output = await runIn(
      { ...place, readable: [tools] },
      `cat ${tools}/x; touch ${tools}/y 2>/dev/null`,
    );
    expect(output).toBe("tool1".replace("1", "\n1"));
  });

  test("cannot write outside of the workspace", async () => {
    counters("T-SHELL-1");
    const { home, outside, run } = scene();
    await run(
      `touch ${home}/x ${outside}/x ${outside}/visible /etc/jp-x /usr/jp-x; echo changed >${outside}/visible`,
    );
    expect([
      readdirSync(outside),
      readdirSync(home),
      readFileSync(path.join(outside, "visible"), "utf8"),
    ]).toEqual([["visible"], ["project", "secret"], "visible"]);
    expect(existsSync("/etc/jp-x")).toBe(false);
  });

  test("has a /tmp of its own, which is gone afterwards", async () => {
    const { run } = scene();
    expect(await run("echo x >/tmp/jp-x; cat /tmp/jp-x; cd /var/tmp && ls -A")).toBe("x\n0");
    expect(existsSync("/tmp/jp-x")).toBe(false);
    expect(await run("cat /tmp/jp-x 2>/dev/null")).toBe("1");
  });

  test("cannot reach a service on this machine, unless it has a network", async () => {
    counters("T-SHELL-2");
    const place = scene();
    const { run } = place;
    placeNode(place);
    const { port, connections } = await listen(0);
    expect([await run(connect(String(port))), connections()]).toEqual(["7", 0]);
    expect([await run(connect(String(port)), { network: true }), connections()]).toEqual(["0", 1]);
  });

  test("cannot reach a socket with a path: jp's own, or that of another program", async () => {
    counters("T-SHELL-2");
    const place = scene();
    const { hidden, outside, run } = place;
    placeNode(place);
    for (const folder of [hidden[0] ?? "", outside]) {
      const socket = path.join(folder, "s");
      const { connections } = await listen(socket);
      expect([await run(connect(`"${socket}"`)), connections()]).toEqual(["7", 0]);
    }
  });

  test("cannot see or signal jp, or any other process", async () => {
    counters("T-SHELL-3");
    const { run } = scene();
    expect(
      await run(`kill -0 ${process.pid} 2>/dev/null || echo no; ls /proc | grep -c '^[0-9]*$'`),
    ).toMatch(/^no\n[3-6]\n0$/);
  });

  test("cannot undo its limits, even as root", async () => {
    counters("T-SHELL-1");
    const { outside, run } = scene();
    const output = await run(
      `grep CapEff /proc/self/status; { mount -o remount,rw,bind / / || umount /home || unshare -Urm sh -c 'mount -o remount,rw,bind /'; } 2>/dev/null || echo no; touch ${outside}/x 2>/dev/null || echo no`,
    );
    expect(output).toBe("CapEff:\t0000000000000000\nno\nno\n0");
  });

  test("does not leave anything running", async () => {
    counters("T-SHELL-3");
    const { run } = scene();
    const mark = `86${process.pid}.25`;
    expect(
      await run(`setsid nohup sleep ${mark} >/dev/null 2>&1 & setsid sleep ${mark} & echo started`),
    ).toBe("started\n0");
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: 20_000 });
  });

  test("ends with jp, even if that is killed, and nothing is left in the workspace", async () => {
    counters("T-SHELL-3");
    const { run: _run, outside: _outside, ...place } = scene();
    const mark = `87${process.pid}.25`;
    const program = `
      import { runCommand } from ${JSON.stringify(new URL("../../src/reach/shell/index.ts", import.meta.url))};
      const place = ${JSON.stringify(place)};
      await runCommand({
        line: "echo started; setsid sleep ${mark} & sleep ${mark}", cwd: place.root, variables: process.env, input: "", timeoutMs: 60000,
        signal: new AbortController().signal, onLine: (line) => console.log(line),
        output: { shownBytes: 100, folder: place.home, keptBytes: 100 }, sandbox: { place, network: false, git: false },
      });`;
    const jp = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(jp.stdout, "data");
    await vi.waitFor(() => expect(processesWith(mark).length).toBeGreaterThan(1), {
      timeout: 10_000,
    });
    expect(readdirSync(place.root)).toEqual([".git", ".jp", "commondir", "refs"]);
    jp.kill("SIGKILL");
    await vi.waitFor(
      () => expect([processesWith(mark), readdirSync(place.root)]).toEqual([[], []]),
      { timeout: 20_000 },
    );
  });

  test("cannot create .git or .jp, and nothing is left in their place", async () => {
    counters("T-SHELL-4");
    const { root, run } = scene();
    const output = await run(
      "for d in .git .jp; do mkdir -p $d/hooks; rmdir $d; mv $d x; ln -s /tmp $d; done 2>/dev/null; ls -A; ls -A .git .jp | grep -v ':$' | grep .",
    );
    expect([output, readdirSync(root)]).toEqual([".git\n.jp\ncommondir\nrefs\n1", []]);
  });

  test("cannot change a repository", async () => {
    counters("T-SHELL-4");
    const current = scene();
    makeRepository(current);
    const { root, run } = current;
    const output = await run(
      "{ touch .git/x; rm -rf .git/HEAD; mv .git x; git add .; git commit --allow-empty -m two; } 2>/dev/null; " +
        "git status --short; git log --format=%s; git diff HEAD",
    );
    expect([output, readdirSync(root).toSorted()]).toEqual(["one\n0", [".git", "a.txt"]]);
  });

  test("cannot change the config or the hooks of Git with git: true, or move them away, and can commit", async () => {
    counters("T-SHELL-4");
    const current = scene();
    makeRepository(current);
    const { root, run } = current;
    const config = readFileSync(path.join(root, ".git/config"), "utf8");
    execFileSync("rm", ["-rf", ".git/hooks"], { cwd: root });
    const before = readdirSync(path.join(root, ".git")).toSorted();
    const output = await run(
      "{ git config core.fsmonitor evil; echo x >.git/hooks/pre-commit; echo x >>.git/config; mv .git x; mv .git/config x; mv .git/hooks x; rm -rf .git/hooks .git/config; " +
        "echo ../x >.git/commondir; } 2>/dev/null; rm -rf .git/commondir x; echo b >b.txt; git add . && git commit -qm two && git log --format=%s",
      { git: true },
    );
    expect(output).toBe("two\none\n0");
    expect(readFileSync(path.join(root, ".git/config"), "utf8")).toBe(config);
    expect(readdirSync(path.join(root, ".git")).toSorted()).toEqual(
      [...before, "COMMIT_EDITMSG"]
        .toSorted()
        .filter((name, index, all) => all.indexOf(name) === index),
    );
    expect(readdirSync(root).toSorted()).toEqual([".git", "a.txt", "b.txt"]);
  });

  test("cannot change hooks that the config keeps in the workspace", async () => {
    counters("T-SHELL-4");
    const current = scene();
    makeRepository(current);
    mkdirSync(path.join(current.root, ".husky/_"), { recursive: true });
    execFileSync("git", ["config", "core.hooksPath", ".husky/_"], { cwd: current.root });
    expect(
      await current.run(
        "for file in .husky/_/pre-commit .husky/x; do touch $file 2>/dev/null || echo no; done",
      ),
    ).toBe("no\nno\n0");
  });

  test("loses what it writes under other names of jp and Git", async () => {
    counters("T-SHELL-4");
    const current = scene();
    makeRepository(current);
    const { root, run } = current;
    const line = "echo x >.jp.toml; echo /tmp >.git/commondir; mkdir .JP";
    expect(await run(line, { git: true })).toBe(
      "removed .JP\nremoved .jp.toml\nremoved .git/commondir\n0",
    );
    expect([
      existsSync(path.join(root, ".jp.toml")),
      existsSync(path.join(root, ".git/commondir")),
    ]).toEqual([false, false]);
  });

  test("reads .jp and files of jp that exist, and cannot change them", async () => {
    counters("T-SHELL-4");
    const { root, run } = scene();
    mkdirSync(path.join(root, ".jp"));
    writeFileSync(path.join(root, ".jp/config.toml"), "# a");
    writeFileSync(path.join(root, ".jp.toml"), "# b");
    expect(
      await run(
        "cat .jp/config.toml .jp.toml; echo x >.jp/config.toml; touch .jp/x; rm -rf .jp .jp.toml",
      ),
    ).toMatch(/^# a# b/);
    expect([
      readFileSync(path.join(root, ".jp.toml"), "utf8"),
      readdirSync(path.join(root, ".jp")),
    ]).toEqual(["# b", ["config.toml"]]);
  });

  test("reads the repository of a linked worktree, and cannot change it", async () => {
    const { run: _run, ...place } = scene();
    makeRepository({ ...place, run: _run });
    const other = path.join(place.home, "other");
    execFileSync("git", ["worktree", "add", "-q", other], { cwd: place.root });
    const worktree = { ...place, root: other };
    expect(
      await runIn(worktree, "git log --format=%s; git config core.pager x 2>/dev/null || echo no"),
    ).toBe("one\nno\n0");
    // A file that names a folder which does not name it in turn shows nothing.
    const clone = path.join(place.home, "clone");
    mkdirSync(clone);
    writeFileSync(
      path.join(clone, ".git"),
      `gitdir: ${path.join(place.root, ".git/worktrees/other")}\n`,
    );
    expect(await runIn({ ...place, root: clone }, "git log 2>/dev/null || echo no")).toBe("no\n0");
  });

  test("runs beside another one that needs the same stand-ins", async () => {
    const { root, run } = scene();
    await run("true");
    const [slow, quick] = await Promise.all([
      run("until [ -e done ]; do sleep 0.05; done; mkdir .jp/x 2>/dev/null || echo no"),
      run("touch done"),
    ]);
    expect([slow, quick, readdirSync(root)]).toEqual(["no\n0", "0", ["done"]]);
  });
});

test("there is no sandbox where it could not hold: the home as workspace, or links in the place of .git and .jp", async () => {
  const { run: _run, outside, ...place } = scene();
  expect(await findProblemIn({ ...place, root: place.home })).toEqual({
    reason: "workspace_has_home",
  });
  symlinkSync(outside, path.join(place.root, ".git"));
  expect(await findProblemIn(place)).toEqual({ reason: "protected_link", detail: ".git" });
});
