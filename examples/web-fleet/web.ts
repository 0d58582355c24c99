/** The refund service for many machines: this process takes messages and answers, and workers run the turns. */
import { createServer, type IncomingMessage } from "node:http";
import process from "node:process";
import { json } from "node:stream/consumers";
import {
  answerInquiry,
  type ConversationId,
  decisionToJson,
  enqueueTurn,
  lastTurnOf,
  listPending,
  parseConversationId,
  readTurnProgress,
} from "jp-ts";
import { z } from "zod";
import { store } from "./turns.ts";

/** `digest`: of the question as the person read it. */
const Answer = z.object({ id: z.string(), digest: z.string(), answer: z.json(), by: z.string() });
const Body = z.union([Answer, z.object({ text: z.string() })]);

async function say(id: ConversationId | undefined, text: string) {
  // A worker takes the turn up as soon as this block ends.
  await using conversation = await (id === undefined ? store.create({}) : store.open(id));
  await enqueueTurn(conversation, text);
  return { conversation: conversation.id };
}

async function questionsIn(id?: ConversationId) {
  const pending = await listPending(store, id === undefined ? {} : { conversation: id });
  return pending.map((one) => decisionToJson(one, { ...one, workspace: "refunds" }));
}

/** Resolves once the turn has ended or waits for someone. The database tells of each change. */
async function follow(id: ConversationId, signal: AbortSignal) {
  let changed = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => changed.resolve());
  using _ = store.watch((change) => {
    if (change.id === undefined || change.id === id) changed.resolve();
  });
  for (;;) {
    const { stream } = await store.load(id, { only: "end" });
    const events = lastTurnOf(stream.entries);
    const isDone = readTurnProgress(events).next === "done";
    const questions = await questionsIn(id);
    if (isDone || questions.length > 0 || signal.aborted) {
      const last = events.findLast((event) => event.type === "chat_response")?.content;
      return { isDone, questions, text: last?.type === "message" ? last.text : "" };
    }
    await changed.promise;
    changed = Promise.withResolvers();
  }
}

async function handle(request: IncomingMessage, signal: AbortSignal) {
  const name = (request.url ?? "").slice(1);
  const id = name === "" ? undefined : parseConversationId(name);
  if (request.method === "GET") {
    return id === undefined ? { questions: await questionsIn() } : follow(id, signal);
  }
  // A real service takes who answers, and what they may see, from its login.
  const body = Body.parse(await json(request));
  if ("text" in body) return say(id, body.text);
  const { id: question, by: userName, ...answer } = body;
  return answerInquiry(store, `${name}/${question}`, { ...answer, userName, channel: "web" });
}

const stopping = new AbortController();
// GET / lists what waits; POST / starts a conversation with { text }. GET /<conversation> follows its turn until it ends or
// waits; POST /<conversation> sends { text }, or { id, digest, answer, by }.
const server = createServer(async (request, response) => {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, stopping.signal]);
  const result = await handle(request, signal).catch((error: Error) => ({ error: error.message }));
  response.statusCode = "error" in result ? 400 : 200;
  response.end(JSON.stringify(result));
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify(server.address())}\n`);
});

for (const name of ["SIGINT", "SIGTERM"]) {
  process.once(name, () => {
    stopping.abort(); // Whoever follows a turn gets what there is so far.
    server.close(() => void store.close?.());
  });
}
