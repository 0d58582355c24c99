/** Tools that are shared between jp and an app that uses the AI SDK. The models and the person are scripted. */
import { stdout } from "node:process";
import { generateText, isStepCount, type ModelMessage } from "ai";
import { MemoryConversationStore, runTurn } from "jp-ts";
import { continueToolCall, fromAiTools, toAiTool, toClientTool } from "jp-ts/ai-sdk";
import { ScriptedModel, ScriptedPrompter } from "jp-ts/testing";
import { createSmallModel } from "./small-model.ts";
import { deploy, rollback } from "./tools.ts";

/** A turn of jp, with a tool of the AI SDK: jp asks a person for its approval. */
async function runInJp(): Promise<void> {
  const conversation = await new MemoryConversationStore().create({});
  const model = new ScriptedModel({
    replies: [
      [{ type: "tool_call", id: "call_1", name: "deploy", arguments: { version: "1.4" } }],
      [{ type: "tool_call", id: "call_2", name: "rollback", arguments: {} }],
      "It is done.",
    ],
  });
  const prompter = new ScriptedPrompter({ answers: [{ answer: true }, { answer: false }] });
  const tools = [deploy, ...fromAiTools({ rollback })];
  const { events } = await runTurn({ conversation, model, tools, prompter }, "Deploy, or go back.");
  for (const event of events) {
    if (event.type === "inquiry_request") stdout.write(`jp asks: ${event.question.text}\n`);
    if (event.type === "tool_call_response") stdout.write(`jp: ${event.content}\n`);
  }
}

/** The same tool in a request of the AI SDK, for an app that can ask in the same process. */
async function askInProcess(): Promise<void> {
  const tools = {
    deploy: toAiTool(deploy, {
      ask: async (question) => {
        stdout.write(`The app asks: ${question.text}\n`);
        return true;
      },
    }),
  };
  const model = createSmallModel();
  const { text } = await generateText({
    model,
    tools,
    prompt: "Deploy.",
    stopWhen: isStepCount(3),
  });
  stdout.write(`The app: ${text}\n`);
}

/** For a web app: the question becomes the AI SDK's request for approval, and the answer comes with the next request. */
async function askForApproval(): Promise<void> {
  const model = createSmallModel();
  const shared = toAiTool(deploy, { ask: "approval" });
  const options = { model, tools: { deploy: shared }, toolApproval: { deploy: shared.approval } };

  const messages: ModelMessage[] = [{ role: "user", content: "Deploy." }];
  const { content, response } = await generateText({ ...options, messages });
  messages.push(...response.messages);

  for (const part of content) {
    if (part.type !== "tool-approval-request") continue;
    stdout.write(`To approve: ${part.reason}\n`);
    const { approvalId } = part;
    const approval = { type: "tool-approval-response", approvalId, approved: true } as const;
    messages.push({ role: "tool", content: [approval] });
  }
  const { text } = await generateText({ ...options, messages });
  stdout.write(`After the approval: ${text}\n`);
}

/** For tools that ask for more than yes or no: the client shows the questions, and a server runs each step. */
async function leaveToClient(): Promise<void> {
  const tools = { deploy: toClientTool(deploy) };
  const { toolCalls } = await generateText({ model: createSmallModel(), tools, prompt: "Deploy." });
  for (const { input } of toolCalls) {
    const answers: Record<string, boolean> = {};
    let step = await continueToolCall(deploy, { input, answers });
    while (step.type === "question") {
      for (const { id, text } of step.questions) {
        stdout.write(`The client asks: ${text}\n`);
        answers[id] = false;
      }
      step = await continueToolCall(deploy, { input, answers });
    }
    stdout.write(`For addToolOutput: ${JSON.stringify(step)}\n`);
  }
}

await runInJp();
await askInProcess();
await askForApproval();
await leaveToClient();
