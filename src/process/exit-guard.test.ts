import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { isAlive } from "../util/is-alive.fixture.ts";

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
