/** The files of a running command are gone, as after an upgrade: what it has begun, it ends. */
import { cpSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../src/storage/temporary-workspace.fixture.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, queryProject, recordOf, type ScriptedTool } from "./query-project.ts";
import { shows } from "./screen.ts";
import { JP } from "./support.ts";

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
  const screen = new PseudoTerminal(process.execPath, [installed.program, "query", "x"], {
    folder: project.root,
    variables: project.variables,
  });
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
