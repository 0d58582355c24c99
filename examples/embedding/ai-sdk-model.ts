/** A turn with any language model of the AI SDK and a tool that asks. Nobody is there but the model. */
import { stdout } from "node:process";
import { anthropic } from "@ai-sdk/anthropic";
import { booleanQuestion, defineTool, MemoryConversationStore, streamTurn } from "jp-ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  run: async (_args, { ask }) =>
    (await ask(booleanQuestion("sure", "Deploy now?"))) ? "deployed" : "left alone",
});

const conversation = await new MemoryConversationStore().create({ title: "A first conversation" });
const options = { conversation, model: anthropic("claude-sonnet-4-5"), tools: [deploy] };
for await (const update of streamTurn(options, "Deploy the site.")) {
  if (update.type === "event") stdout.write(`${JSON.stringify(update.event)}\n`);
}
