/**
 * A test program that keeps writing to conversations: it adds decisions, changes titles, archives and unarchives, forks
 * and removes the forks. It prints a line at the start, and makes fifty changes for each line it is told. Arguments:
 * the workspace, the user's data folder, a seed, the conversations.
 */
import { createInterface } from "node:readline";
import { permission } from "../../src/record/conversation/events.fixture.ts";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { isJpError, systemClock } from "../../src/util/index.ts";

const [root = "", data = "", seed = "", ...words] = process.argv.slice(2);
const ids = words.map(parseConversationId);
const { conversations } = openWorkspace({
  from: root,
  environment: { variables: { JP_USER_DATA_DIR: data }, home: root, platform: process.platform },
  clock: systemClock,
  pid: process.pid,
});

let state = Number(seed);
let count = 0;
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "go on") break;
  for (let made = 0; made < 50; made += 1) await changeOne();
}

async function changeOne(): Promise<void> {
  const id = ids[pick(ids.length)];
  if (id === undefined) return;
  count += 1;
  try {
    await change(id);
  } catch (error) {
    // Another program has it, or it is archived.
    if (!isJpError(error)) throw error;
  }
}

async function change(id: (typeof ids)[number]): Promise<void> {
  switch (pick(6)) {
    case 0:
      await conversations.archive(id);
      return conversations.unarchive(id);
    case 1:
      return conversations.unarchive(id);
    case 2:
      return conversations.remove(await conversations.fork(id));
    default: {
      await using writer = await conversations.open(id);
      await writer.append(permission(`call_${seed}_${count}`));
      // Long names fill more than one piece of a folder's listing.
      const title = `${"月".repeat(40 + pick(15))} ${count}`;
      await writer.updateMetadata((metadata) => ({ ...metadata, title }));
    }
  }
}

/** A number below the limit, from the seed. */
function pick(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}
