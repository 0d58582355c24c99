/**
 * A test program that keeps writing to conversations: it adds decisions, changes titles, archives and unarchives, forks
 * and removes the forks. It prints a line at the start, and stops when its input ends. Arguments: the workspace, the
 * user's data folder, a seed, the conversations.
 */
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
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
let hasEnded = false;
void once(process.stdin.resume(), "end").then(() => {
  hasEnded = true;
});
process.stdout.write("ready\n");
for (let round = 0; !hasEnded; round += 1) {
  const id = ids[pick(ids.length)];
  if (id === undefined) break;
  try {
    await change(id, round);
  } catch (error) {
    // Another program has it, or it is archived.
    if (!isJpError(error)) throw error;
  }
  await setImmediate();
}

async function change(id: (typeof ids)[number], round: number): Promise<void> {
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
      await writer.append(permission(`call_${seed}_${round}`));
      // Long names fill more than one piece of a folder's listing.
      const title = `${"月".repeat(40 + pick(15))} ${round}`;
      await writer.updateMetadata((metadata) => ({ ...metadata, title }));
    }
  }
}

/** A number below the limit, from the seed. */
function pick(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}
