/**
 * A turn that leaves its question, an answer to it from elsewhere, and the turn that goes on. Nothing but files connects
 * the three parts. The model is scripted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stdout } from "node:process";
import {
  answerInquiry,
  defineTool,
  listPending,
  openStore,
  resumeTurn,
  runTurn,
  selectQuestion,
} from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  questions: { where: selectQuestion("where", "Where to?", { options: ["test", "live"] }) },
  async run(_args, { ask }) {
    const where = await ask.where();
    return `The site is on ${where}.`;
  },
});
const model = new ScriptedModel({
  replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }], "It is done."],
});

const options = { model, tools: [deploy], defer: true };
const folder = mkdtempSync(path.join(tmpdir(), "answer-later-"));

await startJob();
await answer();
await finishJobs();
rmSync(folder, { recursive: true });

// A job that no one watches. It ends at the question.
async function startJob() {
  const store = await openStore(folder);
  await using conversation = await store.create({});
  const { type } = await runTurn({ conversation, ...options }, "Deploy the site.");
  stdout.write(`The job: ${type}\n`);
}

// Whoever has time, for example on a web page.
async function answer() {
  const store = await openStore(folder);
  for (const { conversation: id, id: inquiryId, question } of await listPending(store)) {
    const given = { answer: "test", channel: "web", userName: "Ana" };
    const { type } = await answerInquiry(store, `${id}/${inquiryId}`, given);
    stdout.write(`${question.text} ${given.answer}: ${type}\n`);
  }
}

// The next run of the job.
async function finishJobs() {
  const store = await openStore(folder);
  for (const { id } of await store.listPending()) {
    await using conversation = await store.open(id);
    const { text } = await resumeTurn(conversation, options);
    stdout.write(`The job: ${text}\n`);
  }
}
