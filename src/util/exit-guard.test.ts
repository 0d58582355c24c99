import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { isAlive } from "../../test/support/is-alive.ts";

const guard = new URL("exit-guard.ts", import.meta.url);

/** Starts a program that sleeps, with what else is to be done, and tells its process id. */
async function sleeperOf(script: string): Promise<number> {
  const program = `
    import { spawn } from "node:child_process";
    import { killOnExit } from ${JSON.stringify(guard)};
    const child = spawn("sh", ["-c", "sleep 60 & wait"], { detached: true, stdio: "ignore" });
    child.unref();
    const held = killOnExit(child.pid);
    console.log(child.pid);
    ${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (piece) => (output += piece));
  await once(child, "close");
  return Number(output);
}

test.each(["process.exit(130);", "process.exitCode = 1;"])(
  "a group does not outlive the process that ends by `%s`",
  async (end) => {
    const pid = await sleeperOf(end);
    expect(pid).toBeGreaterThan(0);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  },
);

test("a group that was let go does", async () => {
  const pid = await sleeperOf("held[Symbol.dispose]();");
  const wasAlive = isAlive(pid);
  process.kill(-pid, "SIGKILL");
  expect(wasAlive).toBe(true);
});
