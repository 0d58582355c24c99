import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { isAlive } from "../../util/is-alive.fixture.ts";

const guardModule = new URL("exit-guard.ts", import.meta.url);

/** Runs a script that starts sleepers, and returns their process ids after it has ended. */
async function sleepersOf(script: string): Promise<readonly number[]> {
  const program = `
    import { spawn } from "node:child_process";
    import { writeSync } from "node:fs";
    import { guardGroup } from ${JSON.stringify(guardModule)};
    function start() {
      const guard = guardGroup();
      const env = { ...process.env, ...guard.variables };
      const sleeper = spawn("sh", ["-c", "sleep 60 & wait"], { detached: true, stdio: "ignore", env });
      sleeper.unref();
      writeSync(1, sleeper.pid + " ");
      return { guard, track: () => guard.track(sleeper.pid) };
    }
    ${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (piece) => (output += piece));
  await once(child, "close");
  return output.trim().split(" ").map(Number);
}

test.each([
  "start().track(); process.exit(130);",
  "start().track(); process.exitCode = 1;",
  "start().track(); process.kill(process.pid, 'SIGKILL');",
  // Before the watchdog knows the group.
  "start(); process.kill(process.pid, 'SIGKILL');",
])("a group does not outlive a process that runs `%s`", async (script) => {
  const [pid = 0] = await sleepersOf(script);
  expect(pid).toBeGreaterThan(0);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 20_000 });
});

test.each(["", "process.kill(process.pid, 'SIGKILL');"])(
  "a group whose guard was disposed of outlives the process: `%s`",
  async (end) => {
    const [released = 0, guarded = 0] = await sleepersOf(`
      const released = start();
      released.track();
      released.guard[Symbol.dispose]();
      start().track();
      ${end}`);
    // Groups are killed in the order in which they were started.
    await vi.waitFor(() => expect(isAlive(guarded)).toBe(false), { timeout: 20_000 });
    const wasAlive = isAlive(released);
    process.kill(-released, "SIGKILL");
    expect(wasAlive).toBe(true);
  },
);

test.each(["process.exit(1);", "process.kill(process.pid, 'SIGKILL');"])(
  "an empty file or folder does not outlive a process that runs `%s`, and others do",
  async (end) => {
    const folder = temporaryFolder();
    const names = ["an empty one", "full", "released", "an empty file", "written", "link"];
    const paths = names.map((name) => path.join(folder, name));
    const [empty = "", full = "", released = "", file = "", written = "", link = ""] = paths;
    for (const name of [empty, full, released]) mkdirSync(name);
    writeFileSync(path.join(full, "x"), "");
    writeFileSync(file, "");
    writeFileSync(written, "x");
    symlinkSync(file, link);
    const program = `
      import { mkdirSync } from "node:fs";
      import { guardStandIn } from ${JSON.stringify(guardModule)};
      for (const name of ${JSON.stringify([full, written, link, file, empty])}) guardStandIn(name);
      guardStandIn(${JSON.stringify(released)})[Symbol.dispose]();
      mkdirSync(${JSON.stringify(released)});
      ${end}`;
    await once(spawn(process.execPath, ["--input-type=module", "--eval", program]), "close");
    await vi.waitFor(() => expect(existsSync(empty)).toBe(false), { timeout: 20_000 });
    expect(readdirSync(folder).toSorted()).toEqual(["full", "link", "released", "written"]);
  },
);

test("a process that is killed runs no program or library of a workspace to which the user's variables lead", async () => {
  counters("T-PROG-8", "T-PROG-10");
  const folder = temporaryFolder();
  const [bin, ran, guarded] = ["bin", "ran", "guarded"].map((name) => path.join(folder, name));
  if (bin === undefined || ran === undefined || guarded === undefined) throw new Error("no names");
  for (const name of [bin, guarded]) mkdirSync(name);
  for (const name of ["grep", "tr", "rmdir", "sh"]) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\necho ${name} >> ${ran}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  // A program that finds this one does not start.
  writeFileSync(path.join(bin, "libc.so.6"), "");
  const program = `
    import { spawn } from "node:child_process";
    import { guardStandIn, guardGroup } from ${JSON.stringify(guardModule)};
    process.env.LD_LIBRARY_PATH = ${JSON.stringify(bin)};
    guardStandIn(${JSON.stringify(guarded)});
    guardGroup();
    process.kill(process.pid, "SIGKILL");`;
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  await once(spawn(process.execPath, ["--input-type=module", "--eval", program], { env }), "close");
  await vi.waitFor(() => expect(existsSync(guarded)).toBe(false), { timeout: 20_000 });
  expect(existsSync(ran)).toBe(false);
});
