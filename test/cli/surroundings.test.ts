import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { ModelServer, systemText } from "./model-server.ts";
import { query, queryProject, recordsOf } from "./query-project.ts";
import type { Project } from "./support.ts";

const NOTHING_TRUSTED = { JP_TRUSTED_WORKSPACES: "" };

test("a query tells the model where it is, in its system prompt", async () => {
  await using server = await ModelServer.start(["Hi.", "Again."]);
  const project = queryProject({ server, files: { "AGENTS.md": "Use tabs." } });
  await query(project, ["Hello"]);
  await query(project, ["And?"]);
  expect(systemText(server.requests[0])).toContain(`\nFolder: ${project.root}\n`);
  expect(systemText(server.requests[0])).toMatch(
    /^You are a helpful assistant\.\n\n# Project instructions\n/,
  );
  expect(systemText(server.requests[0])).toContain(
    '<project_instructions file="AGENTS.md">\nUse tabs.\n',
  );
  expect(systemText(server.requests[1])).toBe(systemText(server.requests[0]));
  expect(server.requests[0]?.messages).toMatchObject([{ role: "system" }, { role: "user" }]);
});

test.each([
  ["folder", /^Folder:/m],
  ["platform", /^Platform:/m],
  ["date", /^Date:/m],
  ["agents_md", /Use tabs/],
])("%s can be switched off", async (key, line) => {
  await using server = await ModelServer.start(["Hi.", "Hi."]);
  const project = queryProject({ server, files: { "AGENTS.md": "Use tabs." } });
  await query(project, ["-n", "Hello"]);
  await query(project, ["-n", "-c", `conversation.surroundings.${key}=false`, "Hello"]);
  expect([
    line.test(systemText(server.requests[0])),
    line.test(systemText(server.requests[1])),
  ]).toEqual([true, false]);
});

test("AGENTS.md of a workspace reaches a model only after trust, and again after it changes", async () => {
  await using server = await ModelServer.start(["1", "2", "3"]);
  const project = queryProject({ server, files: { "AGENTS.md": "Obey me." } });
  const ask = () => query(project, ["-n", "Hello"], { variables: NOTHING_TRUSTED });
  const { stderr } = await ask();
  const listed = await project.jpWith(NOTHING_TRUSTED, "trust", "--yes");
  await ask();
  writeFileSync(path.join(project.root, "AGENTS.md"), "Obey me more.");
  await ask();
  expect({ stderr, listed: listed.stdout }).toEqual({
    stderr: expect.stringMatching(/not trusted this workspace: instructions in AGENTS\.md/),
    listed: "AGENTS.md:\n- instructions in AGENTS.md: 8 characters for the model:\n  | Obey me.\n",
  });
  const seen = [0, 1, 2].map((index) => systemText(server.requests[index]).includes("Obey"));
  expect(seen).toEqual([false, true, false]);
});

test("the trust question shows AGENTS.md whole, and later what has changed in it", async () => {
  counters("T-WORK-17");
  const rules = Array.from({ length: 9 }, (_, index) => `Rule ${index}.`);
  const text = [...rules, "- tool x: harmless", "Say yes."].join("\n");
  const project = queryProject({ files: { "AGENTS.md": text } });
  const list = async () => {
    const { stdout } = await project.jpWith(NOTHING_TRUSTED, "trust", "--yes");
    return stdout.trimEnd().split("\n");
  };
  const first = await list();
  writeFileSync(path.join(project.root, "AGENTS.md"), text.replace("Say yes.", "Say no."));
  expect([first, await list()]).toEqual([
    [
      "AGENTS.md:",
      "- instructions in AGENTS.md: 99 characters for the model:",
      ...text.split("\n").map((line) => `  | ${line}`),
    ],
    [
      "AGENTS.md:",
      "- instructions in AGENTS.md: 98 characters for the model, changed since you trusted it:",
      "  |  Rule 7.",
      "  |  Rule 8.",
      "  |  - tool x: harmless",
      "  | -Say yes.",
      "  | +Say no.",
    ],
  ]);
});

test("what has changed in AGENTS.md is a difference to what was trusted last, not to what was shown", async () => {
  const project = queryProject({ files: { "AGENTS.md": "One." } });
  const file = path.join(project.root, "AGENTS.md");
  await project.jpWith(NOTHING_TRUSTED, "trust", "--yes");
  for (const text of ["Two.", "Three."]) {
    writeFileSync(file, text);
    await project.jpWith(NOTHING_TRUSTED, "trust");
  }
  const { stdout } = await project.jpWith(NOTHING_TRUSTED, "trust");
  expect(stdout.split("\n").slice(2)).toEqual(["  | -One.", "  | +Three.", ""]);
});

test("a workspace cannot show a model what the user has switched off, without trust", async () => {
  await using server = await ModelServer.start(["1", "2"]);
  const project = queryProject({ server, config: "conversation.surroundings.folder = true" });
  await project.jp("config", "set", "--in", "user", "conversation.surroundings.folder", "false");
  await query(project, ["-n", "Hello"], { variables: NOTHING_TRUSTED });
  await query(project, ["-n", "Hello"]);
  const seen = [0, 1].map((index) => systemText(server.requests[index]).includes("Folder:"));
  expect(seen).toEqual([false, true]);
});

test("--show-prompt prints what would be sent, and sends and records nothing", async () => {
  await using server = await ModelServer.start(["Hi."]);
  const project = queryProject({ server, files: { "AGENTS.md": "Use tabs." } });
  await query(project, ["Hello"]);
  const before = JSON.stringify(recordsOf(project));
  const shown = await query(project, ["--show-prompt", "And?"]);
  const asJson = await query(project, ["--show-prompt", "--format", "json", "And?"]);
  expect({
    status: shown.status,
    requests: server.requests.length,
    same: unchanged(project, before),
  }).toEqual({ status: 0, requests: 1, same: true });
  expect(shown.stdout.match(/^--- .* ---$/gm)).toEqual([
    "--- system, prompt ---",
    "--- system, section ---",
    "--- system, surroundings ---",
    "--- user ---",
    "--- assistant ---",
    "--- user ---",
    "--- tool ask_user ---",
    "--- tool tell_user ---",
    "--- tool describe_tools ---",
  ]);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    model: "llamacpp/scripted",
    system: [{ tag: "prompt" }, { tag: "section" }, { tag: "surroundings" }],
    messages: [{ content: "Hello" }, { message: "Hi." }, { content: "And?" }],
    tools: [{ name: "ask_user" }, { name: "tell_user" }, { name: "describe_tools" }],
  });
});

test("--show-prompt shows what is attached", async () => {
  const config = 'assistant.model.id = "anthropic/some-model"';
  const project = queryProject({ config, files: { "notes.md": "the notes" } });
  const { stdout } = await query(project, ["--show-prompt", "See @notes.md"]);
  expect(stdout).toMatch(/^--- user ---\n[^]*the notes[^]*^--- user ---\nSee @notes\.md$/m);
  writeFileSync(path.join(project.home, "own.md"), "from home");
  const outside = await query(project, ["--show-prompt", "See @~/own.md"]);
  expect(outside.stdout).toMatch(
    /^--- user ---\n<document>\n<source>own\.md<[^]*from home[^]*\nSee @~\/own\.md$/m,
  );
});

test("--show-prompt needs a message, and no key or server", async () => {
  const project = queryProject({ config: 'assistant.model.id = "anthropic/some-model"' });
  expect(await query(project, ["--show-prompt"])).toMatchObject({ status: 2 });
  expect(await query(project, ["--show-prompt", "Hi"])).toMatchObject({ status: 0 });
  expect(recordsOf(project)).toEqual([]);
});

function unchanged(project: Project, before: string): boolean {
  return JSON.stringify(recordsOf(project)) === before;
}
