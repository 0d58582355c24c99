import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ModelServer, type Replies } from "./model-server.ts";
import {
  entriesOf,
  holdConversation,
  query,
  queryProject,
  type QueryRecord,
  recordOf,
  recordsOf,
  type ScriptedTool,
} from "./query-project.ts";
import type { Project } from "./support.ts";

async function start(replies: Replies, tools: readonly ScriptedTool[] = []) {
  const server = await ModelServer.start(replies, ["scripted", "other"]);
  return {
    server,
    project: queryProject({ server, tools }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What each message of the last request says, without the system prompt. */
function seen({ requests }: ModelServer): readonly unknown[] {
  const messages = requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role !== "system").map(({ content }) => content);
}

function requestsOf(record: QueryRecord | undefined): readonly unknown[] {
  return record === undefined
    ? []
    : entriesOf(record, "chat_request").map(({ content }) => content);
}

/** A turn that waits for an answer. */
const WAITING_TOOL: ScriptedTool = {
  name: "deploy",
  questions: [{ id: "sure", text: "Sure?", answer_type: { type: "boolean" } }],
};

async function waiting(project: Project): Promise<void> {
  await query(project, ["--defer", "Deploy"]);
}

describe("jp query --replay", () => {
  test("sends the last message again without the answer before, which stays on record", async () => {
    await using parts = await start(["One.", "Two.", "Better.", "Three."]);
    const { project, server } = parts;
    await query(project, ["First?"]);
    await query(project, ["Second?"]);
    const before = readFileSync(`${recordOf(project).folder}/events.json`, "utf8");
    const { stdout, stderr } = await query(project, ["-r", "-m", "llamacpp/other"]);
    const { id, folder } = recordOf(project);
    expect([stdout, seen(server), server.requests.at(-1)?.model]).toEqual([
      "Better.\n",
      ["First?", "One.", "Second?"],
      "other",
    ]);
    expect(stderr.split("\n").slice(0, 3)).toEqual([
      "Asking again: Second?",
      "The earlier answer stays on record as turn 2. To go back to it:",
      `  jp conversation fork ${id} --turn ..2 --activate`,
    ]);
    expect(readFileSync(`${folder}/events.json`, "utf8").slice(0, before.length - 3)).toBe(
      before.slice(0, -3),
    );
    await query(project, ["Third?"]);
    expect(seen(server)).toEqual(["First?", "One.", "Second?", "Better.", "Third?"]);
  });

  test("is undone by the fork that it names", async () => {
    await using parts = await start(["One.", "Better.", "Two."]);
    const { project, server } = parts;
    await query(project, ["First?"]);
    const { stderr } = await query(project, ["--replay"]);
    const words = /jp (conversation fork .*)/.exec(stderr)?.[1]?.split(" ") ?? [];
    await project.jp(...words);
    await query(project, ["Second?"]);
    expect(seen(server)).toEqual(["First?", "One.", "Second?"]);
  });

  test("without saving says nothing of a record, and leaves it as it is", async () => {
    await using parts = await start(["One.", "Two."]);
    await query(parts.project, ["First?"]);
    const before = recordOf(parts.project);
    const { stdout, stderr } = await query(parts.project, ["--replay", "--no-persist"]);
    expect([stdout, stderr, seen(parts.server)]).toEqual([
      "Two.\n",
      "Asking again: First?\n",
      ["First?"],
    ]);
    expect(recordOf(parts.project)).toEqual(before);
  });

  test("is shown by print, with the number of the turn it replaces", async () => {
    await using parts = await start(["One.", "Better."]);
    await query(parts.project, ["First?"]);
    await query(parts.project, ["--replay"]);
    const { stdout } = await parts.project.jp("conversation", "print");
    expect(stdout.match(/^(you.*|assistant|[A-Z].*)$/gm)).toEqual([
      "you",
      "First?",
      "assistant",
      "One.",
      "you (replaces turn 1)",
      "First?",
      "assistant",
      "Better.",
    ]);
  });

  test.each([
    { how: "adds words to it", words: ["in", "one line"], asked: "Why?\n\nin one line" },
    { how: "edits it with -e", words: ["-e"], asked: "Why? Because?" },
  ])("$how", async ({ words, asked }) => {
    await using parts = await start(["One.", "Two."]);
    const variables = parts.project.editor('printf " Because?" >> "$1"');
    await query(parts.project, ["Why?"]);
    await query(parts.project, ["--replay", ...words], { variables });
    expect([seen(parts.server), requestsOf(recordOf(parts.project))]).toEqual([
      [asked],
      ["Why?", asked],
    ]);
  });

  test("brings the files of the message along, and attaches what is added", async () => {
    await using parts = await start(["One.", "Two."]);
    const { project, server } = parts;
    const [outside, more] = ["notes.txt", "more.txt"].map((name) => `${project.home}/${name}`);
    writeFileSync(outside ?? "", "from home");
    writeFileSync(more ?? "", "and more");
    await query(project, ["-a", outside ?? "", "Why?"]);
    rmSync(outside ?? "");
    await query(project, ["--replay", `See @${more}`]);
    expect(JSON.stringify(server.requests.at(-1)?.messages)).toMatch(/from home[^]*and more/);
  });

  test("with --edit attaches only what is mentioned since", async () => {
    await using parts = await start(["One.", "Two."]);
    const { project } = parts;
    writeFileSync(`${project.root}/a.md`, "a");
    writeFileSync(`${project.root}/b.md`, "b");
    await query(project, ["What is \\@a.md for?"]);
    const variables = project.editor('printf " And @b.md?" >> "$1"');
    const { stderr } = await query(project, ["--replay", "-e"], { variables });
    expect([requestsOf(recordOf(project)).at(-1), stderr]).toEqual([
      "What is @a.md for? And @b.md?",
      expect.stringContaining("Attached: 1 document, 1 B"),
    ]);
  });

  test("with --show-prompt shows the message without the answer before, and records nothing", async () => {
    await using parts = await start(["One."]);
    await query(parts.project, ["Why?"]);
    const before = recordOf(parts.project);
    const { stdout, stderr } = await query(parts.project, ["--replay", "--show-prompt", "now"]);
    expect([stdout, stderr]).toEqual([expect.stringContaining("--- user ---\nWhy?\n\nnow"), ""]);
    expect([stdout.includes("One."), recordOf(parts.project)]).toEqual([false, before]);
  });

  test("asks for the same data again, without naming the schema", async () => {
    await using parts = await start(['{"age":1}', '{"age":2}']);
    const schema = '{"type":"object","properties":{"age":{"type":"integer"}}}';
    await query(parts.project, ["How old?", "-s", schema]);
    const { stdout } = await query(parts.project, ["--replay"]);
    expect(JSON.parse(stdout)).toEqual({ age: 2 });
  });

  test.each([
    { state: "there is no conversation", words: [], problem: "no earlier message to send again" },
    { state: "a new conversation is wanted", words: ["-n"], problem: "cannot be used together" },
    { state: "a summary would keep it", words: ["--compact"], problem: "cannot be used together" },
  ])("is refused if $state", async ({ words, problem }) => {
    await using parts = await start([]);
    const { status, stderr } = await query(parts.project, ["--replay", ...words]);
    expect([status === 0, stderr]).toEqual([false, expect.stringContaining(problem)]);
  });

  test("is refused while the last turn is incomplete, and names both ways on", async () => {
    await using parts = await start([{ calls: [{ name: "deploy" }] }], [WAITING_TOOL]);
    const { project } = parts;
    await waiting(project);
    const before = recordOf(project);
    const { status, stderr } = await query(project, ["--replay"]);
    expect([status, recordOf(project).entries]).toEqual([1, before.entries]);
    expect(stderr).toMatch(/incomplete[^]*--continue-turn --id [^]*--discard-turn --id/);
  });

  test("replaces a turn that --discard-turn has closed", async () => {
    const replies = [{ calls: [{ name: "deploy" }] }, "Done."];
    await using parts = await start(replies, [WAITING_TOOL]);
    await waiting(parts.project);
    const { stdout } = await query(parts.project, ["--replay", "--discard-turn"]);
    expect([stdout, seen(parts.server)]).toEqual(["Done.\n", ["Deploy"]]);
  });

  test("changes nothing while another process has the conversation", async () => {
    await using parts = await start(["One.", "Two."]);
    const { project } = parts;
    await query(project, ["Why?"]);
    const before = recordOf(project).entries;
    const holder = await holdConversation(project);
    const { status, stderr } = await query(project, ["-r", "-c", "style.lock_wait.timeout_secs=0"]);
    expect([status, recordOf(project).entries]).toEqual([1, before]);
    expect(stderr).toContain(`${holder.pid}`);
  });
});

describe("jp query --fork", () => {
  test.each([
    { how: "copies all turns", words: ["--fork"], asked: ["A", "1", "B", "2", "C"] },
    { how: "copies the last ones", words: ["--fork=1"], asked: ["B", "2", "C"] },
  ])("$how, and asks there", async ({ words, asked }) => {
    await using parts = await start(["1", "2", "3", "4"]);
    const { project, server } = parts;
    for (const text of ["A", "B"]) await query(project, [text]);
    const { id } = recordOf(project);
    const { stderr } = await query(project, ["C", ...words]);
    const [original, copy] = recordsOf(project);
    expect([seen(server), requestsOf(original)]).toEqual([asked, ["A", "B"]]);
    expect(stderr.split("\n")[0]).toBe(`Forked ${id} to ${copy?.id}.`);
    await query(project, ["D"]);
    expect(requestsOf(recordsOf(project)[1]).slice(-2)).toEqual(["C", "D"]);
  });

  test("does not count turns that were replaced", async () => {
    await using parts = await start(["1", "2", "3", "4"]);
    const { project, server } = parts;
    for (const words of [["A"], ["B"], ["--replay"], ["C", "--fork=2"]])
      await query(project, words);
    expect(seen(server)).toEqual(["A", "1", "B", "3", "C"]);
  });

  test("leaves an incomplete turn to the original", async () => {
    const replies = ["Hi.", { calls: [{ name: "deploy" }] }, "Yes."];
    await using parts = await start(replies, [WAITING_TOOL]);
    const { project, server } = parts;
    await query(project, ["Hello"]);
    await waiting(project);
    const { status, stderr } = await query(project, ["Else", "--fork"]);
    expect([status, seen(server)]).toEqual([0, ["Hello", "Hi.", "Else"]]);
    expect(stderr).toContain("The incomplete turn was not copied.");
  });

  test("with --replay asks again in the copy only", async () => {
    await using parts = await start(["1", "2"]);
    await query(parts.project, ["A"]);
    await query(parts.project, ["--fork", "--replay"]);
    expect([seen(parts.server), recordsOf(parts.project).map(requestsOf)]).toEqual([
      ["A"],
      [["A"], ["A", "A"]],
    ]);
  });

  test("says where a message goes that was taken for a number", async () => {
    const { status, stderr } = await query(queryProject({}), ["--fork", "why"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("message before --fork")]);
  });

  test("writes nothing if there is no message, or nothing to fork", async () => {
    await using parts = await start(["1"]);
    const { project } = parts;
    const none = await query(project, ["A", "--fork"]);
    await query(project, ["A"]);
    await query(project, ["--fork"]);
    expect([none.status, recordsOf(project).length]).toEqual([2, 1]);
  });
});
