import { chmodSync, existsSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import type { UndoPlan, UndoStep } from "../../src/reach/undo/index.ts";
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
  counters("T-UNDO-1");
  const refused: string[] = [];
  for (let round = 0; refused.length < 50; round += 1) {
    const random = new Random(1000 + round);
    const world = new World();
    let before = world.state();
    let steps: UndoPlan["steps"] = [];
    while (steps.length === 0) {
      const isKept = world.kept.length;
      before = world.state();
      await world.randomTurn(random);
      if (world.kept.length === isKept) continue;
      steps = (await world.plan()).steps.filter((step) => canEdit(world, step));
    }
    const step = pick(random, steps);
    edit(world, step, random);
    const conflicting = world.state();
    await expect(world.undo(), `round ${round}`).rejects.toMatchObject({ code: "undo_conflict" });
    expect({ round, state: world.state() }).toEqual({ round, state: conflicting });
    const { steps: again } = await world.plan();
    expect(again.find(({ path: name }) => name === step.path)).toMatchObject({
      conflict: "changed",
    });
    await world.undo(true);
    expect({ round, state: world.state() }).toEqual({ round, state: before });
    refused.push(step.path);
  }
  expect(refused).toHaveLength(50);
}, 300_000);

/** Its folder must be there, and no link. */
function canEdit({ root }: World, { path: name, now }: UndoStep): boolean {
  const folder = path.join(root, path.dirname(name));
  const isThere =
    existsSync(folder) &&
    realpathSync(folder) === path.join(realpathSync(root), path.dirname(name));
  return now.kind !== "folder" && isThere;
}

/** By someone else: another mode, other content, or a link. */
function edit(world: World, { path: name, now }: UndoStep, random: Random): void {
  const file = path.join(world.root, name);
  if (now.kind === "file" && random.next() < 0.3) {
    return chmodSync(file, now.mode === 0o640 ? 0o604 : 0o640);
  }
  rmSync(file, { force: true });
  if (random.next() < 0.5) writeFileSync(file, "someone else's");
  else symlinkSync("someone else's", file);
}
