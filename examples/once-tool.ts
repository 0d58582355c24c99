/** A tool that pays once, however often its call runs. */
import { stdout } from "node:process";
import { booleanQuestion, defineTool, MemoryConversationStore, runTurn } from "jp-ts";
import { ScriptedModel, ScriptedPrompter } from "jp-ts/testing";
import { z } from "zod";

/** A payment service. It ignores a request with a key that it has seen. */
async function pay(amount: number, idempotencyKey: string) {
  stdout.write(`Paid ${amount}, with a key of ${idempotencyKey.length} characters\n`);
  return { receipt: "r-1" };
}

const order = defineTool({
  name: "order",
  description: "Orders a book.",
  parameters: z.object({ title: z.string(), price: z.number() }),
  questions: { gift: booleanQuestion("gift", "Is it a gift?") },
  hasSteps: true,
  async run({ title, price }, { ask, once, idempotencyKey }) {
    const { receipt } = await once("pay", () => pay(price, idempotencyKey));
    const isGift = await ask.gift();
    return `Ordered ${title}${isGift ? " as a gift" : ""}, receipt ${receipt}`;
  },
});

const model = new ScriptedModel({
  replies: [
    [
      {
        type: "tool_call",
        id: "call_1",
        name: "order",
        arguments: { title: "Emma", price: 12 },
      },
    ],
    "I have ordered it.",
  ],
});
const prompter = new ScriptedPrompter({ answers: [{ answer: true }] });

const conversation = await new MemoryConversationStore().create({});
const { events } = await runTurn({ conversation, model, tools: [order], prompter }, "Order Emma.");
for (const event of events) {
  if (event.type === "attempt_start") stdout.write("Attempt\n");
  if (event.type === "tool_call_response") stdout.write(`${event.content}\n`);
}
