/** Any language model of the AI SDK as the model. Nobody is there but the model: it answers its tool. */
import { stdout } from "node:process";
import { booleanQuestion, defineTool, MemoryConversationStore, streamTurn } from "jp-ts";
import { createSmallModel } from "./small-model.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  run: async (_args, { ask }) =>
    (await ask(booleanQuestion("sure", "Deploy now?"))) ? "deployed" : "left alone",
});

// Any language model of the AI SDK goes here: anthropic("claude-sonnet-4-5"), for one.
const model = createSmallModel();
const conversation = await new MemoryConversationStore().create({ title: "A first conversation" });
const options = { conversation, model, tools: [deploy] };
for await (const update of streamTurn(options, "Deploy the site.")) {
  if (update.type === "event") stdout.write(`${JSON.stringify(update.event)}\n`);
}
