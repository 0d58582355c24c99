/** A conversation to report on, with calls and questions of every outcome. */
import {
  booleanQuestion,
  type ConversationStore,
  defineTool,
  MemoryConversationStore,
  runTurn,
  secretQuestion,
} from "jp-ts";
import { FakeClock, ScriptedModel, ScriptedPrompter } from "jp-ts/testing";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  questions: { sure: booleanQuestion("sure", "Deploy it?", { persistence: "none" }) },
  run: async ({ to }: { readonly to: string }, { ask }) =>
    (await ask.sure({ text: `Deploy to ${to}?` })) ? `It is on ${to}.` : "Nothing was done.",
});

const sign = defineTool({
  name: "sign",
  description: "Signs the release.",
  parameters: { type: "object" },
  questions: {
    stamp: booleanQuestion("stamp", "With the time?"),
    passphrase: secretQuestion("passphrase", "Passphrase of the key?"),
  },
  run: async (_args, { ask }) => {
    const isWanted = await ask.stamp();
    await ask.passphrase();
    return isWanted ? "Signed, with the time." : "Signed.";
  },
});

const wipe = defineTool({
  name: "wipe",
  description: "Removes all releases.",
  parameters: { type: "object" },
  run: () => "They are gone.",
});

const model = new ScriptedModel({
  replies: [
    [{ type: "tool_call", id: "call_1", name: "deploy", arguments: { to: "test" } }],
    [{ type: "tool_call", id: "call_2", name: "deploy", arguments: { to: "live" } }],
    [{ type: "tool_call", id: "call_3", name: "sign" }],
    [{ type: "tool_call", id: "call_4", name: "wipe" }],
    "It is on test, and signed.",
  ],
});
const prompter = new ScriptedPrompter({
  permissions: [
    { type: "run", isRemembered: true },
    { type: "skip", isRemembered: false, reason: "we need them" },
  ],
  answers: [{ answer: true }, { isCancelled: true }, { answer: "open sesame" }],
});
const toolConfig = {
  deploy: { run: "ask" },
  sign: { questions: { stamp: { answer: true } } },
  wipe: { run: "ask" },
} as const;

export async function makeExample(): Promise<ConversationStore> {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const conversation = await store.create({ title: "Release 1.4" });
  const tools = [deploy, sign, wipe];
  try {
    await runTurn({ conversation, model, tools, toolConfig, prompter, clock }, "Release it.");
  } finally {
    await conversation.release(); // Releases the lock for other processes.
  }
  return store;
}
