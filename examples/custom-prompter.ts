/** A custom prompter, which asks the user line by line. The model is scripted. */
import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import {
  answerFits,
  booleanQuestion,
  type DecisionRequest,
  defineTool,
  describeDecider,
  describeOutcome,
  MemoryConversationStore,
  oneLine,
  type Prompter,
  runTurn,
  verbatim,
} from "jp-ts";
import { ScriptedModel } from "jp-ts/testing";

const input = createInterface({ input: stdin });
const lines = input[Symbol.asyncIterator]();
let isThere = true;

const prompter: Prompter = {
  channel: "lines",
  canAsk: () => isThere,
  async ask(request: DecisionRequest) {
    const { inquiryId, question, label, signal } = request;
    if (request.acts) {
      // A yes lets a tool run or change something: show all of it, on one line that nothing can forge.
      const { tool, origin, folder, arguments: args } = request;
      stdout.write(`${verbatim(JSON.stringify({ tool, origin, folder, arguments: args }))}\n`);
    }
    for (;;) {
      const words = await readLine(`${label} asks: ${oneLine(question.text)}`, signal);
      if (words === undefined) return { type: "unanswered", reason: "unavailable", inquiryId };
      const answer = question.answerType.type === "boolean" ? toBoolean(words) : words;
      if (answerFits(question.answerType, answer)) {
        return { type: "answered", inquiryId, answer, userName: "Ana" };
      }
    }
  },
};

/** Undefined if the question was withdrawn, or the input has ended. */
async function readLine(text: string, signal: AbortSignal): Promise<string | undefined> {
  stdout.write(`${text}\n`);
  const withdrawn = Promise.withResolvers<undefined>();
  signal.addEventListener("abort", () => withdrawn.resolve(undefined), { once: true });
  const line = await Promise.race([lines.next(), withdrawn.promise]);
  isThere = line?.done !== true;
  return line?.done === false ? line.value : undefined;
}

function toBoolean(words: string): boolean | string {
  return words === "yes" || (words === "no" ? false : words);
}

const clean = defineTool({
  name: "clean",
  description: "Empties the folder of old builds.",
  parameters: { type: "object" },
  questions: { sure: booleanQuestion("sure", "Delete 12 old builds?", { exclusive: true }) },
  run: async (_args, { ask }) => ((await ask.sure()) ? "They are gone." : "They were kept."),
});

const model = new ScriptedModel({
  replies: [[{ type: "tool_call", id: "call_1", name: "clean" }], "I have cleaned up."],
});
const conversation = await new MemoryConversationStore().create({});
const toolConfig = { clean: { run: "ask" } } as const; // Tools of the program run unattended by default.
const options = { conversation, model, tools: [clean], toolConfig, prompter };
const { text, events } = await runTurn(options, "Clean up.");
input.close();

stdout.write(`${text}\n`);
for (const event of events) {
  if (event.type === "permission_decision") {
    stdout.write(`Permission: ${event.decision} by ${describeDecider(event.decidedBy)}\n`);
  }
  if (event.type === "inquiry_response" && event.outcome === "answered" && event.answeredBy) {
    stdout.write(`${describeOutcome(event)} by ${describeDecider(event.answeredBy)}\n`);
  }
}
