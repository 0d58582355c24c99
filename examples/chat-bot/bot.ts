/** A bot for a chat such as Slack. It asks with buttons in the thread, and whoever clicks has answered. */
import process from "node:process";
import {
  booleanQuestion,
  type Decider,
  type DecisionRequest,
  defineTool,
  describeDecider,
  MemoryConversationStore,
  type Prompter,
  runTurn,
  selectQuestion,
  verbatim,
} from "jp-ts";
import { Chat, type Post } from "./chat.ts";
import { model } from "./model.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  questions: {
    where: selectQuestion("where", "Where to?", { options: ["test", "live"] }),
    sure: booleanQuestion("sure", "Is it reviewed?", { exclusive: true }),
  },
  async run(_args, { ask }) {
    const where = await ask.where();
    if (!(await ask.sure())) return "No.";
    return `The site is on ${where}.`;
  },
});

const chat = new Chat((message) => {
  if (message.includes("Run deploy?")) return { user: "ada", text: "yes" };
  return message.includes("Where to?") ? { user: "bob", text: "test" } : undefined;
});

/** Asks in one thread. */
function createPrompter(thread: string): Prompter {
  return {
    channel: "chat",
    canAsk: () => true,
    async ask(request: DecisionRequest) {
      const { inquiryId, label, question, signal } = request;
      const { answerType } = question;
      // A chat keeps everything that is written in it.
      if (answerType.type === "secret") {
        return { type: "unanswered", reason: "unavailable", inquiryId };
      }
      const options = answerType.type === "select" ? answerType.options : [];
      const names = options.flatMap(({ value }) => (typeof value === "string" ? [value] : []));
      const buttons = answerType.type === "boolean" ? ["yes", "no"] : names;
      const text = `${label}: ${question.text}${request.acts ? ` ${describeCall(request)}` : ""}`;
      const message = { thread, user: "bot", text, buttons, patienceMs: 100 };
      const reply = await chat.ask(message, signal);
      if (reply === undefined) return { type: "unanswered", reason: "timed_out", inquiryId };
      const answer = answerType.type === "boolean" ? reply.text === "yes" : reply.text;
      return { type: "answered", inquiryId, answer, userName: reply.user };
    },
  };
}

/** Whoever clicks yes has seen where the tool comes from, and what it runs with. */
function describeCall({ tool, origin, folder, arguments: args }: DecisionRequest): string {
  return verbatim(JSON.stringify({ tool, origin, folder, arguments: args }));
}

const store = new MemoryConversationStore();

async function onMessage({ thread, user, text }: Post): Promise<void> {
  chat.post({ thread, user, text });
  await using conversation = await store.create({ title: thread });
  const tools = { tools: [deploy], toolConfig: { deploy: { run: "ask" } } as const };
  const options = { conversation, model, ...tools, prompter: createPrompter(thread) };
  const result = await runTurn(options, { content: text, author: user });
  chat.post({ thread, user: "bot", text: result.text });

  // The record says who decided what.
  for (const event of result.events) {
    if (event.type === "permission_decision") log("permission", event.decidedBy);
    if (event.type !== "inquiry_response") continue;
    if (event.outcome === "cancelled")
      process.stdout.write(`no answer: ${JSON.stringify(event.reason)}\n`);
    else log("answer", event.answeredBy);
  }
}

function log(what: string, by: Decider | undefined): void {
  process.stdout.write(`${what} by ${by === undefined ? "someone" : describeDecider(by)}\n`);
}

await onMessage({ thread: "releases", user: "eve", text: "Deploy the site." });
process.stdout.write(chat.lines.map((line) => `${line}\n`).join(""));
