/** The mode `plan`, from the user's config to the sandbox. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ModelServer } from "../cli/model-server.ts";
import { entriesOf, query, queryProject, recordOf } from "../cli/query-project.ts";
import { counters } from "../security/threats.ts";
import { useSandbox } from "./support.ts";

useSandbox();

const RULE = `[conversation.tools.shell_run]
enable = true
policy.run = [{ arg = "/command", prefix = "sh check.sh", mode = "unattended" }]
`;

/** Runs the script in the mode `plan`, and returns the result that the model gets. */
async function plan(rules: { readonly own?: string; readonly workspace?: string }) {
  const call = { name: "shell_run", arguments: { command: "sh check.sh" } };
  await using server = await ModelServer.start([{ calls: [call] }, "Planned."]);
  const files = { "check.sh": "echo checked; echo made > made.txt" };
  const project = queryProject({ server, config: rules.workspace ?? "", files });
  const folder = path.join(project.home, ".config", "jp");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "config.toml"), rules.own ?? "");
  const { status } = await query(project, ["--mode", "plan", "Check it"]);
  const results = entriesOf(recordOf(project), "tool_call_response");
  const isMade = existsSync(path.join(project.root, "made.txt"));
  return { status, isMade, results: results.map(({ content }) => content) };
}

test("a command that a rule of the user's own allows runs while planning, and changes nothing", async () => {
  counters("T-MODE-4");
  const { status, isMade, results } = await plan({ own: RULE });
  expect([status, isMade]).toEqual([0, false]);
  expect(results).toEqual([expect.stringMatching(/^checked\n.*Read-only file system/)]);
});

test("a command that only a workspace's rule allows is refused while planning", async () => {
  counters("T-MODE-1");
  const own = "[conversation.tools.shell_run]\nenable = true\n";
  const { isMade, results } = await plan({ own, workspace: RULE });
  expect([isMade, results]).toEqual([false, [expect.stringMatching(/plan/)]]);
});
