/** A turn whose questions another program (program.ts) answers, over HTTP on this machine. */
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { stdout } from "node:process";
import { defineTool, MemoryConversationStore, type Prompter, runTurn, textQuestion } from "jp-ts";
import { describeDecider } from "jp-ts/render";
import { ScriptedModel } from "jp-ts/testing";
import type { Reply } from "./program.ts";

const program = fork(path.join(import.meta.dirname, "program.ts"));
const [address] = (await once(program, "message")) as [string]; // Sent by program.ts.

const prompter: Prompter = {
  channel: "answering-program",
  canAsk: () => program.connected,
  async ask({ inquiryId, question, signal }) {
    const reply = await post("/question", { question }, signal);
    if (reply.answer === undefined) return { type: "cancelled", inquiryId };
    return { type: "answered", inquiryId, answer: reply.answer };
  },
  async askPermission({ tool, arguments: args, signal }) {
    const { answer, reason = "Not allowed." } = await post(
      "/permission",
      { tool, arguments: args },
      signal,
    );
    return answer === true ? { type: "run" } : { type: "skip", reason };
  },
  askDelivery: async () => ({ type: "deliver" }),
};

/** Throws if the program is unreachable, which jp records, or if jp withdraws the question. */
async function post(to: string, body: object, signal: AbortSignal): Promise<Reply> {
  const request = { method: "POST", body: JSON.stringify(body), signal };
  const response = await fetch(new URL(to, address), request);
  return (await response.json()) as Reply; // jp checks the answer against the question.
}

const release = defineTool<{ readonly to: string }>({
  name: "release",
  description: "Releases the site.",
  parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  run: async ({ to }, { ask }) => {
    const version = await ask(textQuestion("version", "Which version?", { exclusive: true }));
    return `Version ${version} is on ${to}.`;
  },
});

const model = new ScriptedModel({
  replies: [
    [{ type: "tool_call", id: "call_1", name: "release", arguments: { to: "live" } }],
    [{ type: "tool_call", id: "call_2", name: "release", arguments: { to: "test" } }],
    "It is on test only.",
  ],
});
const conversation = await new MemoryConversationStore().create({});
const toolConfig = { release: { run: "ask" } };
const options = { conversation, model, tools: [release], toolConfig, prompter };
const { text, events } = await runTurn(options, "Release the site everywhere.");
program.disconnect();

for (const event of events) {
  if (event.type === "permission_decision") {
    const { decision, decidedBy, reason = "no reason given" } = event;
    stdout.write(`turn: ${decision} by ${describeDecider(decidedBy)}: ${reason}\n`);
  }
  if (event.type === "inquiry_response" && event.outcome === "answered" && event.answeredBy) {
    const { answer, answeredBy } = event;
    stdout.write(`turn: ${JSON.stringify(answer)} by ${describeDecider(answeredBy)}\n`);
  }
}
stdout.write(`turn: ${text}\n`);
