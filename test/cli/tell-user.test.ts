/** The assistant says something in the middle of a turn, and a tool returns typed content. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { verifies } from "../conformance/manifest.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { JP, jsonLines } from "./support.ts";

const MESSAGE = "## Half done\n\n14 of 28 \u001b[31mfiles\u001b[0m.";
const TELLING: readonly Reply[] = [
  { calls: [{ name: "tell_user", arguments: { message: MESSAGE } }] },
  "All done.",
];

test("on a terminal the message is rendered like an answer, and neutralized", async () => {
  await using server = await ModelServer.start(TELLING);
  const { status, lines } = await new Screen(queryProject({ server }), ["q", "x"]).end();
  expect([status, lines.filter((line) => line !== "")]).toEqual([
    0,
    ["Half done", "14 of 28 ␛[31mfiles␛[0m.", "All done."],
  ]);
});

test("the turn goes on, and the model gets a confirmation instead of the message", async () => {
  await using server = await ModelServer.start(TELLING);
  const project = queryProject({ server });
  expect(await query(project, ["x"])).toEqual({
    status: 0,
    stdout: `${MESSAGE}\nAll done.\n`,
    stderr: "",
  });
  expect(server.lastMessages.at(-1)).toBe("Message shown to user.");
  const [response] = entriesOf(recordOf(project), "tool_call_response");
  expect(response).toMatchObject({ content: "Message shown to user." });
});

test("what was said is in the JSON of the turn and of the record, and in what is printed of it", async () => {
  await using server = await ModelServer.start(TELLING);
  const project = queryProject({ server });
  const live = await query(project, ["x", "--format", "json"]);
  const printed = await project.jp("conversation", "print", "--format", "json");
  const blocks = [
    {
      type: "text",
      text: MESSAGE,
      mimeType: "text/markdown",
      annotations: { audience: ["user"] },
    },
    { type: "text", text: "Message shown to user.", annotations: { audience: ["assistant"] } },
  ];
  for (const lines of [live, printed]) {
    expect(jsonLines(lines)).toContainEqual(expect.objectContaining({ blocks }));
  }
  const { stdout: shown } = await project.jp("conversation", "print");
  expect(shown).toContain("assistant\n## Half done\n");
  expect(shown).not.toContain("tell_user");
  expect(shown).not.toContain("Message shown to user.");
});

test("where the output is one JSON document, the message is on standard error", async () => {
  await using server = await ModelServer.start([TELLING[0] ?? "", '{"done":true}']);
  const schema = '{"type":"object","properties":{"done":{"type":"boolean"}}}';
  const { stdout, stderr } = await query(queryProject({ server }), ["x", "--schema", schema]);
  expect([stdout, stderr]).toEqual([
    '{"done":true}\n',
    "## Half done\n\n14 of 28 ␛[31mfiles␛[0m.\n",
  ]);
});

test("-T alone leaves it on, and -T tell_user switches it off", async () => {
  await using server = await ModelServer.start(["One.", "Two."]);
  const project = queryProject({ server });
  await query(project, ["x", "-T"]);
  await query(project, ["x", "--new", "-T", "tell_user"]);
  const offered = server.requests.map(({ tools }) => JSON.stringify(tools ?? []));
  expect(offered.map((tools) => tools.includes('"tell_user"'))).toEqual([true, false]);
});

test("a local tool returns content for each side, and asks with a question among it", async () => {
  verifies("058/question/among-content");
  await using server = await ModelServer.start([{ calls: [{ name: "merge" }] }, "Merged."]);
  const question = {
    id: "branch",
    text: "Which branch?",
    schema: { type: "string", enum: ["main", "staging"] },
  };
  const asking = [
    { type: "text", text: "Three files." },
    { type: "question", question },
  ];
  const result = [
    { type: "text", text: "for you", annotations: { audience: ["user"] } },
    { type: "text", text: "for the model", annotations: { audience: ["assistant"] } },
    { type: "hologram" },
  ];
  const program = `JSON.stringify({ content: tool.answers.branch === "staging" ? ${JSON.stringify(result)} : ${JSON.stringify(asking)} })`;
  const settings = 'run = "unattended"\nquestions.branch.answer = "staging"';
  const project = queryProject({ server, tools: [{ name: "merge", program, settings }] });
  const { stderr } = await query(project, ["x"]);
  const record = recordOf(project);
  expect(entriesOf(record, "inquiry_request")).toMatchObject([
    { question: { text: "Which branch?", context: "Three files." } },
  ]);
  expect(server.lastMessages.at(-1)).toBe('for the model\n\n[content of unknown type "hologram"]');
  expect(stderr).toContain("  │ for you\n");
  const printed = await project.jp("conversation", "print", "--format", "json");
  expect(jsonLines(printed)).toContainEqual(expect.objectContaining({ blocks: result }));
});

test("a reader that has seen enough, such as head, ends jp without a word", async () => {
  const line = `${"word ".repeat(20)}\n\n`;
  await using server = await ModelServer.start([{ text: line.repeat(2000), hangs: true }]);
  const project = queryProject({ server });
  const child = spawn("sh", ["-c", `"${process.execPath}" "${JP}" query x | head -1`], {
    cwd: project.root,
    env: project.variables,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, "close");
  expect([stdout, stderr]).toEqual([`${"word ".repeat(20)}\n`, ""]);
});
