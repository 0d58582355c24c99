/** A tool that asks several questions as one form. Its parameters are a zod schema. */
import { stdout } from "node:process";
import { defineTool, MemoryConversationStore, runTurn, selectQuestion, textQuestion } from "jp-ts";
import { ScriptedModel, ScriptedPrompter } from "jp-ts/testing";
import { z } from "zod";

const report = defineTool({
  name: "report",
  description: "Reports a problem with a service.",
  parameters: z.object({ service: z.string(), copies: z.number().default(1) }),
  async run({ service, copies }, { askAll, notes }) {
    const { title, severity } = await askAll({
      title: textQuestion("title", "What happened?", { allowsNote: true }),
      severity: selectQuestion("severity", "How bad is it?", { options: ["low", "high"] }),
    });
    const note = notes["title"] ?? "no details";
    const sign = severity === "high" ? "!" : "";
    return `${service}${sign} ${title} (${note}), copies: ${copies}`;
  },
});

const model = new ScriptedModel({
  replies: [
    [{ type: "tool_call", id: "call_1", name: "report", arguments: { service: "mail" } }],
    "I have reported it.",
  ],
});
const prompter = new ScriptedPrompter({
  forms: [[{ answer: "It is slow.", note: "since Monday" }, { answer: "high" }]],
});

const conversation = await new MemoryConversationStore().create({});
const { events } = await runTurn(
  { conversation, model, tools: [report], prompter },
  "Report that mail is slow.",
);
stdout.write(`Forms: ${prompter.forms.length}\n`);
for (const event of events) {
  if (event.type === "tool_call_response") stdout.write(`${event.content}\n`);
}
