/**
 * A test program that runs a turn in a store, whose tool asks two questions. No one answers here. Prints each event of the
 * record. Arguments: the folder of the store.
 */
import { flushCompileCache } from "node:module";
import { booleanQuestion, defineTool, openStore, runTurn } from "../../src/index.ts";
import { ScriptedModel, ScriptedPrompter } from "../../src/testing/index.ts";

const [folder = ""] = process.argv.slice(2);
const store = await openStore(folder);
const conversation = await store.create({});
const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  async run(_args, { ask }) {
    const isBuilt = await ask(booleanQuestion("build", "Build first?"));
    const isLive = await ask(booleanQuestion("live", "To the live site?"));
    return `built: ${isBuilt}, live: ${isLive}`;
  },
});
flushCompileCache(); // It is killed before it ends.
process.stdin.resume(); // A promise alone does not keep it running.
await runTurn(
  {
    conversation,
    model: new ScriptedModel({ replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }]] }),
    tools: [deploy],
    prompter: new ScriptedPrompter({ answers: () => new Promise<never>(() => undefined) }),
    observer: {
      observe: (update) => {
        if (update.type === "event") process.stdout.write(`${update.event.type}\n`);
      },
    },
  },
  "Deploy.",
);
