// In a store in the folder that it is given: runs a turn that leaves a question, or answers that and continues the turn.
import process from "node:process";
import {
  answerInquiry,
  booleanQuestion,
  defineTool,
  listPending,
  openStore,
  resumeTurn,
  runTurn,
} from "jp-ts";

const [folder, step] = process.argv.slice(2);
const tool = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => `Sure: ${await ask(booleanQuestion("sure", "Deploy it?"))}`,
});
const model = {
  id: "bench/one-call",
  async *stream() {
    if (step === "answer") {
      yield { type: "message_delta", text: "It is deployed." };
      yield { type: "response_end", reason: "done", usage: {} };
      return;
    }
    yield { type: "tool_call_request", id: "call_1", name: "deploy", arguments: {} };
    yield { type: "response_end", reason: "tool_calls", usage: {} };
  },
};
const store = await openStore(folder);
if (step === "ask") {
  const conversation = await store.create({});
  const { type } = await runTurn({ conversation, model, tools: [tool], defer: true }, "Deploy it.");
  await conversation.release();
  if (type !== "waiting") throw new Error(`The turn ended with ${type}.`);
} else {
  const [item] = await listPending(store);
  await answerInquiry(store, item, { answer: true });
  const conversation = await store.open(item.conversation);
  const { type } = await resumeTurn(conversation, { model, tools: [tool] });
  await conversation.release();
  if (type !== "done") throw new Error(`The turn ended with ${type}.`);
}
