import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { FakeClock } from "../../testing/index.ts";
import { codeOf } from "../record-elements.fixture.ts";
import { snapshotOf, START, temporaryFolder } from "../temporary-workspace.fixture.ts";
import { knownWorkspaces } from "./user-data.ts";
import { createWorkspaceFolder, openWorkspace, type Workspace } from "./workspace.ts";

interface Place {
  readonly root: string;
  readonly data: string;
  readonly known: () => readonly string[];
  readonly open: (from?: string) => Workspace;
}

const clock = new FakeClock(START);

function plainFolder(): Place {
  const parent = temporaryFolder();
  const [root, data] = [path.join(parent, "notes"), path.join(parent, "data")];
  mkdirSync(root);
  const variables = { JP_USER_DATA_DIR: data, JP_SESSION: "a-test" };
  const environment = { variables, home: parent, platform: process.platform };
  const options = { environment, clock, pid: process.pid, allowsPlainFolder: true };
  return {
    root,
    data,
    known: () => knownWorkspaces(environment),
    open: (from = root) => openWorkspace({ from, ...options }),
  };
}

async function create({ conversations, session }: Workspace, title: string) {
  await using writer = await conversations.create({ title });
  await session.activate(writer.id);
  return writer.id;
}

const titles = async ({ conversations }: Workspace) =>
  (await conversations.list()).map(({ metadata, place }) => [metadata?.title, place]);

test("a folder without a workspace has its conversations and its session in the user's folder", async () => {
  const { root, data, open } = plainFolder();
  const nothing = [await titles(open()), existsSync(data)];
  const id = await create(open(), "first");
  const again = open();
  expect({
    nothing,
    titles: await titles(again),
    history: await again.session.history(),
    own: again.ownsUserFolder(),
    isPlainFolder: again.isPlainFolder,
    files: readdirSync(root),
    mode: lstatSync(again.findUserFolder() ?? "").mode & 0o777,
  }).toEqual({
    nothing: [[], false],
    titles: [["first", "local"]],
    history: [id],
    own: true,
    isPlainFolder: true,
    files: [],
    mode: 0o700,
  });
});

test("another folder, also one inside it, has its own conversations", async () => {
  const { root, open } = plainFolder();
  await create(open(), "outer");
  const inner = path.join(root, "inner");
  mkdirSync(inner);
  expect(await titles(open(inner))).toEqual([]);
});

test("a conversation of such a folder cannot be moved to a workspace that is not there", async () => {
  const { open } = plainFolder();
  const workspace = open();
  const id = await create(workspace, "first");
  expect(await codeOf(workspace.conversations.setLocal(id, false))).toBe("no_workspace");
});

test("the conversations are local ones of a workspace that is created there later", async () => {
  const { root, data, open, known } = plainFolder();
  const before = open();
  const id = await create(before, "first");
  const knownBefore = known();
  await createWorkspaceFolder(root, clock);
  const after = open();
  const read = [await titles(after), await after.session.history(), after.isPlainFolder];
  await create(after, "second");
  expect({
    knownBefore,
    read,
    both: await titles(open()),
    known: known(),
    folders: readdirSync(path.join(data, "workspace")).length,
    // A process that has been running since before still finds them.
    running: [await titles(before), await codeOf(before.conversations.archive(id))],
  }).toEqual({
    knownBefore: [root],
    read: [[["first", "local"]], [id], false],
    both: expect.arrayContaining([
      ["first", "local"],
      ["second", "workspace"],
    ]) as unknown,
    known: [root],
    folders: 1,
    running: [expect.arrayContaining([["first", "local"]]), undefined],
  });
});

test("the conversations are still there after the workspace is deleted, and created once more", async () => {
  const { root, open } = plainFolder();
  await create(open(), "first");
  const makeWorkspace = async () => {
    await createWorkspaceFolder(root, clock);
    clock.advance(1000);
    await open().ensureUserFolder();
  };
  await makeWorkspace();
  rmSync(path.join(root, ".jp"), { recursive: true });
  const without = await titles(open());
  await makeWorkspace();
  expect([without, await titles(open())]).toEqual([[["first", "local"]], [["first", "local"]]]);
});

test("a clone that brings the id of another workspace keeps the conversations of its own path only", async () => {
  counters("T-WORK-21");
  const { root, data, open } = plainFolder();
  const other = path.join(path.dirname(root), "other");
  mkdirSync(path.join(other, ".jp"), { recursive: true });
  writeFileSync(path.join(other, ".jp", ".id"), "abc12");
  await create(open(), "mine");
  const theirs = open(other);
  await using writer = await theirs.conversations.create({ title: "private", isLocal: true });
  await writer.release();
  mkdirSync(path.join(root, ".jp"));
  writeFileSync(path.join(root, ".jp", ".id"), "abc12");
  const read = await titles(open());
  await using more = await open().conversations.create({ title: "more", isLocal: true });
  expect([read, await titles(open()), await titles(open(other))]).toEqual([
    [["mine", "local"]],
    expect.arrayContaining([
      ["mine", "local"],
      ["more", "local"],
    ]),
    [["private", "local"]],
  ]);
  expect([more.id.startsWith("jp-c"), readdirSync(path.join(data, "workspace"))]).toEqual([
    true,
    ["other-abc12"],
  ]);
});

test("reading a folder without a workspace writes nothing", async () => {
  const { root, data, open } = plainFolder();
  await create(open(), "first");
  const before = snapshotOf(root, data);
  await titles(open());
  expect(snapshotOf(root, data)).toEqual(before);
});

test("a folder that does not exist is not a workspace", () => {
  const { root, open } = plainFolder();
  expect(() => open(path.join(root, "gone"))).toThrow(
    expect.objectContaining({
      code: "no_workspace",
      message: `There is no folder ${path.join(root, "gone")}.`,
    }),
  );
});
