/** The files of a running command are gone, as after an upgrade: what it has begun, it ends. */
import { cpSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf, type ScriptedTool } from "./query-project.ts";
import { shows, UNASKED } from "./screen.ts";
import { JP, type Project } from "./support.ts";

const ASKER: ScriptedTool = {
  name: "asker",
  questions: [
    { id: "one", text: "Go on?", answer_type: { type: "boolean" } },
    { id: "two", text: "Which?", answer_type: { type: "text" } },
  ],
};
const PUSH: ScriptedTool = { name: "push", program: '"pushed"', settings: 'run = "ask"' };

test("questions and permissions are asked and answered after all files of the command are gone", async () => {
  await using server = await ModelServer.start([
    { text: "I ask.", calls: [{ name: "asker" }] },
    { text: "I push.", calls: [{ name: "push" }] },
    "Done.",
  ]);
  const project = queryProject({ server, tools: [ASKER, PUSH] });
  const installed = copyOfCommand();
  const screen = terminalOf(project, installed.program, ["query", "x"]);
  await shows(screen, "Go on?");
  rmSync(installed.folder, { recursive: true });
  screen.type("y");
  await shows(screen, "Which?");
  screen.type("this one\r");
  await shows(screen, /push/);
  await shows(screen, /Run|Allow/i);
  screen.type("y");
  const { status } = await screen.end();
  const record = recordOf(project);
  expect({
    status,
    answers: entriesOf(record, "inquiry_response").map(({ outcome, answer }) => [outcome, answer]),
    decisions: entriesOf(record, "permission_decision").map(({ decision }) => decision),
    results: entriesOf(record, "tool_call_response").map(({ content }) => content),
  }).toEqual({
    status: 0,
    answers: [
      ["answered", true],
      ["answered", "this one"],
    ],
    decisions: ["approved", "approved"],
    results: ['{"one":true,"two":"this one"}', "pushed"],
  });
});

test("a continued turn reaches its model after all files of the command are gone at its first question", async () => {
  await using server = await ModelServer.start([{ text: "", calls: [{ name: "asker" }] }, "Done."]);
  const project = queryProject({ server, tools: [ASKER] });
  expect((await query(project, ["x", "--defer"])).status).toBe(4);
  const installed = copyOfCommand();
  const screen = terminalOf(project, installed.program, ["query", "--continue-turn"]);
  await shows(screen, "Go on?");
  rmSync(installed.folder, { recursive: true });
  screen.type("y");
  await shows(screen, "Which?");
  screen.type("this one\r");
  const { status } = await screen.end();
  const results = entriesOf(recordOf(project), "tool_call_response").map(({ content }) => content);
  expect({ status, results, replies: server.requests.length }).toEqual({
    status: 0,
    results: ['{"one":true,"two":"this one"}'],
    replies: 2,
  });
});

test("an answer is recorded after all files of the command are gone at its prompt", async () => {
  await using server = await ModelServer.start([{ text: "", calls: [{ name: "asker" }] }]);
  const project = queryProject({ server, tools: [ASKER] });
  expect((await query(project, ["x", "--defer"])).status).toBe(4);
  const installed = copyOfCommand();
  const [asked] = entriesOf(recordOf(project), "inquiry_request");
  const id = asked?.["id"] as string; // Ids are strings.
  const screen = terminalOf(project, installed.program, ["inquiry", "answer", id]);
  await shows(screen, "Go on?");
  rmSync(installed.folder, { recursive: true });
  screen.type("y");
  const { status } = await screen.end();
  const answers = entriesOf(recordOf(project), "inquiry_response").map(({ answer }) => answer);
  expect({ status, answers }).toEqual({ status: 0, answers: [true] });
});

test("a message written in the editor is recorded after all files of the command are gone meanwhile", async () => {
  await using server = await ModelServer.start(["Done."]);
  const project = queryProject({ server, files: { "note.txt": "It rains." } });
  const installed = copyOfCommand();
  const editor = path.join(project.root, "editor.cjs");
  writeFileSync(
    editor,
    `const { rmSync, writeFileSync } = require("node:fs");
rmSync(${JSON.stringify(installed.folder)}, { recursive: true });
writeFileSync(process.argv[2], "What is in @note.txt?");`,
  );
  const variables = { EDITOR: `${process.execPath} ${editor}` };
  const screen = terminalOf(project, installed.program, ["query", "-n", "-e"], variables);
  await screen.end();
  const said = entriesOf(recordOf(project), "chat_request").map(({ content }) => content);
  expect(said).toEqual(["What is in @note.txt?"]);
});

function terminalOf(
  project: Project,
  program: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): PseudoTerminal {
  return new PseudoTerminal(process.execPath, [program, ...words], {
    folder: project.root,
    variables: { ...UNASKED, ...project.variables, ...variables },
  });
}

/** The built command in a folder of its own. Native parts are found as before. */
function copyOfCommand() {
  const root = temporaryFolder();
  const dist = path.dirname(path.dirname(JP));
  const folder = path.join(root, "dist");
  cpSync(dist, folder, { recursive: true });
  for (const name of readdirSync(path.dirname(dist))) {
    if (name === "node_modules" || name === "package.json") {
      symlinkSync(path.join(path.dirname(dist), name), path.join(root, name));
    }
  }
  return { folder, program: path.join(folder, "bin", path.basename(JP)) };
}
