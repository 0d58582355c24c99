import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { World } from "../../../test/undo/world.ts";
import { applyUndo } from "./index.ts";

const FILE = "tracked.txt";
const BEFORE = "one\ntwo\n";

function start() {
  const world = new World();
  world.turn = 1;
  const file = path.join(world.root, FILE);
  return {
    world,
    read: () => readFileSync(file, "utf8"),
    write: (text: string) => writeFileSync(file, text),
    tool: (content: string) => world.tool("fs_create_file", { path: FILE, content }),
    /** A command during which jp is killed. */
    unfinished: async (text: string) => {
      await world.keeper().keepFolder(new AbortController().signal);
      writeFileSync(file, text);
    },
  };
}

describe("an undo after commands that did not finish", () => {
  test("restores the state before the first of them", async () => {
    counters("T-UNDO-5");
    const { world, read, unfinished } = start();
    await unfinished("a\n");
    await unfinished("b\n");
    await world.undo(true);
    expect(read()).toBe(BEFORE);
  });

  test("restores the state before the command, although a file tool noted a later one", async () => {
    counters("T-UNDO-5");
    const { world, read, tool, unfinished } = start();
    await unfinished("a\n");
    await tool("b\n");
    await world.undo(true);
    expect(read()).toBe(BEFORE);
  });

  test("restores the state that a file tool noted before the command", async () => {
    counters("T-UNDO-5");
    const { world, read, tool, unfinished } = start();
    await tool("a\n");
    await unfinished("b\n");
    await world.undo(true);
    expect(read()).toBe(BEFORE);
  });
});

describe("a file that someone else has changed", () => {
  test("is not overwritten if that was after the plan was shown, unforced or forced", async () => {
    counters("T-UNDO-1");
    const { world, read, write, tool } = start();
    await tool("a\n");
    const plan = await world.plan();
    write("mine\n");
    for (const isForced of [false, true]) {
      await expect(applyUndo(world.store, plan, { isForced })).rejects.toMatchObject({
        code: "undo_conflict",
      });
    }
    expect(read()).toBe("mine\n");
  });

  test("is not overwritten if it has the content of an earlier step of the turn", async () => {
    counters("T-UNDO-1");
    const { world, read, write, tool } = start();
    await tool("a\n");
    await tool("b\n");
    write("a\n");
    await expect(world.undo()).rejects.toMatchObject({ code: "undo_conflict" });
    expect(read()).toBe("a\n");
  });

  test("is not overwritten if only its mode has changed", async () => {
    counters("T-UNDO-1");
    const { world, tool } = start();
    await tool("a\n");
    chmodSync(path.join(world.root, FILE), 0o755);
    await expect(world.undo()).rejects.toMatchObject({ code: "undo_conflict" });
    expect((await world.plan()).steps).toMatchObject([{ path: FILE, conflict: "changed" }]);
  });
});

test.each(["../mine", "../../mine", "d/../../mine", "/mine", "..", ".", ""])(
  "a line of a journal about a path outside of the workspace is damage, and nothing there is touched: %j",
  async (name) => {
    counters("T-UNDO-11");
    const { world, tool } = start();
    await tool("a\n");
    const own = `${path.basename(world.root)}-mine`;
    const outside = path.join(path.dirname(world.root), own);
    writeFileSync(outside, "mine\n");
    onTestFinished(() => rmSync(outside));
    const [turn] = world.kept;
    const line = { type: "keep", path: name.replace("mine", own), before: { kind: "absent" } };
    appendFileSync(turn?.file ?? "", `${JSON.stringify(line)}\n`);
    const plan = await world.plan();
    expect([plan.turn.isDamaged, plan.steps.map((step) => step.path)]).toEqual([true, [FILE]]);
    await world.undo(true);
    expect(readFileSync(outside, "utf8")).toBe("mine\n");
  },
);

test("a read-only folder is read-only again after its files are restored", async () => {
  const { world } = start();
  const folder = path.join(world.root, "locked");
  mkdirSync(folder);
  writeFileSync(path.join(folder, "a"), "a\n");
  chmodSync(folder, 0o555);
  const before = world.state();
  await world.command("chmod 755 locked; rm locked/a; echo b > locked/b; chmod 700 locked");
  await world.undo();
  expect([world.state(), statSync(folder).mode & 0o777]).toEqual([before, 0o555]);
});

describe("a turn that continues after its undo", () => {
  test.each(["by a file tool", "by a command"])(
    "can be undone again, to the state after that undo, if a file is changed: %s",
    async (how) => {
      const { world, read, write, tool } = start();
      const change = () =>
        how === "by a command" ? world.command(`echo changed > ${FILE}`) : tool("changed\n");
      await change();
      await world.undo();
      expect([read(), world.kept.at(-1)?.isUndone]).toEqual([BEFORE, true]);
      write("mine\n");
      await change();
      expect(world.kept.at(-1)).toMatchObject({ isUndone: false });
      await world.undo();
      expect(read()).toBe("mine\n");
    },
  );

  test("can be undone again after a command that did not finish", async () => {
    const { world, read, write, unfinished } = start();
    await unfinished("a\n");
    await world.undo(true);
    write("mine\n");
    await unfinished("b\n");
    await world.undo(true);
    expect(read()).toBe("mine\n");
  });

  test("no longer has commands or unsaved changes to report", async () => {
    const { world, tool, unfinished } = start();
    await unfinished("a\n");
    await world.undo(true);
    expect(world.kept.at(-1)).toMatchObject({ hasCommands: false, openTrees: [], isUndone: true });
    await tool("b\n");
    const { steps, turn } = await world.plan();
    expect([steps.map((step) => step.conflict), turn.hasCommands]).toEqual([[undefined], false]);
  });
});
