/** An agent with one tool, which asks before it acts. Model and user are scripted: no API key, no network. */
import { stdout } from "node:process";
import { defineTool, MemoryConversationStore, runTurn, selectQuestion } from "jp-ts";
import { ScriptedModel, ScriptedPrompter } from "jp-ts/testing";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys a version of the site.",
  parameters: {
    type: "object",
    properties: { version: { type: "string" } },
    required: ["version"],
  },
  questions: { where: selectQuestion("where", "Where to?", { options: ["test", "live"] }) },
  async run({ version }: { readonly version: string }, { ask }) {
    // The call ends here until there is an answer, and then runs again with it.
    const where = await ask.where();
    return `Version ${version} is on ${where}.`;
  },
});

const model = new ScriptedModel({
  replies: [
    [{ type: "tool_call", id: "call_1", name: "deploy", arguments: { version: "1.4" } }],
    "It is done.",
  ],
});
const prompter = new ScriptedPrompter({ answers: [{ answer: "test" }] });

const conversation = await new MemoryConversationStore().create({});
const { text, events } = await runTurn(
  { conversation, model, tools: [deploy], prompter },
  "Deploy version 1.4.",
);

// The record has everything: the call, who allowed it, the question, and who answered.
for (const { timestamp: _timestamp, ...event } of events) {
  stdout.write(`${JSON.stringify(event)}\n`);
}
stdout.write(`The assistant: ${text}\n`);
