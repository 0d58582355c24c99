/** A payment that two people of a role allow, neither of them the one who started it. The model is scripted. */
import { stdout } from "node:process";
import {
  answerInquiry,
  defineTool,
  type Directory,
  listPending,
  MemoryConversationStore,
  resumeTurn,
  runTurn,
} from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";
import { z } from "zod";

/** In a real program, the accounts of your service. jp asks each time, as someone may have left. */
const directory: Directory = {
  list: () => [
    { id: "u1", name: "Ada", roles: ["finance"] },
    { id: "u2", name: "Ben", roles: ["finance"] },
    { id: "u3", name: "Eve", roles: ["finance"] },
    { id: "u4", name: "Sam", roles: ["sales"] },
  ],
  findHere: () => undefined, // A service: no one sits at it.
};
const pay = defineTool({
  name: "pay",
  description: "Pays an invoice.",
  parameters: z.object({ amount: z.number() }),
  run: ({ amount }) => `Paid ${amount}.`,
});
const model = new ScriptedModel({
  replies: [
    [{ type: "tool_call", id: "call_1", name: "pay", arguments: { amount: 900 } }],
    "Done.",
  ],
});
const options = {
  model,
  tools: [pay],
  directory,
  startedBy: "Ada",
  defer: true,
  toolConfig: {
    pay: { run: "ask", target: { role: "finance", quorum: 2, not_by: "asker" } },
  },
} as const;
const store = new MemoryConversationStore();

await start();
for (const userName of ["Ada", "Sam", "Ben", "Ben", "Eve"]) await approve(userName);
await finish();

async function start() {
  await using conversation = await store.create({});
  const { type } = await runTurn({ conversation, ...options }, "Pay the invoice of 900.");
  stdout.write(`The turn: ${type}\n`);
}

/** Your program vouches for the name: it knows who is logged in. */
async function approve(userName: string) {
  for (const payment of await listPending(store)) {
    const answer = { answer: true, channel: "web", userName, directory };
    const result = await answerInquiry(store, payment, answer);
    stdout.write(`${userName}: ${result.type === "refused" ? result.code : result.type}\n`);
  }
}

async function finish() {
  for (const { id } of await store.listPending()) {
    await using conversation = await store.open(id);
    const { events } = await resumeTurn(conversation, options);
    const paid = events.find((event) => event.type === "tool_call_response");
    stdout.write(`The tool: ${paid?.content}\n`);
  }
}
