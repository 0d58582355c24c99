import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { watchFiles } from "../file-access.fixture.ts";
import { laidOut, numberedElements, time } from "../record-elements.fixture.ts";
import { placeConversation, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { fileIdFromNumber } from "./file-id.ts";

const FIRST = 17_000_000_000;
const OTHERS = 32;
/** Longer than the time in which a changed file is not trusted. */
const LATER_MS = 10_000;
const HOUR_MS = 60 * 60 * 1000;

test("a list of unchanged conversations opens one file", async () => {
  const { list, settle } = workspaceOf(100);
  settle();
  const before = await list();
  expect(before).toHaveLength(100);
  const { opened } = watchFiles();
  expect(await list()).toEqual(before);
  expect(opened).toEqual([expect.stringMatching(/\/jp-ts\/lists\/[0-9a-f]{16}\.json$/)]);
});

test("a list reads only the conversations that have changed since", async () => {
  const { list, settle, folders } = workspaceOf(5);
  settle();
  await list();
  const [, changed = ""] = folders;
  writeFileSync(path.join(changed, "events.json"), laidOut(numberedElements(9)));
  const { opened } = watchFiles();
  expect((await list()).map(({ lastEventAt }) => lastEventAt)).toContain(time(8));
  expect(opened.filter((file) => folders.includes(path.dirname(file)))).toEqual([
    path.join(changed, "metadata.json"),
    path.join(changed, "events.json"),
  ]);
});

test("a change of the same size and with the same time of change is seen", async () => {
  const { list, settle, folders } = workspaceOf(2);
  settle();
  await list();
  const file = path.join(folders[0] ?? "", "events.json");
  const { atime, mtime } = statSync(file);
  const text = readFileSync(file, "utf8");
  const before = (await list()).map(({ lastEventAt }) => lastEventAt);
  writeFileSync(file, text.replaceAll("2026-", "2025-"));
  utimesSync(file, atime, mtime);
  expect((await list()).map(({ lastEventAt }) => lastEventAt)).not.toEqual(before);
});

test("metadata that another program has changed is seen within an hour", async () => {
  const { list, settle, pass, folders } = workspaceOf(2);
  settle();
  await list();
  const file = path.join(folders[0] ?? "", "metadata.json");
  const { atime, mtime } = statSync(file);
  writeFileSync(file, readFileSync(file, "utf8").replace("Number 0", "Numero 0"));
  utimesSync(file, atime, mtime);
  pass(HOUR_MS - LATER_MS);
  await list();
  pass(2 * LATER_MS);
  expect(await titles(list)).toEqual(["Number 1", "Numero 0"]);
});

test("metadata that jp has changed is seen at once", async () => {
  const { list, settle, workspace } = workspaceOf(2);
  settle();
  await list();
  await using writer = await workspace.conversations.open(fileIdFromNumber(FIRST));
  await writer.updateMetadata((metadata) => ({ ...metadata, labels: { kind: "bug" } }));
  const found = (await list()).map(({ metadata }) => metadata?.labels);
  expect(found).toContainEqual({ kind: "bug" });
});

test("a file that has changed just now is not trusted, since it may change again without a new time", async () => {
  const { list, folders } = workspaceOf(3);
  await list();
  const { opened } = watchFiles();
  await list();
  expect(opened.filter((file) => folders.some((folder) => file.startsWith(folder)))).toHaveLength(
    6,
  );
});

test("conversations that were removed, renamed, archived and added are seen at once", async () => {
  const { list, settle, folders, workspace } = workspaceOf(4);
  settle();
  await list();
  const [removed = "", renamed = "", archived = ""] = folders;
  rmSync(removed, { recursive: true });
  renameSync(renamed, `${renamed}-renamed`);
  mkdirSync(path.join(path.dirname(archived), ".archive"));
  renameSync(archived, path.join(path.dirname(archived), ".archive", path.basename(archived)));
  place(path.dirname(removed), 9);
  expect(await titles(list)).toEqual(["Number 1", "Number 3", "Number 9"]);
  const inArchive = await workspace.conversations.list({ which: "archived" });
  expect(inArchive.map(({ metadata }) => metadata?.title)).toEqual(["Number 2"]);
  expect(await titles(list)).toEqual(["Number 1", "Number 3", "Number 9"]);
});

test("a conversation of another name in the same place is not mistaken for the one before", async () => {
  const { list, settle, folders } = workspaceOf(2);
  settle();
  await list();
  const [first = "", second = ""] = folders;
  renameSync(first, `${first}.away`);
  renameSync(second, first);
  renameSync(`${first}.away`, second);
  const found = (await list()).map(({ id, metadata }) => [id, metadata?.title]);
  expect(Object.fromEntries(found)).toEqual({
    [fileIdFromNumber(FIRST)]: "Number 1",
    [fileIdFromNumber(FIRST + 1)]: "Number 0",
  });
});

test("the index keeps all of the metadata", async () => {
  const { list, settle, folders } = workspaceOf(1);
  const metadata = {
    last_activated_at: "2026-01-02 03:04:05.0",
    pinned_at: "2026-01-03 03:04:05.0",
    labels: { kind: "bug" },
    of_another_version: [1, { two: null }],
  };
  writeFileSync(path.join(folders[0] ?? "", "metadata.json"), JSON.stringify(metadata));
  settle();
  const before = await list();
  const { opened } = watchFiles();
  expect(await list()).toEqual(before);
  expect(opened).toHaveLength(1);
});

test("a conversation with a problem is read each time", async () => {
  const { list, settle, folders } = workspaceOf(2);
  const file = path.join(folders[0] ?? "", "metadata.json");
  writeFileSync(file, "{");
  settle();
  const before = await list();
  expect(before.filter(({ problem }) => problem !== undefined)).toHaveLength(1);
  const { opened } = watchFiles();
  expect(await list()).toEqual(before);
  expect(opened).toContain(file);
});

test("a folder that was replaced with a link is reported as one", async () => {
  const { list, settle, folders, elsewhere } = workspaceOf(2);
  settle();
  await list();
  const [first = ""] = folders;
  renameSync(first, path.join(elsewhere, "moved"));
  symlinkSync(path.join(elsewhere, "moved"), first);
  const problems = (await list()).flatMap(({ problem }) => problem ?? []);
  expect(problems).toEqual([expect.stringContaining("symbolic link")]);
});

test("a removed conversation leaves no title behind", async () => {
  const { list, settle, workspace, index } = workspaceOf(2);
  settle();
  await list();
  expect(readFileSync(index(), "utf8")).toContain("Number 0");
  await workspace.conversations.remove(fileIdFromNumber(FIRST));
  const text = readFileSync(index(), "utf8");
  expect([text.includes("Number 0"), text.includes("Number 1")]).toEqual([false, true]);
});

test("the index can be read by its owner only", async () => {
  const { list, settle, index } = workspaceOf(1);
  settle();
  await list();
  const modes = [index(), path.dirname(index()), path.dirname(path.dirname(index()))];
  expect(modes.map((file) => lstatSync(file).mode & 0o777)).toEqual([0o600, 0o700, 0o700]);
});

test.each<readonly [string, (file: string, text: string) => void]>([
  ["cut off", (file, text) => writeFileSync(file, text.slice(0, 200))],
  ["empty", (file) => writeFileSync(file, "")],
  ["zeros", (file, text) => writeFileSync(file, "\0".repeat(text.length))],
  ["another version", (file, text) => rewrite(file, text, { version: 0 })],
  ["another workspace's", (file, text) => rewrite(file, text, { workspace: "/elsewhere" })],
  [
    "columns of different lengths",
    (file, text) => rewriteFolder(file, text, { titles: ["Wrong"] }),
  ],
  ["titles that are no text", (file, text) => rewriteFolder(file, text, { titles: [1, {}] })],
  ["times that are no times", (file, text) => rewriteFolder(file, text, { lastUses: ["x", 5] })],
  ["readable by others", (file) => chmodSync(file, 0o644)],
  [
    "a link",
    (file) => {
      renameSync(file, `${file}.moved`);
      symlinkSync(`${file}.moved`, file);
    },
  ],
  [
    "a folder",
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
])("an index that is not jp's own is ignored: %s", async (_name, damage) => {
  const { list, settle, index, folders } = workspaceOf(2);
  settle();
  const before = await list();
  const file = index();
  damage(file, readFileSync(file, "utf8"));
  const { opened } = watchFiles();
  expect(await list()).toEqual(before);
  expect(opened.filter((name) => folders.some((each) => name.startsWith(each)))).toHaveLength(4);
});

test("nothing is cached for a few conversations", async () => {
  const { live, clock, environment, reopen, data } = temporaryWorkspace();
  const home = path.join(path.dirname(data), "home");
  mkdirSync(home);
  for (let number = 0; number < 10; number += 1) place(live, number);
  clock.advance(Date.now() + LATER_MS - clock.now().getTime());
  const { conversations } = reopen({ environment: { ...environment, home } });
  expect(await conversations.list()).toHaveLength(10);
  expect(readdirSync(home)).toEqual([]);
});

test("nothing is cached inside of the workspace, where a clone could bring it along", async () => {
  const { list, settle, workspace } = workspaceOf(1, { homeIn: "workspace" });
  settle();
  expect(await list()).toHaveLength(1);
  expect(readdirSync(path.join(workspace.root, "home"))).toEqual([]);
});

test("a list does without a cache folder that cannot be made", async () => {
  const { list, settle, home } = workspaceOf(2);
  settle();
  writeFileSync(path.join(home, ".cache"), "not a folder");
  expect(await titles(list)).toEqual(["Number 0", "Number 1"]);
});

test("an append by a writer of this store is in the next list", async () => {
  const { list, settle, workspace, folders } = workspaceOf(2);
  settle();
  await list();
  const file = path.join(folders[0] ?? "", "events.json");
  appendFileSync(file, "");
  await using writer = await workspace.conversations.open(fileIdFromNumber(FIRST));
  await writer.append({ type: "chat_request", timestamp: time(500), content: "more" });
  expect((await list()).map(({ lastEventAt }) => lastEventAt)).toContain(time(500));
});

interface TestOptions {
  /** Where the user's home is: beside the workspace unless said otherwise. */
  readonly homeIn?: "workspace";
}

function workspaceOf(count: number, { homeIn }: TestOptions = {}) {
  const { root, environment, clock, live, reopen, data } = temporaryWorkspace();
  const elsewhere = path.dirname(data);
  const home = path.join(homeIn === "workspace" ? root : elsewhere, "home");
  mkdirSync(home, { recursive: true });
  const workspace = reopen({ environment: { ...environment, home } });
  const folders = Array.from({ length: count }, (_, number) => place(live, number));
  // Few conversations are not worth an index.
  for (let number = 0; number < OTHERS; number += 1) place(live, 1000 + number, "Other");
  const lists = path.join(home, process.platform === "darwin" ? "Library/Caches" : ".cache");
  return {
    workspace,
    folders,
    home,
    elsewhere,
    list: async () => {
      const found = await workspace.conversations.list();
      return found.filter(({ metadata }) => metadata?.title !== "Other");
    },
    /** Makes it later than all changes so far. */
    settle: () => clock.advance(Date.now() + LATER_MS - clock.now().getTime()),
    pass: (milliseconds: number) => clock.advance(milliseconds),
    index: () => {
      const folder = path.join(lists, "jp-ts", "lists");
      return path.join(folder, readdirSync(folder)[0] ?? "");
    },
  };
}

function place(parent: string, number: number, title = `Number ${number}`): string {
  return placeConversation(path.join(parent, `${FIRST + number}`), {
    events: laidOut(numberedElements(number + 1)),
    metadata: JSON.stringify({
      title,
      last_activated_at: "2026-01-02 03:04:05.0",
    }),
    baseConfig: "{}",
  });
}

async function titles(list: ReturnType<typeof workspaceOf>["list"]) {
  return (await list()).map(({ metadata }) => metadata?.title ?? "").toSorted(byText);
}

function byText(left: string, right: string): number {
  return left < right ? -1 : 1;
}

function rewrite(file: string, text: string, change: object): void {
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), ...change }));
}

function rewriteFolder(file: string, text: string, change: object): void {
  const { folders } = JSON.parse(text) as { folders: object[] };
  rewrite(file, text, { folders: folders.map((folder) => ({ ...folder, ...change })) });
}
