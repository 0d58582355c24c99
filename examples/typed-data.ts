/** Data in place of text, with a schema of zod. The model is scripted, and needs two tries: no API key, no network. */
import { stdout } from "node:process";
import { MemoryConversationStore, runTurn } from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";
import { z } from "zod";

const model = new ScriptedModel({
  replies: ['{"city":"Rome","people":"many"}', '{"city":"Rome","people":2800000}'],
});
const conversation = await new MemoryConversationStore().create({});

const schema = z.object({ city: z.string(), people: z.number().int() });
const content = "Which city in Italy is the largest?";
const result = await runTurn({ conversation, model }, { content, schema });
if (result.data !== undefined) stdout.write(`${result.data.city}: ${result.data.people}\n`);
else if (result.type === "invalid_data") stdout.write(`No answer: ${result.problem}\n`);

// What jp said to the model in between is on record, too.
for (const event of result.events) {
  if (event.type === "chat_request" && event.correction !== undefined) {
    stdout.write(`Asked again: ${event.correction}\n`);
  }
}
