import { execFile } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { findRestored, findSeen, listSeen, noteSeen, type SeenState } from "./seen-states.ts";
import { isSteppedBack } from "../signed-state.ts";

const PLACE = { store: "db.example.com/jp#default/abcde", conversation: "jp-c17673230450" };

function stateAt(counter: number, digest = `digest ${counter}`): SeenState {
  return { ...PLACE, counter, digest, length: counter, at: "2026-01-02T03:04:05Z" };
}

/** The only file of states. */
function fileIn(folder: string): string {
  const name = readdirSync(folder).find((each) => each.endsWith(".jsonl"));
  return path.join(folder, name ?? "");
}

test("the newest state of a conversation is remembered, for each store", () => {
  const folder = path.join(temporaryFolder(), "turn-states");
  const found = [findSeen(folder, PLACE)];
  for (const counter of [1, 3, 2]) noteSeen(folder, stateAt(counter));
  noteSeen(folder, { ...stateAt(9), store: "db.example.com/jp#other/abcde" });
  noteSeen(folder, { ...stateAt(9), conversation: "jp-c176732304500" });
  found.push(findSeen(folder, PLACE));
  expect(found).toEqual([undefined, stateAt(3)]);
  expect([...listSeen(folder)].length).toBe(3);
});

test("a state is a step back if it is older, or another one with the same counter", () => {
  const seen = stateAt(3);
  const states = [stateAt(4), stateAt(3), stateAt(3, "another"), stateAt(2), stateAt(0)];
  expect(states.map((state) => isSteppedBack(state, seen))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
  expect(isSteppedBack(stateAt(0), undefined)).toBe(false);
});

test("a line that a crash has cut hides no other, before or after it", () => {
  const folder = path.join(temporaryFolder(), "turn-states");
  noteSeen(folder, stateAt(1));
  const file = fileIn(folder);
  appendFileSync(file, readFileSync(file, "utf8").slice(0, 90));
  const found = [findSeen(folder, PLACE)?.counter];
  noteSeen(folder, stateAt(2));
  found.push(findSeen(folder, PLACE)?.counter);
  writeFileSync(file, readFileSync(file, "utf8").slice(0, -20));
  found.push(findSeen(folder, PLACE)?.counter);
  expect(found).toEqual([1, 2, 1]);
});

test("only the user can read the states", () => {
  const folder = path.join(temporaryFolder(), "turn-states");
  noteSeen(folder, stateAt(1));
  const modes = [folder, fileIn(folder)].map((each) => statSync(each).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
});

test("the file stays small after ten thousand states, and keeps which were let go", () => {
  const folder = path.join(temporaryFolder(), "turn-states");
  const restored = { counter: 9, digest: "let go", length: 9, by: "ana" };
  noteSeen(folder, { ...stateAt(10), restored });
  for (let counter = 11; counter <= 10_000; counter += 1) noteSeen(folder, stateAt(counter));
  const { size, mode } = statSync(fileIn(folder));
  expect([size < 70 * 1024, mode & 0o777]).toEqual([true, 0o600]);
  expect(findSeen(folder, PLACE)?.counter).toBe(10_000);
  expect(findRestored(folder, PLACE)).toEqual([{ ...stateAt(10), restored }]);
});

/** Conversations whose states are in one file. */
function threeOfOneFile(): readonly string[] {
  const folder = temporaryFolder();
  for (let each = 1; each <= 300; each += 1)
    noteSeen(folder, { ...stateAt(1), conversation: `jp-c${each}` });
  const names = readdirSync(folder).map((name) =>
    [...readFileSync(path.join(folder, name), "utf8").matchAll(/jp-c\d+/g)].map(([id]) => id),
  );
  return names.find(({ length }) => length >= 3)?.slice(0, 3) ?? [];
}

test("processes that add states at once lose none, although the file is compacted meanwhile", async () => {
  const folder = path.join(temporaryFolder(), "turn-states");
  const module = path.join(import.meta.dirname, "seen-states.ts");
  const count = 1000;
  const program = `
    const { noteSeen } = await import(${JSON.stringify(module)});
    const [folder, conversation] = process.argv.slice(1);
    const state = { ...${JSON.stringify(stateAt(1))}, conversation };
    for (let counter = 1; counter <= ${count}; counter += 1) noteSeen(folder, { ...state, counter });`;
  const ids = threeOfOneFile();
  const words = ["--input-type=module", "-e", program, "--", folder];
  await Promise.all(ids.map((id) => promisify(execFile)(process.execPath, [...words, id])));
  expect(ids.map((conversation) => findSeen(folder, { ...PLACE, conversation })?.counter)).toEqual([
    count,
    count,
    count,
  ]);
  expect(statSync(fileIn(folder)).size).toBeLessThan(80 * 1024);
});
