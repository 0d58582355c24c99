import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { request } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import { Project } from "./support.ts";

/** Every command that only reads, in each form that reads differently. */
const READERS = [
  ["conversation", "ls"],
  ["conversation", "ls", "--archived"],
  ["conversation", "ls", "--format", "json"],
  ["conversation", "show"],
  ["conversation", "show", "segfault", "--format", "json"],
  ["conversation", "print"],
  ["conversation", "print", "segfault", "--format", "markdown"],
  ["conversation", "print", "torn", "--format", "json"],
  ["conversation", "grep", "crash"],
  ["conversation", "grep", "--archived", "--count", "e"],
  ["conversation", "path"],
  ["conversation", "path", "--events", "segfault"],
  ["inquiry", "ls"],
  ["inquiry", "ls", "--format", "json"],
  ["inquiry", "show", "fs_modify_file_0.apply_changes"],
];

/** Includes records that a command that writes would repair. */
function placeAll(project: Project): void {
  placeRelease(project);
  placeLegacy(project);
  project.place({
    second: 100,
    title: "Torn",
    config: {},
    events:
      '[\n  {\n    "timestamp": "2026-01-02 03:04:05.0",\n    "type": "turn_start"\n  },\n  {\n',
  });
  project.place({ second: 200, metadata: "{", config: {} });
  project.place({ second: 300, where: "archive", events: [request(300, "Put away.")] });
}

async function statusesOfAll(project: Project): Promise<(number | null)[]> {
  const finished = await Promise.all(READERS.map((words) => project.jp(...words)));
  return finished.map(({ status }) => status);
}

const ALL_DONE = READERS.map(() => 0);

describe("commands that read change no byte, name or time", () => {
  test("of a workspace and of the user's data", async () => {
    const project = new Project();
    placeAll(project);
    project.place({ second: 400, where: "local", events: [request(400, "Mine.")] });
    const before = snapshotOf(project.root, project.data, project.home, project.temporary);
    const statuses = await statusesOfAll(project);
    expect([
      statuses,
      snapshotOf(project.root, project.data, project.home, project.temporary),
    ]).toEqual([ALL_DONE, before]);
  });

  test("of a workspace without an ID, and create no data folder", async () => {
    const project = new Project({ id: null });
    placeAll(project);
    const before = snapshotOf(project.root, project.home);
    const statuses = await statusesOfAll(project);
    expect([statuses, snapshotOf(project.root, project.home), existsSync(project.data)]).toEqual([
      ALL_DONE,
      before,
      false,
    ]);
  });

  test("in a home folder without any data", async () => {
    const project = new Project();
    placeAll(project);
    const before = snapshotOf(project.root, project.home);
    const variables = { JP_USER_DATA_DIR: "" };
    const finished = await Promise.all(READERS.map((words) => project.jpWith(variables, ...words)));
    expect([finished.map(({ status }) => status), snapshotOf(project.root, project.home)]).toEqual([
      ALL_DONE,
      before,
    ]);
  });
});
