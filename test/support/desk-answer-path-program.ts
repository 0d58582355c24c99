/**
 * `node test/support/desk-answer-path-program.ts <folder>`: a turn in the folder leaves a question of a local tool on
 * record. A desk on this machine gets the answer over HTTP, and then continues the turn. Prints the files of src that
 * handle the answer on its way from the request to the record, and from there to the tool, in that order, as JSON.
 *
 * A file counts if one of its functions takes or returns plain data that contains the answer, behind the ports too. Text
 * alone does not count: what passes it on need not know what it means.
 */
import path from "node:path";
import { argv, env, execPath, pid, platform, stdout } from "node:process";
import { contains, traceValues } from "./trace-values.ts";

const ANSWER = "the one for tests";
/** Deep enough for a list of events among the values of a function, too shallow for a whole conversation. */
const MAX_LEVELS = 5;

const files = new Set<string>();
let isUnderWay = false;

traceValues((file, values) => {
  if (!isUnderWay) return;
  const data = values.filter((value) => typeof value === "object");
  if (contains(data, [ANSWER], MAX_LEVELS)) files.add(file.split(path.sep).join("/"));
});

const config = await import("../../src/settings/config/index.ts");
const desks = await import("../../src/surfaces/desk/index.ts");
const { openPeople } = await import("../../src/settings/people/index.ts");
const runtime = await import("../../src/assemble/index.ts");
const storage = await import("../../src/stores/index.ts");
const testing = await import("../../src/testing/index.ts");
const { systemClock: clock } = await import("../../src/util/index.ts");

/** Asks unless it has the answer. */
const TOOL = `
const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const question = { id: "where", text: "Where?", answer_type: { type: "text" } };
const isAnswered = tool.answers.where === ${JSON.stringify(ANSWER)};
console.log(isAnswered ? "Done." : JSON.stringify({ type: "needs_input", question }));
`;
const PERSON = { name: "olga", rights: ["see", "answer", "approve"] } as const;

const [, , folder = ""] = argv;
const root = path.join(folder, "project");
await storage.createWorkspaceFolder(root, clock);
const environment = { variables: { JP_USER_DATA_DIR: folder }, home: folder, platform };
const workspace = storage.openWorkspace({ from: root, environment, clock, pid });
const command = { program: execPath, args: ["-e", TOOL] };
const deploy = { source: "local", run: "unattended", command, detached: "defer" };
await using tools = runtime.openTools(
  { root, workspaceId: "", variables: env, version: "", clock, onWarning: () => {} },
  config.parseConfigOrThrow("the test", { conversation: { tools: { deploy } } }),
);
const model = new testing.ScriptedModel({
  replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }], "It is done."],
});
/** The turn goes on after the response, so that the order is always the same. */
const isAnswered = Promise.withResolvers<void>();
const isDone = Promise.withResolvers<void>();

await using asking = await workspace.conversations.create({});
const { id: conversation } = asking;
const toolbox = { ...tools.toolbox, find: findWatched };
await runtime.createTurn({ conversation: asking, toolbox, model, clock }).run({ content: "Go." });
await asking.release();

await using desk = await desks.createDesk([workspace], {
  resumesAnswered: true,
  resumeTurn: async () => {
    void isAnswered.promise.then(continueTurn).then(isDone.resolve, isDone.reject);
    return { type: "started" };
  },
});
const people = openPeople(folder);
const token = await people.add(PERSON.name, PERSON.rights);
const service = await desks.serveDesk({
  desk,
  people,
  owner: PERSON,
  sessions: desks.openSessions(folder, () => {}),
  scope: root,
  host: "127.0.0.1",
  port: 0,
  runs: true,
  page: new Map(),
  clock,
  onProblem: (problem) => isDone.reject(new Error(problem)),
  audit: () => {},
});
const [pending] = (await desk.listPending()).items;
if (pending === undefined) throw new Error("nothing waits");
isUnderWay = true;
const inquiry = `${service.apiUrl}/api/v1/conversations/${conversation}/inquiries/${pending.id}`;
const response = await fetch(`${inquiry}/answer`, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
  body: JSON.stringify({ answer: ANSWER, digest: pending.digest }),
});
if (!response.ok) throw new Error(await response.text());
isAnswered.resolve();
await isDone.promise;
await service.close();
if (isUnderWay) throw new Error("the tool got no answer");
stdout.write(`${JSON.stringify([...files])}\n`);

/** As `jp query --continue-turn` does, which a desk starts. */
async function continueTurn(): Promise<void> {
  await using writer = await workspace.conversations.open(conversation);
  await runtime.createTurn({ conversation: writer, toolbox, model, clock }).resume();
}

/** The answer is under way until the tool that asked got it. */
async function findWatched(...found: Parameters<typeof tools.toolbox.find>) {
  const tool = await tools.toolbox.find(...found);
  if (tool === undefined) return undefined;
  const attempt: typeof tool.executor.attempt = async (request) => {
    const result = await tool.executor.attempt(request);
    if (result.type === "success") isUnderWay = false;
    return result;
  };
  return { ...tool, executor: { attempt } };
}
