/**
 * `node test/support/question-path-program.ts <folder>`: runs a turn in the folder in which a local tool asks a person at
 * a terminal. Prints the files of src that handle the question or its answer on the way there and back, in that order, as
 * JSON. The conversation is stored in files, and the terminal's prompter draws on a terminal that this program plays.
 *
 * A file counts if one of its functions takes or returns the question or the answer, or plain data that contains one of
 * them, behind the ports too. Text does not count, with or without its place on the screen: what passes it on need not know
 * what it means.
 */
import path from "node:path";
import { argv, env, execPath, pid, platform, stdout } from "node:process";
import { Readable, Writable } from "node:stream";
import type { TerminalDevice } from "../../src/surfaces/terminal/index.ts";
import { contains, membersOf, traceValues } from "./trace-values.ts";

const QUESTION = "Which of the two environments?";
const ANSWER = "the one for tests";
const REQUEST_CURSOR_POSITION = "\u001b[6n";
/** Deep enough for a list of events among the values of a function, too shallow for a whole conversation. */
const MAX_LEVELS = 5;

const files = new Set<string>();
let isUnderWay = false;

traceValues((file, values) => {
  if (!isUnderWay) return;
  const data = values.filter((value) => !isText(value));
  if (contains(data, [QUESTION, ANSWER], MAX_LEVELS)) files.add(file.split(path.sep).join("/"));
});

/** Texts, with or without their places on the screen. */
function isText(value: unknown): boolean {
  if (typeof value === "string" || typeof value === "number") return true;
  if (typeof value !== "object" || value === null || "type" in value) return false;
  return membersOf(value).every(isText);
}

const config = await import("../../src/settings/config/index.ts");
const runtime = await import("../../src/assemble/index.ts");
const storage = await import("../../src/stores/index.ts");
const terminal = await import("../../src/surfaces/terminal/index.ts");
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
await runtime
  .createTurn({
    conversation,
    prompter: new terminal.TerminalPrompter({ device: playTerminal() }),
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

/** A terminal on which a person types the answer once the question is on the screen. */
function playTerminal(): TerminalDevice {
  const nothing = { [Symbol.dispose]: () => undefined };
  const input = Object.assign(new Readable({ read: () => undefined }), {
    setRawMode: () => undefined,
  });
  let shown = "";
  let hasTyped = false;
  const write = (text: string | Buffer) => {
    shown += String(text);
    if (shown.endsWith(REQUEST_CURSOR_POSITION)) input.push("\u001b[1;1R");
    if (hasTyped || !shown.includes(QUESTION)) return;
    hasTyped = true;
    setImmediate(() => {
      for (const key of `${ANSWER}\r`) input.push(key);
    });
  };
  return {
    path: undefined,
    isAvailable: () => true,
    openInput: () => input,
    openOutput: () =>
      Object.assign(
        new Writable({
          write: (text: string | Buffer, _encoding, done) => {
            write(text);
            done();
          },
        }),
        { columns: 80, rows: 24 },
      ),
    onResize: () => nothing,
    isForeground: () => true,
    interrupt: () => undefined,
    suspend: () => undefined,
    onContinue: () => nothing,
  };
}
