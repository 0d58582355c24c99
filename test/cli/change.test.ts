import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import { configDelta, request, time, turnStart } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import {
  type Finished,
  lines,
  type Placed,
  type PlacedConversation,
  pretty,
  Project,
} from "./support.ts";

function titled(second: number, title: string, more: Partial<Placed> = {}): Placed {
  return { second, title, config: {}, events: [request(second, "Hi.")], ...more };
}

/** The folder of the fork that a command printed. */
async function folderOf(project: Project, { stdout }: Finished): Promise<string> {
  return (await project.jp("conversation", "path", stdout.trim())).stdout.trim();
}

function read(folder: string, name: string): string {
  return readFileSync(path.join(folder, name), "utf8");
}

function compaction(last: number): JsonObject {
  return { type: "compaction", timestamp: time(26), from_turn: 0, to_turn: last };
}

function turn(number: number): readonly JsonObject[] {
  return [turnStart(number * 10), request(number * 10 + 1, "Hi.")];
}

/** The folder of an archived conversation. */
function archiveOf({ folder }: PlacedConversation): string {
  return path.join(path.dirname(folder), ".archive", path.basename(folder));
}

describe("a fork", () => {
  test("copies the record byte for byte under a new ID", async () => {
    const project = new Project();
    const release = placeRelease(project);
    const before = snapshotOf(release.folder);
    const forked = await project.jp("conversation", "fork", release.id);
    const folder = await folderOf(project, forked);
    const metadata = JSON.parse(read(folder, "metadata.json")) as Record<string, unknown>;
    expect({
      stderr: forked.stderr,
      isNew: forked.stdout.trim() !== release.id,
      folder: path.basename(folder),
      events: read(folder, "events.json"),
      config: read(folder, "base_config.json"),
      title: metadata["title"],
      original: snapshotOf(release.folder),
    }).toEqual({
      stderr: "",
      isNew: true,
      folder: `${forked.stdout.trim().slice("jp-c".length)}-release-1-2`,
      events: readFileSync(release.events, "utf8"),
      config: pretty({ assistant: { name: "jp" } }),
      title: "Release 1.2",
      original: before,
    });
  });

  test("of a packed conversation stays packed", async () => {
    const project = new Project();
    const legacy = placeLegacy(project);
    const folder = await folderOf(project, await project.jp("conversation", "fork", legacy.id));
    expect({
      events: read(folder, "events.json"),
      hasConfig: existsSync(path.join(folder, "base_config.json")),
    }).toEqual({ events: readFileSync(legacy.events, "utf8"), hasConfig: false });
  });

  test.each([
    [["--first", "1"], [1]],
    [["--last", "1"], [3]],
    [
      ["--turn", "2.."],
      [2, 3],
    ],
  ])("with %j keeps those turns, all config and all unknown events", async (flags, turns) => {
    const project = new Project();
    const unknown = { timestamp: time(25), type: "from_the_future", deep: { kept: [1] } };
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        ...turn(1),
        configDelta(15, { a: 1 }),
        ...turn(2),
        unknown,
        compaction(0),
        compaction(1),
        ...turn(3),
      ],
    });
    const folder = await folderOf(project, await project.jp("conversation", "fork", id, ...flags));
    const kept = (number: number) => (turns.includes(number) ? turn(number) : []);
    expect(read(folder, "events.json")).toBe(
      laidOut([
        ...kept(1),
        configDelta(15, { a: 1 }),
        ...kept(2),
        unknown,
        // It covers the same turns as before.
        ...(turns.includes(1) ? [compaction(0)] : []),
        ...kept(3),
      ]),
    );
  });

  test("can set a title and become the active conversation", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const forked = await project.jp("conversation", "fork", id, "-t", "A copy", "--activate");
    const { stdout } = await project.jp("conversation", "path", "active");
    expect(stdout).toMatch(new RegExp(`/${forked.stdout.trim().slice(4)}-a-copy\n$`));
  });

  test("of turns that do not exist fails and creates nothing", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const before = snapshotOf(project.root, project.data);
    const { status } = await project.jp("conversation", "fork", id, "--turn", "7");
    expect([status, snapshotOf(project.root, project.data)]).toEqual([2, before]);
  });
});

describe("removing a conversation", () => {
  test("deletes both copies and no other conversation", async () => {
    const project = new Project();
    const one = project.place(titled(0, "One"));
    const copy = project.place(titled(0, "One", { where: "local" }));
    const two = project.place(titled(1, "Two"));
    const three = project.place(titled(2, "Three"));
    expect(await project.jp("conversation", "rm", one.id, "two", "--yes")).toEqual({
      status: 0,
      stdout: "",
      stderr: lines(`Deleted ${one.id}.`, `Deleted ${two.id}.`),
    });
    expect([one, copy, two, three].map(({ folder }) => existsSync(folder))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test("without a terminal fails and changes nothing", async () => {
    const project = new Project();
    const { id } = project.place(titled(0, "One"));
    const before = snapshotOf(project.root, project.data);
    expect(await project.jp("conversation", "rm", id)).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(
        "jp: Cannot ask for confirmation: no terminal is available.",
        "Use --yes to delete without confirmation.",
      ),
    });
    expect(snapshotOf(project.root, project.data)).toEqual(before);
  });

  test("does nothing if one of several targets does not exist", async () => {
    const project = new Project();
    const { id, folder } = project.place(titled(0, "One"));
    const { status } = await project.jp("conversation", "rm", "--yes", id, "nothing");
    expect({ status, isThere: existsSync(folder) }).toEqual({ status: 1, isThere: true });
  });
});

describe("the archive", () => {
  test("archives conversations and restores them unchanged", async () => {
    const project = new Project();
    const one = project.place(titled(0, "One", { slug: "one", metadata: { unknown_key: 1 } }));
    const two = project.place(titled(1, "Two"));
    const events = readFileSync(one.events, "utf8");
    const metadata = readFileSync(one.metadata, "utf8");

    const archived = await project.jp("conversation", "archive", "one", "two");
    const stamped = JSON.parse(read(archiveOf(one), "metadata.json")) as Record<string, unknown>;
    expect({ archived, stamped, isThere: existsSync(two.folder) }).toEqual({
      archived: {
        status: 0,
        stdout: "",
        stderr: lines(`Archived ${one.id}.`, `Archived ${two.id}.`),
      },
      stamped: {
        title: "One",
        last_activated_at: time(0),
        archived_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+$/) as unknown,
        unknown_key: 1,
      },
      isThere: false,
    });

    const back = await project.jp("conversation", "unarchive", one.id);
    expect({
      back,
      events: readFileSync(one.events, "utf8"),
      metadata: readFileSync(one.metadata, "utf8"),
      isArchived: existsSync(archiveOf(one)),
    }).toEqual({
      back: { status: 0, stdout: "", stderr: `Restored ${one.id}.\n` },
      events,
      metadata,
      isArchived: false,
    });
  });

  test("reports conversations that are already archived, or not archived", async () => {
    const project = new Project();
    const live = project.place(titled(0, "Live"));
    const old = project.place(titled(1, "Old", { where: "archive" }));
    const before = snapshotOf(path.join(project.root, ".jp"));
    const [archived, unarchived] = await Promise.all([
      project.jp("conversation", "archive", old.id),
      project.jp("conversation", "unarchive", live.id),
    ]);
    expect([archived, unarchived, snapshotOf(path.join(project.root, ".jp"))]).toEqual([
      { status: 0, stdout: "", stderr: `${old.id} is already archived.\n` },
      { status: 0, stdout: "", stderr: `${live.id} is not archived.\n` },
      before,
    ]);
  });

  test("can be read but not written to", async () => {
    const project = new Project();
    const { id } = project.place(titled(0, "Old", { where: "archive" }));
    const [printed, edited] = await Promise.all([
      project.jp("conversation", "print", id, "--format", "json"),
      project.jp("conversation", "edit", id, "--title", "New"),
    ]);
    expect([printed.stdout, edited]).toEqual([
      `${JSON.stringify(request(0, "Hi."))}\n`,
      {
        status: 1,
        stdout: "",
        stderr: lines(
          `jp: Conversation ${id} is archived.`,
          `Unarchive it first: jp conversation unarchive ${id}`,
        ),
      },
    ]);
  });
});
