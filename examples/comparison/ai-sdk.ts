/** A refund service with the AI SDK. Messages are kept in one file for each user. */
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { z } from "zod";
import { model } from "./ai-sdk-model.ts";
import { ACCOUNTS, payBack } from "../web-service/payments.ts";

interface Answer {
  readonly id: string;
  readonly answer: unknown;
  readonly by: string;
}

interface Question {
  readonly id: string;
  readonly text: string;
  readonly options?: readonly string[];
}

const account = z.enum(ACCOUNTS);
const tools = {
  // A tool without `execute` is answered by the client. An approval cannot carry an answer.
  chooseAccount: tool({
    description: "Asks which account to use. Call it before refund.",
    inputSchema: z.object({ order: z.string() }),
  }),
  refund: tool({
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string(), amount: z.number(), account }),
    execute: payBack,
  }),
};

async function load(user: string): Promise<ModelMessage[]> {
  const text = await readFile(`${user}.json`, "utf8").catch(() => "[]");
  return JSON.parse(text);
}

function questionsIn(messages: readonly ModelMessage[]): readonly Question[] {
  const parts = messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : [...content],
  );
  const answered = parts.flatMap((part) => {
    if (part.type === "tool-approval-response") return [part.approvalId];
    return part.type === "tool-result" ? [part.toolCallId] : [];
  });
  const questions = parts.flatMap((part): readonly Question[] => {
    if (part.type === "tool-approval-request") return [{ id: part.approvalId, text: "Refund?" }];
    if (part.type !== "tool-call" || part.toolName !== "chooseAccount") return [];
    return [{ id: part.toolCallId, text: "Which account?", options: ACCOUNTS }];
  });
  return questions.filter(({ id }) => !answered.includes(id));
}

async function run(user: string, messages: ModelMessage[]) {
  if (questionsIn(messages).length === 0) {
    const { responseMessages } = await generateText({
      model,
      tools,
      messages,
      toolApproval: { refund: "user-approval" },
      stopWhen: isStepCount(10),
    });
    messages.push(...responseMessages);
  }
  await writeFile(`${user}.json`, JSON.stringify(messages));
  return { questions: questionsIn(messages), last: messages.at(-1)?.content };
}

function toMessage({ id, answer, by }: Answer, open: readonly Question[]): ModelMessage {
  const question = open.find((one) => one.id === id);
  if (question === undefined) throw new Error("This question is not open.");
  if (question.options === undefined) {
    const decision = { approved: answer === true, reason: `Decided by ${by}.` };
    const response = { type: "tool-approval-response" as const, approvalId: id, ...decision };
    return { role: "tool", content: [response] };
  }
  const output = { type: "json" as const, value: { account: account.parse(answer), by } };
  const call = { toolCallId: id, toolName: "chooseAccount" };
  return { role: "tool", content: [{ type: "tool-result", ...call, output }] };
}

async function handle(request: IncomingMessage) {
  const user = (request.url ?? "").replaceAll(/\W/g, "");
  const messages = await load(user);
  if (request.method === "GET") return { questions: questionsIn(messages) };
  const body = (await json(request)) as Answer | { readonly text: string };
  if ("id" in body) messages.push(toMessage(body, questionsIn(messages)));
  else messages.push({ role: "user", content: body.text });
  return run(user, messages);
}

// GET /ana lists Ana's questions; POST /ana sends { text }, or { id, answer, by }.
createServer(async (request, response) => {
  const result = await handle(request).catch((error: Error) => ({ error: error.message }));
  response.end(JSON.stringify(result));
}).listen(Number(process.env["PORT"] ?? 3000));
