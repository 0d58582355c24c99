/**
 * A program of someone who installed the package: a turn in the given workspace, with a tool that asks.
 * It is type-checked and run outside this repository, against the tarball.
 */
import { homedir } from "node:os";
import process from "node:process";
import {
  type DecisionRequest,
  defineTool,
  isJpError,
  type Prompter,
  runTurn,
  selectQuestion,
  systemClock,
  type TurnOptions,
} from "jp-ts";
import { openWorkspace } from "jp-ts/storage";
import { ScriptedModel } from "jp-ts/testing";
import * as v from "valibot";

const version = v.object({ version: v.string() });
const deploy = defineTool({
  name: "deploy",
  description: "Deploys a version.",
  // The package that converts it is found where this program is installed.
  parameters: version,
  async run(args, { ask, signal }) {
    signal.throwIfAborted();
    const where: "test" | "live" = await ask(
      selectQuestion("where", "Where to?", { options: ["test", "live"] }),
    );
    return `${args.version} is on ${where}`;
  },
});

const prompter: Prompter = {
  channel: "consumer",
  canAsk: () => true,
  ask: async ({ inquiryId, question }: DecisionRequest) => {
    // The type of the answer narrows with the type of the question.
    const options = question.answerType.type === "select" ? question.answerType.options : [];
    const answer = options[0]?.value ?? null;
    return { type: "answered", inquiryId, answer, isRemembered: false };
  },
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
/** What to do if that package is not installed. */
function findHint(): string | undefined {
  const unconvertible = { "~standard": { ...version["~standard"], vendor: "zod" } };
  try {
    defineTool({ name: "x", description: "", parameters: unconvertible, run: () => "" });
  } catch (error) {
    return isJpError(error) ? error.hint : undefined;
  }
  return undefined;
}

// @ts-expect-error The compiler finds a wrong name, so the types exist and are not `any`.
const nothing: unknown = conversation.nothing;
const hint = findHint();
process.stdout.write(`${JSON.stringify({ type, text, results, hint, nothing })}\n`);
