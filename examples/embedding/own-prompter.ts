/** Questions put to a person by the program itself, here line by line. The model is a scripted one. */
import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";
import {
  booleanQuestion,
  defineTool,
  MemoryConversationStore,
  type Prompter,
  runTurn,
  turnsOf,
} from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";

const lines = createInterface({ input: stdin, output: stdout });

const prompter: Prompter = {
  channel: "lines",
  canAsk: () => true,
  async ask({ inquiryId, question, signal }) {
    const words = await lines.question(`${question.text} `, { signal }).catch(() => undefined);
    if (words === undefined) return { type: "cancelled", inquiryId };
    const answer = question.answerType.type === "boolean" ? words === "yes" : words;
    return { type: "answered", inquiryId, answer, isRemembered: false };
  },
  askPermission: async () => ({ type: "run", isRemembered: false }),
  askDelivery: async () => ({ type: "deliver" }),
};

const clean = defineTool({
  name: "clean",
  description: "Empties the folder of old builds.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => {
    const question = booleanQuestion("sure", "Delete 12 old builds?", { exclusive: true });
    return (await ask(question)) ? "They are gone." : "They were kept.";
  },
});

const model = new ScriptedModel({
  replies: [[{ type: "tool_call", id: "call_1", name: "clean" }], "Done."],
});
const conversation = await new MemoryConversationStore().create({});
const end = await runTurn({ conversation, model, tools: [clean], prompter }, "Clean up.");
lines.close();

const events = turnsOf(conversation.stream.entries).flatMap((turn) => turn.events);
const answer = events.find((event) => event.type === "inquiry_response");
stdout.write(`${end.type}: ${JSON.stringify(answer)}\n`);
