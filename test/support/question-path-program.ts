/**
 * `node test/support/question-path-program.ts <folder>`: runs a turn in the folder in which a local tool asks a person.
 * Prints the files of src that handle the question or its answer on the way there and back, in that order, as JSON.
 *
 * A file counts if one of its functions takes or returns the question or the answer, or plain data that contains one of
 * them. Text and bytes do not count: what passes them on need not know what they mean. Nor does what happens behind the
 * two ports on the way, the person's prompter and the conversation's store: a reader stops at a port.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import { argv, env, execPath, pid, platform, stdout } from "node:process";
import type { Prompter } from "../../src/agent/index.ts";
import type { ConversationWriter } from "../../src/storage/index.ts";
import { contains, traceValues } from "./trace-values.ts";

const QUESTION = "Which of the two environments?";
const ANSWER = "the one for tests";
/** Deep enough for a list of events among the values of a function, too shallow for a whole conversation. */
const MAX_LEVELS = 5;

const files = new Set<string>();
const behindPort = new AsyncLocalStorage<true>();
let isUnderWay = false;

traceValues((file, values) => {
  if (!isUnderWay || behindPort.getStore() === true) return;
  if (contains(values, [QUESTION, ANSWER], MAX_LEVELS)) files.add(file.split(path.sep).join("/"));
});

const config = await import("../../src/config/index.ts");
const runtime = await import("../../src/runtime/index.ts");
const storage = await import("../../src/storage/index.ts");
const testing = await import("../../src/testing/index.ts");
const { systemClock: clock } = await import("../../src/util/index.ts");

/** Asks unless it has the answer. */
const TOOL = `
const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const question = { id: "where", text: ${JSON.stringify(QUESTION)}, answer_type: { type: "text" } };
const isAnswered = tool.answers.where === ${JSON.stringify(ANSWER)};
console.log(isAnswered ? "Done." : JSON.stringify({ type: "needs_input", question }));
`;

const [, , folder = ""] = argv;
const root = path.join(folder, "project");
await storage.createWorkspaceFolder(root, clock);
const environment = { variables: { JP_USER_DATA_DIR: folder }, home: folder, platform };
const { conversations } = storage.openWorkspace({ from: root, environment, clock, pid });
const conversation = await conversations.create({});
const command = { program: execPath, args: ["-e", TOOL] };
const deploy = { source: "local", run: "unattended", command };
await using tools = runtime.openTools(
  { root, workspaceId: "", variables: env, version: "", clock, onWarning: () => {} },
  config.parseConfigOrThrow("the test", { conversation: { tools: { deploy } } }),
);
const person = new testing.ScriptedPrompter({ answers: [{ answer: ANSWER }] });
await runtime
  .createTurn({
    conversation: withPort<ConversationWriter>(conversation, {
      append: (...events) => behindPort.run(true, () => conversation.append(...events)),
    }),
    prompter: withPort<Prompter>(person, {
      ask: (request) => behindPort.run(true, () => person.ask(request)),
    }),
    toolbox: { ...tools.toolbox, find: findWatched },
    model: new testing.ScriptedModel({
      replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }], "It is done."],
    }),
    clock,
  })
  .run({ content: "Deploy it." });
await conversation.release();
stdout.write(`${JSON.stringify([...files])}\n`);

/** The question is under way from the first attempt, which asks, to the end of the second, which got the answer. */
async function findWatched(...found: Parameters<typeof tools.toolbox.find>) {
  const tool = await tools.toolbox.find(...found);
  if (tool === undefined) return undefined;
  const attempt: typeof tool.executor.attempt = async (request) => {
    isUnderWay = true;
    const result = await tool.executor.attempt(request);
    if (result.type === "success") isUnderWay = false;
    return result;
  };
  return { ...tool, executor: { attempt } };
}

/** The same object with some methods replaced. */
function withPort<Port extends object>(port: Port, replaced: Partial<Port>): Port {
  return new Proxy(port, {
    get: (target, key) => {
      const own: unknown = Reflect.get(key in replaced ? replaced : target, key);
      return typeof own === "function" ? (own.bind(target) as unknown) : own;
    },
  });
}
