/**
 * A test program that opens a conversation on demand, prints whether it succeeded, and holds it until
 * told to release it. Arguments: the workspace, the user's data folder, the conversation.
 */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { type ConversationWriter, openWorkspace } from "../../src/stores/index.ts";
import { isJpError, systemClock } from "../../src/util/index.ts";

const [root = "", data = "", id = ""] = process.argv.slice(2);
const { conversations } = openWorkspace({
  from: root,
  environment: {
    variables: { JP_USER_DATA_DIR: data, PATH: process.env["PATH"] },
    home: root,
    platform: process.platform,
  },
  clock: systemClock,
  pid: process.pid,
});
let writer: ConversationWriter | undefined;

flushCompileCache(); // It may be killed before it ends.
say({ type: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "open") await open();
  if (line === "release") {
    await writer?.release();
    say({ type: "released" });
  }
}

async function open(): Promise<void> {
  try {
    writer = await conversations.open(parseConversationId(id));
    say({ type: "opened" });
  } catch (error) {
    if (!isJpError(error)) throw error;
    say({ type: "refused", code: error.code, message: error.message });
  }
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
