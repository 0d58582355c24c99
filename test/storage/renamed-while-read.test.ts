/** A conversation that another process renames or moves while it is read is neither missed nor half read. */
import fs, { mkdirSync, renameSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  chatRequest,
  permission,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { fileIdToNumber } from "../../src/stores/fs/file-id.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";

const CONFIG = { assistant: { model: { id: { provider: "ollama", name: "test" } } } };

/** A conversation with a decision, and what another process does to its folder. */
async function place() {
  const { conversations: store, live, reopen } = temporaryWorkspace();
  const writer = await store.create({ title: "one", baseConfig: CONFIG });
  await writer.append(turnStart(), chatRequest("Go."), permission("call_1"));
  await writer.release();
  const folder = path.join(live, `${fileIdToNumber(writer.id)}-one`);
  const archived = path.join(live, ".archive", path.basename(folder));
  mkdirSync(path.dirname(archived));
  return {
    id: writer.id,
    live,
    conversations: reopen().conversations,
    rename: () => renameSync(folder, folder.replace(/one$/, "two")),
    archive: () => renameSync(folder, archived),
    unarchive: () => renameSync(archived, folder),
  };
}

/** The links of its chain. */
async function linksOf(store: ConversationStore, id: ConversationId): Promise<readonly unknown[]> {
  const links: unknown[] = [];
  for await (const link of store.readChain?.(id) ?? []) links.push(link);
  return links;
}

describe("a conversation that gets another title while it is read", () => {
  test("keeps its config", async () => {
    const { id, conversations, rename } = await place();
    const loading = conversations.load(id);
    rename();
    expect((await loading).stream.baseConfig).toMatchObject(CONFIG);
  });

  test("keeps the chain of its decisions", async () => {
    const { id, conversations, rename } = await place();
    const reading = linksOf(conversations, id);
    rename();
    expect(await reading).toHaveLength(2);
  });

  test("gives its fork the start of its chain", async () => {
    const { id, conversations, rename } = await place();
    const forking = conversations.fork(id);
    rename();
    expect(await linksOf(conversations, await forking)).toHaveLength(1);
  });

  test("is listed with its title and last event", async () => {
    const { id, conversations, live, rename } = await place();
    afterListing(live, rename);
    const [summary] = await conversations.list();
    expect([summary?.id, summary?.problem, summary?.metadata?.title]).toEqual([
      id,
      undefined,
      "one",
    ]);
  });

  test("is found", async () => {
    const { id, conversations, live, rename } = await place();
    afterListing(live, rename);
    expect(await conversations.find(id)).toMatchObject({ id, metadata: { title: "one" } });
  });
});

test("a list has a conversation that the system leaves out because it is renamed meanwhile", async () => {
  const { id, conversations, live, rename } = await place();
  afterListing(live, rename, (entries) => entries.slice(0, 0));
  expect((await conversations.list()).map((each) => each.id)).toEqual([id]);
});

test("a list has a conversation that leaves the archive meanwhile", async () => {
  const { id, conversations, live, archive, unarchive } = await place();
  archive();
  afterListing(live, unarchive);
  expect((await conversations.list({ which: "all" })).map((each) => each.id)).toEqual([id]);
});

test("a list leaves out a conversation that is removed meanwhile", async () => {
  const { conversations, live } = await place();
  afterListing(live, () => fs.rmSync(live, { recursive: true }));
  expect(await conversations.list()).toEqual([]);
});

/** Calls the action after the first time that this folder is listed, and changes what was listed. */
function afterListing(
  folder: string,
  action: () => void,
  change: (listed: readonly unknown[]) => readonly unknown[] = (listed) => listed,
): void {
  const { readdirSync } = fs;
  const replace = (list: typeof readdirSync) => {
    fs.readdirSync = list;
    syncBuiltinESMExports();
  };
  onTestFinished(() => replace(readdirSync));
  const list = (...given: Parameters<typeof readdirSync>) => {
    const listed = readdirSync(...given);
    if (given[0] !== folder) return listed;
    replace(readdirSync);
    action();
    return change(listed);
  };
  replace(list as unknown as typeof readdirSync); // One of its overloads.
}
