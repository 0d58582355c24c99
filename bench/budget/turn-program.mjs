// Runs a turn that leaves a question, in a store in the folder that it is given.
import process from "node:process";
import { booleanQuestion, defineTool, openStore, runTurn } from "jp-ts";

const tool = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => `Sure: ${await ask(booleanQuestion("sure", "Deploy it?"))}`,
});
const model = {
  id: "bench/one-call",
  async *stream() {
    yield { type: "tool_call_request", id: "call_1", name: "deploy", arguments: {} };
    yield { type: "response_end", reason: "tool_calls", usage: {} };
  },
};
const store = await openStore(process.argv[2]);
const conversation = await store.create({});
const { type } = await runTurn({ conversation, model, tools: [tool], defer: true }, "Deploy it.");
await conversation.release();
if (type !== "waiting") throw new Error(`The turn ended with ${type}.`);
