/**
 * A test program that tries to write as a user who may only read, and prints the result of each
 * attempt as a line of JSON. Arguments: the workspace, the user's data folder, the conversation, the
 * attempts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { createWorkspaceFolder, openStore, openWorkspace } from "../../src/stores/index.ts";
import { isJpError, systemClock } from "../../src/util/index.ts";
import { numbered } from "../../src/stores/record-elements.fixture.ts";

const NOBODY = 65_534;
const [root = "", data = "", id = "", ...names] = process.argv.slice(2);

await loadAll();
flushCompileCache();
if (process.getuid?.() === 0) {
  process.setgroups?.([NOBODY]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
}
const { conversations } = open(root, data);
const conversation = parseConversationId(id);
const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
  open: async () => {
    await using writer = await conversations.open(conversation);
    await writer.append(numbered(99));
  },
  create: () => conversations.create({ title: "New" }),
  fork: () => conversations.fork(conversation),
  remove: () => conversations.remove(conversation),
  archive: () => conversations.archive(conversation),
  load: () => conversations.load(conversation),
  openStore: () => openStore(path.join(root, "data")),
};

for (const name of names) console.log(JSON.stringify(await outcomeOf(attempts[name])));

async function outcomeOf(attempt: (() => Promise<unknown>) | undefined) {
  try {
    await attempt?.();
    return { code: "none" };
  } catch (error) {
    if (!isJpError(error)) return { code: "uncoded", message: String(error) };
    return { code: error.code, message: error.message };
  }
}

/** Loads what storage loads when it writes, while this user may still read all of the project. */
async function loadAll(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-test-"));
  await createWorkspaceFolder(folder, systemClock);
  const writer = await open(folder, path.join(folder, "data")).conversations.create({});
  await writer.release();
  await openStore(path.join(folder, "store"));
  rmSync(folder, { recursive: true });
}

function open(from: string, dataFolder: string) {
  const environment = {
    variables: { JP_USER_DATA_DIR: dataFolder, JP_SAFE_WORKSPACES: from }, // It is not of nobody.
    home: from,
    platform: process.platform,
  };
  return openWorkspace({ from, environment, clock: systemClock, pid: process.pid });
}
