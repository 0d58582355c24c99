/** A turn that leaves its question, an answer to it from elsewhere, and the turn that goes on. The model is scripted. */
import { stdout } from "node:process";
import {
  answerInquiry,
  defineTool,
  listPending,
  MemoryConversationStore,
  resumeTurn,
  runTurn,
  selectQuestion,
} from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  async run(_args, { ask }) {
    const where = await ask(selectQuestion("where", "Where to?", { options: ["test", "live"] }));
    return `The site is on ${where}.`;
  },
});
const model = new ScriptedModel({
  replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }], "It is done."],
});

// Each part may run in a process of its own, if the store is that of a workspace.
const store = new MemoryConversationStore();
const options = { model, tools: [deploy], defer: true };

// A job that no one watches.
const conversation = await store.create({});
const { type } = await runTurn({ conversation, ...options }, "Deploy the site.");
await conversation.release();
stdout.write(`The job: ${type}\n`);

// Whoever has time, for example on a web page.
for (const { conversation: id, id: inquiryId, question } of await listPending(store)) {
  const answer = { answer: "test", channel: "web", userName: "Ana" };
  const result = await answerInquiry(store, `${id}/${inquiryId}`, answer);
  stdout.write(`${question.text} ${answer.answer}: ${result.type}\n`);
}

// The next run of the job.
for (const { id } of await store.listPending()) {
  await using left = await store.open(id);
  const { text } = await resumeTurn(left, options);
  stdout.write(`The job: ${text}\n`);
}
