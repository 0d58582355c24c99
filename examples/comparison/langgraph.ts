/** A refund service with LangGraph. The checkpointer keeps the state of each user in a SQLite file. */
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { Command, interrupt } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { model } from "./langgraph-model.ts";
import { ACCOUNTS, payBack } from "../web-service/payments.ts";

interface Answer {
  readonly id: string;
  readonly answer: unknown;
  readonly by: string;
}

const approval = z.object({ answer: z.boolean(), by: z.string() });
const choice = z.object({ answer: z.enum(ACCOUNTS), by: z.string() });

const refund = tool(
  async ({ order, amount }) => {
    // Everything before an interrupt runs again with each answer.
    const text = `Refund ${amount} for ${order}?`;
    const { answer: isApproved, by } = interrupt({ text }, { responseSchema: approval });
    if (!isApproved) return `Denied by ${by}.`;
    const question = { text: "Which account?", options: ACCOUNTS };
    const { answer: account } = interrupt(question, { responseSchema: choice });
    return payBack({ order, amount, account });
  },
  {
    name: "refund",
    description: "Refunds an order.",
    schema: z.object({ order: z.string(), amount: z.number() }),
  },
);

const checkpointer = SqliteSaver.fromConnString("langgraph.db");
const agent = createAgent({ model, tools: [refund], checkpointer });

const configOf = (user: string) => ({ configurable: { thread_id: user } });

async function stateOf(user: string) {
  const { tasks, values } = await agent.graph.getState(configOf(user));
  const questions = tasks.flatMap(({ interrupts }) => interrupts);
  return { questions, last: values.messages?.at(-1)?.content };
}

async function answer(user: string, { id, answer, by }: Answer) {
  const question = (await stateOf(user)).questions.find((one) => one.id === id);
  if (question === undefined) throw new Error("This question is not open.");
  // In a tool, an answer that does not fit would end the call, instead of leaving the question open.
  z.fromJSONSchema(question.response_schema ?? {}).parse({ answer, by });
  await agent.invoke(new Command({ resume: { [id]: { answer, by } } }), configOf(user));
}

async function handle(request: IncomingMessage) {
  const user = (request.url ?? "").replaceAll(/\W/g, "");
  if (request.method === "GET") return stateOf(user);
  const body = (await json(request)) as Answer | { readonly text: string };
  if ("id" in body) await answer(user, body);
  else await agent.invoke({ messages: [{ role: "user", content: body.text }] }, configOf(user));
  return stateOf(user);
}

// GET /ana lists Ana's questions; POST /ana sends { text }, or { id, answer, by }.
createServer(async (request, response) => {
  const result = await handle(request).catch((error: Error) => ({ error: error.message }));
  response.end(JSON.stringify(result));
}).listen(Number(process.env["PORT"] ?? 3000));
