import { chmodSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Random } from "../torture/random.ts";
import { pick, World } from "./world.ts";

test("200 random turns are undone one by one, byte for byte, with modes and links", async () => {
  for (let round = 0; round < 10; round += 1) {
    const random = new Random(round);
    const world = new World();
    const states = [world.state()];
    while (world.kept.length < 20) {
      await world.randomTurn(random);
      if (world.kept.length === states.length) states.push(world.state());
    }
    for (let turn = 19; turn >= 0; turn -= 1) {
      await world.undo();
      expect({ round, turn, state: world.state() }).toEqual({ round, turn, state: states[turn] });
    }
  }
}, 300_000);

test("each of 50 edits since a turn keeps it from being undone, unless that is forced", async () => {
  for (let round = 0; round < 50; round += 1) {
    const random = new Random(1000 + round);
    const world = new World();
    await world.randomTurn(random);
    let plan = { steps: [] } as Pick<Awaited<ReturnType<World["plan"]>>, "steps">;
    while (plan.steps.every(({ now }) => now.kind === "folder")) {
      await world.randomTurn(random);
      plan = await world.plan();
    }
    const start = await world.plan();
    const { path: edited, now } = pick(
      random,
      start.steps.filter((step) => step.now.kind !== "folder"),
    );
    const file = path.join(world.root, edited);
    if (now.kind === "file" && random.next() < 0.3) {
      chmodSync(file, now.mode === 0o640 ? 0o604 : 0o640);
    } else if (now.kind === "absent" || random.next() < 0.5) {
      try {
        rmSync(file, { force: true, recursive: true });
        writeFileSync(file, `someone else's ${round}`);
      } catch {
        continue; // Its folder is gone.
      }
    } else {
      rmSync(file, { force: true, recursive: true });
      symlinkSync("elsewhere", file);
    }
    const conflicting = world.state();
    await expect(world.undo()).rejects.toMatchObject({ code: "undo_conflict" });
    expect({ round, state: world.state() }).toEqual({ round, state: conflicting });
    expect((await world.plan()).steps.find((step) => step.path === edited)).toMatchObject({
      conflict: "changed",
    });
  }
}, 300_000);
