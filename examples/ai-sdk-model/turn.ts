/** A turn with a language model of the AI SDK, which may also answer its tool's question. */
import { stdout } from "node:process";
import { booleanQuestion, defineTool, MemoryConversationStore, streamTurn } from "jp-ts";
import { createSmallModel } from "./small-model.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  questions: { sure: booleanQuestion("sure", "Deploy now?") },
  run: async (_args, { ask }) => ((await ask.sure()) ? "deployed" : "left alone"),
});

// Use any AI SDK language model here, such as anthropic("claude-sonnet-4-5").
const model = createSmallModel();
const conversation = await new MemoryConversationStore().create({ title: "A first conversation" });
const toolConfig = { deploy: { detached: "auto" } } as const; // Without this, a question that no person answers is refused.
const options = { conversation, model, tools: [deploy], toolConfig };
for await (const update of streamTurn(options, "Deploy the site.")) {
  if (update.type === "event") stdout.write(`${JSON.stringify(update.event)}\n`);
}
