/** File tools and commands in one reply of the model. */
import { expect, test } from "vitest";
import { resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import type { JsonObject } from "../../src/util/index.ts";

const CONFIG = `
[conversation.tools.fs_create_file]
enable = true
questions.create_file.answer = true
[conversation.tools.fs_modify_file]
enable = true
questions.apply_changes.answer = true
[conversation.tools.fs_read_file]
enable = true
[conversation.tools.fs_grep_files]
enable = true
[conversation.tools.shell_run]
enable = true
run = "unattended"
[shell]
sandbox = "off"
unsandboxed = "unattended"
`;

/** The results of a reply that makes these calls. */
async function resultsOf(...calls: readonly (readonly [string, JsonObject])[]) {
  await using server = await ModelServer.start(({ messages }) => {
    if (messages.at(-1)?.role === "tool") return "Done.";
    return { text: "", calls: calls.map(([name, args]) => ({ name, arguments: args })) };
  });
  const project = queryProject({ server, config: CONFIG });
  const { status, stderr } = await query(project, ["Go."]);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return resultsIn(server).map(String);
}

const create = (name: string, content: string) =>
  ["fs_create_file", { path: name, content }] as const;
const modify = (name: string, before: string, after: string) =>
  ["fs_modify_file", { path: name, patterns: [{ old: before, new: after }] }] as const;
const read = (name: string) => ["fs_read_file", { path: name }] as const;
const run = (command: string) => ["shell_run", { command }] as const;

test("a file that is created, changed and read in one reply is read as changed", async () => {
  const results = await resultsOf(
    create("a.txt", "one\n"),
    modify("./a.txt", "one", "two"),
    read("a.txt"),
    ["fs_grep_files", { pattern: "two" }],
  );
  expect(results[2]).toContain("two");
  expect(results[3]).toContain("a.txt");
});

test("a command sees the changes before it, and what it does is seen after it", async () => {
  const results = await resultsOf(
    create("a.txt", "one\n"),
    run("sleep 0.2; cat a.txt; ln -s a.txt link.txt"),
    create("b.txt", "three\n"),
    run("cat b.txt"),
    modify("link.txt", "one", "two"),
    read("a.txt"),
  );
  expect(results[1]).toContain("one");
  expect(results[3]).toContain("three");
  expect(results[5]).toContain("two");
});
