/** The record of a workspace, as the command keeps it: a turn is added, and all questions are listed. */
import { homedir } from "node:os";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { type Clock, openWorkspace, runTurn } from "jp-ts";
import { InquiryLog } from "jp-ts/conversation";
import { ScriptedModel } from "jp-ts/testing";

const clock: Clock = {
  now: () => new Date(),
  sleep: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
};
const { env: variables, pid, platform } = process;
const { conversations } = openWorkspace({
  from: process.cwd(),
  environment: { variables, home: homedir(), platform },
  clock,
  pid,
});

const conversation = await conversations.create({ title: "From a program" });
try {
  const model = new ScriptedModel({ replies: ["Good morning."] });
  await runTurn({ conversation, model }, "Good morning.");
} finally {
  await conversation.release(); // Until then nobody else can write to it.
}

for (const { id } of await conversations.list({ which: "all" })) {
  const { stream } = await conversations.load(id);
  const log = new InquiryLog();
  for (const { request, response } of [...log.read(stream.entries), ...log.end()]) {
    process.stdout.write(`${id} ${request.question.text}: ${response?.outcome ?? "open"}\n`);
  }
}
