/** A refund service. Its tool asks people over HTTP, and it can be killed and started again at any moment. */
import { createServer, type IncomingMessage } from "node:http";
import { stderr } from "node:process";
import { json } from "node:stream/consumers";
import {
  answerAndResume,
  decisionToJson,
  defineTool,
  listPending,
  openStore,
  recover,
  runTurn,
  selectQuestion,
} from "jp-ts";
import { z } from "zod";
import { model } from "./model.ts";
import { ACCOUNTS, payBack } from "./payments.ts";

/** `digest`: of the question as the person read it. */
const Answer = z.object({ id: z.string(), digest: z.string(), answer: z.json(), by: z.string() });
const Body = z.union([Answer, z.object({ text: z.string() })]);

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), amount: z.number() }),
  questions: { account: selectQuestion("account", "Which account?", { options: ACCOUNTS }) },
  async run({ order, amount }, { ask }) {
    // The call ends here until there is an answer, and then runs again with it.
    const account = await ask.account();
    return payBack({ order, amount, account });
  },
});

const store = await openStore("data");
const toolConfig = { refund: { run: "ask" } } as const;
const options = { model, tools: [refund], toolConfig, defer: true };

// What was running when the service was killed goes on; what waits for an answer waits.
for (const result of await recover(store, options)) {
  if (result.type === "failed") stderr.write(`${result.error.message}\n`);
}

async function say(user: string, text: string): Promise<string> {
  const all = await store.list();
  const known = all.find(({ metadata }) => metadata?.labels?.["user"] === user);
  const opened = known === undefined ? store.create({ labels: { user } }) : store.open(known.id);
  await using conversation = await opened;
  return (await runTurn({ ...options, conversation }, text)).text;
}

async function reply(user: string, { id, by, ...given }: z.infer<typeof Answer>): Promise<string> {
  const question = (await listPending(store, { labels: { user } })).find((one) => one.id === id);
  if (question === undefined) throw new Error("This question is not open.");
  const answer = { ...given, userName: by, channel: "web" };
  const result = await answerAndResume(store, question, answer, options);
  if (result.type === "refused") throw new Error(result.reason);
  if (result.type === "changed") throw new Error("It has changed since you read it.");
  if (result.type !== "recorded") throw new Error("Someone else has answered.");
  return result.turn?.text ?? "";
}

async function questionsFor(user: string) {
  const pending = await listPending(store, { labels: { user } });
  return pending.map((one) => decisionToJson(one, { ...one, workspace: "refunds" }));
}

async function handle(request: IncomingMessage) {
  // A real service takes the user, and who answers, from its login.
  const user = (request.url ?? "").replaceAll(/\W/g, "");
  if (request.method === "GET") return { questions: await questionsFor(user) };
  const body = Body.parse(await json(request));
  const last = "id" in body ? await reply(user, body) : await say(user, body.text);
  return { questions: await questionsFor(user), last };
}

// GET /ana lists Ana's questions; POST /ana sends { text }, or { id, digest, answer, by }.
const server = createServer(async (request, response) => {
  const result = await handle(request).catch((error: Error) => ({ error: error.message }));
  response.statusCode = "error" in result ? 400 : 200;
  response.end(JSON.stringify(result));
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify(server.address())}\n`);
});
