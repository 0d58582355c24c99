/**
 * A program for tests: appends numbered events as fast as it can, and prints each number once its
 * append has resolved. It never ends. Arguments: the workspace, the user's data, the conversation,
 * the first number.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { parseConversationId } from "../../src/conversation/index.ts";
import { openWorkspace } from "../../src/storage/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { numbered } from "../support/record-elements.ts";

const [root = "", data = "", id = "", first = ""] = process.argv.slice(2);
const { conversations } = openWorkspace({
  from: root,
  environment: { variables: { JP_USER_DATA_DIR: data }, home: root, platform: process.platform },
  clock: systemClock,
  pid: process.pid,
});
const writer = await conversations.open(parseConversationId(id));

flushCompileCache(); // It will be killed.
for (let number = Number(first); ; number += 1) {
  // Some are long, so that the end may come in the middle of a write.
  const filler = "ä".repeat(number % 7 === 0 ? 50_000 : number % 100);
  await writer.append({ ...numbered(number), extra: { filler } });
  writeSync(1, `${number}\n`);
}
