/**
 * A test program that tries to write as a user who may only read, and prints the result of each
 * attempt as a line of JSON. Arguments: the workspace, the user's data folder, the conversation, the
 * attempts.
 */
import { flushCompileCache } from "node:module";
import { parseConversationId } from "../../src/conversation/index.ts";
import { openWorkspace } from "../../src/storage/index.ts";
import { isCodedError, systemClock } from "../../src/util/index.ts";
import { numbered } from "../support/record-elements.ts";

const NOBODY = 65_534;
const [root = "", data = "", id = "", ...names] = process.argv.slice(2);

await import("fs-native-extensions"); // While this user may still read all of the project.
flushCompileCache();
if (process.getuid?.() === 0) {
  process.setgroups?.([NOBODY]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
}
const { conversations } = openWorkspace({
  from: root,
  environment: { variables: { JP_USER_DATA_DIR: data }, home: root, platform: process.platform },
  clock: systemClock,
  pid: process.pid,
});
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
};

for (const name of names) console.log(JSON.stringify(await outcomeOf(attempts[name])));

async function outcomeOf(attempt: (() => Promise<unknown>) | undefined) {
  try {
    await attempt?.();
    return { code: "none" };
  } catch (error) {
    if (!isCodedError(error)) return { code: "uncoded", message: String(error) };
    return { code: error.code, message: error.message };
  }
}
