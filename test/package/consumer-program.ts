/**
 * A program of someone who installed the package: a turn in the given workspace, with a tool that asks.
 * It is type-checked and run outside this repository, against the tarball.
 */
import { homedir } from "node:os";
import process from "node:process";
import {
  defineTool,
  type Prompter,
  runTurn,
  selectQuestion,
  systemClock,
  type TurnOptions,
} from "jp-ts";
import { openWorkspace } from "jp-ts/storage";
import { ScriptedModel } from "jp-ts/testing";

const deploy = defineTool<{ readonly version: string }>({
  name: "deploy",
  description: "Deploys a version.",
  parameters: { type: "object", properties: { version: { type: "string" } } },
  async run({ version }, { ask, signal }) {
    signal.throwIfAborted();
    const where: string = await ask(selectQuestion("where", "Where to?", { options: ["test"] }));
    return `${version} is on ${where}`;
  },
});

const prompter: Prompter = {
  channel: "consumer",
  canAsk: () => true,
  ask: async ({ inquiryId, question }) => {
    // The type of the answer narrows with the type of the question.
    const options = question.answerType.type === "select" ? question.answerType.options : [];
    const answer = options[0]?.value ?? null;
    return { type: "answered", inquiryId, answer, isRemembered: false };
  },
  askPermission: async () => ({ type: "run", isRemembered: false }),
  askDelivery: async () => ({ type: "deliver" }),
};

const { env: variables, pid, platform } = process;
const { conversations } = openWorkspace({
  from: process.argv[2] ?? process.cwd(),
  environment: { variables, home: homedir(), platform },
  clock: systemClock,
  pid,
});
const conversation = await conversations.create({ title: "From a program" });
const options: TurnOptions = {
  conversation,
  model: new ScriptedModel({
    replies: [
      [{ type: "tool_call", id: "call_1", name: "deploy", arguments: { version: "1.4" } }],
      "Done.",
    ],
  }),
  tools: [deploy],
  prompter,
};
const { type, text, events } = await runTurn(options, "Deploy it.");
await conversation.release();

const results = events.flatMap((event) =>
  event.type === "tool_call_response" ? [event.content] : [],
);
// @ts-expect-error The compiler finds a wrong name, so the types exist and are not `any`.
const nothing: unknown = conversation.nothing;
process.stdout.write(`${JSON.stringify({ type, text, results, nothing })}\n`);
