import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { DyingDisk } from "./dying-disk.ts";
import { World } from "./world.ts";

/** A workspace with files of all kinds. */
async function start(): Promise<World> {
  const world = new World();
  world.turn = 1;
  await world.command("mkdir d; echo a > d/a; echo b > b; chmod 755 b; ln -s b link; echo c > c");
  world.turn = 2;
  return world;
}

async function changeAll(world: World): Promise<void> {
  const changes = world.keeper();
  await world.tool("fs_create_file", { path: "new/deep/file", content: "new\n" }, changes);
  await world.tool("fs_create_file", { path: "b", content: "B\n" }, changes);
  await world.tool("fs_delete_file", { path: "d/a" }, changes);
  await world.command(
    "rm -r d link; echo d > d; mkdir e; echo 2 > e/f; echo 2 > b; ln -s c link; chmod 600 c",
    changes,
  );
  await world.tool("fs_create_file", { path: "c", content: "C\n" }, changes);
}

async function changeFiles(world: World): Promise<void> {
  const changes = world.keeper();
  await world.tool("fs_create_file", { path: "b", content: "B\n" }, changes);
  await world.tool("fs_create_file", { path: "new/file", content: "new\n" }, changes);
  await world.tool("fs_delete_file", { path: "c" }, changes);
}

/** Fails where the process would be gone. */
async function untilKilled(diesAt: number, action: () => Promise<void>): Promise<DyingDisk> {
  await using disk = await DyingDisk.install(diesAt);
  await action().catch((error: unknown) => {
    if (!disk.isDead) throw error;
  });
  return disk;
}

test("a turn that is killed at any point can be undone, and loses nothing", async () => {
  counters("T-UNDO-5");
  const { steps } = await untilKilled(Infinity, async () => changeAll(await start()));
  expect(steps).toBeGreaterThan(50);
  for (let diesAt = 1; diesAt <= steps; diesAt += 1) {
    const world = await start();
    const before = world.state();
    await untilKilled(diesAt, () => changeAll(world));
    // Forced: after a kill, jp cannot tell what a command has changed.
    if (world.kept.at(-1)?.turn === "turn 2") await world.undo(true);
    expect({ diesAt, state: world.state() }).toEqual({ diesAt, state: before });
  }
}, 300_000);

test("an undo that is killed at any point can be repeated, and loses nothing", async () => {
  counters("T-UNDO-5");
  const prepared = await start();
  await changeAll(prepared);
  const { steps } = await untilKilled(Infinity, () => prepared.undo());
  expect(steps).toBeGreaterThan(30);
  for (let diesAt = 1; diesAt <= steps; diesAt += 1) {
    const world = await start();
    const before = world.state();
    await changeAll(world);
    await untilKilled(diesAt, () => world.undo());
    if (world.kept.at(-1)?.isUndone === false) await world.undo();
    expect({ diesAt, state: world.state() }).toEqual({ diesAt, state: before });
  }
}, 300_000);

test("file tools alone need no force after a kill: what jp was about to write is known", async () => {
  const { steps } = await untilKilled(Infinity, async () => changeFiles(await start()));
  for (let diesAt = 1; diesAt <= steps; diesAt += 1) {
    const world = await start();
    const before = world.state();
    await untilKilled(diesAt, () => changeFiles(world));
    if (world.kept.at(-1)?.turn === "turn 2") await world.undo();
    expect({ diesAt, state: world.state() }).toEqual({ diesAt, state: before });
  }
}, 300_000);
