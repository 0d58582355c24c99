import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, openSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { findProgram } from "../../process/index.ts";
import { FsConversationStore } from "./fs-store.ts";
import { Flock, type FlockOptions } from "./lock.ts";

const REAL = process.platform === "linux" ? findProgram("flock") : undefined;

/** A replacement for `flock(1)`. */
function fake(script: string): string {
  const file = path.join(temporaryFolder(), "flock");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function openLockFile(file = path.join(temporaryFolder(), "lock")): number {
  const fd = openSync(file, "a+");
  onTestFinished(() => closeSync(fd));
  return fd;
}

async function tryWith(program: string | undefined, options: Partial<FlockOptions> = {}) {
  const warnings: string[] = [];
  const onFailure = (message: string) => void warnings.push(message);
  const flock = new Flock({ findProgram: () => program, onFailure, ...options });
  const fd = openLockFile();
  const types = [await flock.tryLock(fd), await flock.tryLock(fd)].map(({ type }) => type);
  return { types, warnings };
}

describe.runIf(process.platform === "linux")("a flock(1)", () => {
  test.each([
    ["hangs", "exec sleep 600", /timed out after 0\.1 seconds/],
    ["fails", "exit 1", /exited with status 1\./],
    ["fails otherwise", "exit 71", /exited with status 71\./],
    ["fails and says why", "echo 'No locks available' >&2; exit 1", /exited with status 1\./],
    ["is killed", "kill -9 $$", /exited with status SIGKILL/],
    ["cannot be run", "#", /./],
  ])("that %s is reported once and not tried again", async (how, script, reason) => {
    counters("T-LOCK-1");
    const program = fake(script);
    if (how === "cannot be run") chmodSync(program, 0o644);
    const { types, warnings } = await tryWith(program, {
      timeoutMs: how === "hangs" ? 100 : 30_000,
    });
    expect([types, warnings.length]).toEqual([["unavailable", "unavailable"], 1]);
    expect(warnings[0]).toMatch(reason);
  });

  test("that is missing is not reported", async () => {
    counters("T-LOCK-1");
    expect(await tryWith(undefined)).toEqual({
      types: ["unavailable", "unavailable"],
      warnings: [],
    });
  });

  test.each([
    ["has the option for it", '[ "$3" = -E ] && exit "$4"'],
    ["has no such option, as BusyBox", '[ "$3" = -E ] && echo usage >&2; exit 1'],
  ])("that %s reports that another process holds the lock", async (_, script) => {
    expect(await tryWith(fake(script))).toEqual({ types: ["taken", "taken"], warnings: [] });
  });

  test("that hangs does not keep our own lock", async () => {
    counters("T-LOCK-1");
    const { tryLock } = await import("fs-native-extensions");
    const file = path.join(temporaryFolder(), "lock");
    const ours = openSync(file, "a+");
    tryLock(ours);
    // `sleep` is a grandchild: it survives the child and keeps its files open.
    const program = fake('sleep 60 & echo $! > "$0.pid"; wait');
    await new Flock({ findProgram: () => program, timeoutMs: 500 }).tryLock(ours);
    closeSync(ours);
    // Another test may be between fork and exec, with a copy of our descriptor: `sleep` stays longer.
    const again = openLockFile(file);
    await expect.poll(() => tryLock(again), { timeout: 10_000 }).toBe(true);
    spawnSync("sh", ["-c", `kill -9 $(cat ${program}.pid)`]);
  });
});

test.runIf(REAL !== undefined)("a lock is held until its descriptor is closed", async () => {
  const file = path.join(temporaryFolder(), "lock");
  const flock = new Flock({ findProgram: () => REAL });
  const [first, second] = [openLockFile(file), openLockFile(file)];
  const held = await flock.tryLock(first);
  const refused = await flock.tryLock(second);
  if (held.type === "held") closeSync(held.fd);
  const after = await flock.tryLock(second);
  if (after.type === "held") closeSync(after.fd);
  expect([held.type, refused.type, after.type]).toEqual(["held", "taken", "held"]);
});

test.runIf(process.platform === "linux")(
  "creating a conversation fails if flock(1) reports every lock as taken",
  async () => {
    counters("T-LOCK-1");
    const { root, clock, userFolder } = temporaryWorkspace();
    const program = fake('[ "$3" = -E ] && exit "$4"');
    const store = new FsConversationStore({
      storage: path.join(root, ".jp"),
      findUserFolder: () => userFolder,
      ensureUserFolder: async () => userFolder,
      clock,
      pid: process.pid,
      flock: new Flock({ findProgram: () => program }),
    });
    await expect(store.create({})).rejects.toMatchObject({
      code: "conversation_locked",
      message: "Cannot create a conversation: 100 consecutive ids are locked by other processes.",
    });
  },
);
