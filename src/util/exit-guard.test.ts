import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { isAlive } from "../../test/support/is-alive.ts";

const guard = new URL("exit-guard.ts", import.meta.url);

/** Starts a program that sleeps, with what else is to be done, and tells its process id. */
async function sleeperOf(script: string): Promise<number> {
  const program = `
    import { spawn } from "node:child_process";
    import { writeSync } from "node:fs";
    import { guardGroup } from ${JSON.stringify(guard)};
    const held = guardGroup();
    const env = { ...process.env, ...held.variables };
    const child = spawn("sh", ["-c", "sleep 60 & wait"], { detached: true, stdio: "ignore", env });
    child.unref();
    writeSync(1, String(child.pid));
    ${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (piece) => (output += piece));
  await once(child, "close");
  return Number(output);
}

test.each([
  "held.hold(child.pid); process.exit(130);",
  "held.hold(child.pid); process.exitCode = 1;",
  "held.hold(child.pid); process.kill(process.pid, 'SIGKILL');",
  // Before anybody was told which group it is.
  "process.kill(process.pid, 'SIGKILL');",
])("a group does not outlive the process that ends by `%s`", async (end) => {
  const pid = await sleeperOf(end);
  expect(pid).toBeGreaterThan(0);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 5000 });
});

test.each(["", "process.kill(process.pid, 'SIGKILL');"])(
  "a group that was let go does: `%s`",
  async (end) => {
    const pid = await sleeperOf(`held.hold(child.pid); held[Symbol.dispose](); ${end}`);
    await new Promise((resolve) => setTimeout(resolve, 200)); // It would be killed by now.
    const wasAlive = isAlive(pid);
    process.kill(-pid, "SIGKILL");
    expect(wasAlive).toBe(true);
  },
);
