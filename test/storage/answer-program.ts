/**
 * A test program that answers questions or has them open, as told line by line. It prints the result of each
 * answer. Arguments: the workspace, the user's data folder, its name, and the address of a database if conversations are in one.
 */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { createJournal, TurnState } from "../../src/core/agent/index.ts";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { answerBy } from "../../src/stores/open-question.fixture.ts";
import { openDirectory } from "../../src/settings/people/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";

const [root = "", data = "", name = "", url] = process.argv.slice(2);
const { conversations } = openWorkspace({
  from: root,
  environment: {
    variables: { JP_USER_DATA_DIR: data, PATH: process.env["PATH"] },
    home: root,
    platform: process.platform,
  },
  clock: systemClock,
  pid: process.pid,
  ...(url !== undefined && { database: { url } }),
});
let release = async () => {};

flushCompileCache(); // It may be killed before it ends.
say({ type: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  const [command, id = ""] = line.split(" ");
  if (command === "answer")
    say(await conversations.answer(parseConversationId(id), answerBy(name)));
  if (command === "ask") await ask(id);
  if (command === "stop") {
    await release();
    say({ type: "stopped" });
  }
}

/** As a turn does that waits for an answer. */
async function ask(id: string): Promise<void> {
  const writer = await conversations.open(parseConversationId(id));
  const journal = createJournal(writer);
  const { waiting } = new TurnState();
  waiting.listen(writer, { journal, directory: openDirectory(data) });
  await waiting.listenForSecrets();
  release = async () => {
    waiting.close();
    await writer.release();
  };
  say({ type: "asking" });
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
