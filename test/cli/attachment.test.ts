import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { ModelServer } from "./model-server.ts";
import { entriesOf, query, queryProject, recordOf } from "./query-project.ts";
import { jsonLines, type Project } from "./support.ts";

const ECHO = () => "Yes.";
const UNTRUSTED = { JP_TRUSTED_WORKSPACES: "" };
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

/** The text of a request's messages, one after the other. */
/** Without the instructions. */
function textOf({ requests }: ModelServer, index = -1): string {
  const messages = requests.at(index)?.messages.filter(({ role }) => role !== "system") ?? [];
  const contents = messages.map(({ content }) => content ?? "");
  return contents
    .map((content) => (typeof content === "string" ? content : JSON.stringify(content)))
    .join("\n");
}

/** As it is recorded, from the base config and all changes of it. */
function attachedIn(project: Project): Json | undefined {
  const record = recordOf(project);
  const deltas = entriesOf(record, "config_delta").map(({ delta }) => delta);
  const configs = [record.baseConfig, ...deltas] as { conversation?: { attachments?: Json } }[];
  return configs.flatMap(({ conversation }) => conversation?.attachments ?? []).at(-1);
}

describe("jp query -a", () => {
  test("sends files with every request of the conversation, and reads them anew", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "old text", "src/b.ts": "code" } });
    const first = await query(project, ["-a", "a.md", "--attach", "src", "Why?"]);
    writeFileSync(path.join(project.root, "a.md"), "new text");
    const second = await query(project, ["And now?"]);
    expect([first.status, first.stderr, second.stderr]).toEqual([
      0,
      "Attached: 2 documents, 12 B\n",
      "Attached: 2 documents, 12 B\n",
    ]);
    expect(textOf(server, 0)).toMatch(/<source>a\.md<\/source>\n<content>\nold text[^]*src\/b\.ts/);
    expect(textOf(server, 1)).toMatch(/new text[^]*Why\?[^]*And now\?/);
    expect(attachedIn(project)).toEqual({
      value: ["file:///a.md", "file:///src"],
      strategy: "replace",
    });
  });

  test("adds to what is attached, and to nothing twice", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "a", "b.md": "b" } });
    await query(project, ["-a", "a.md", "One"]);
    await query(project, ["-a", "b.md", "-a", "a.md", "Two"]);
    expect(attachedIn(project)).toMatchObject({ value: ["file:///a.md", "file:///b.md"] });
  });

  test("attaches the output of a command, and a page", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "a" } });
    const page = `${server.url.replace(/\/v1$/, "")}/props`;
    const { status } = await query(project, ["-a", "cmd:cat a.md", "-a", page, "Why?"]);
    expect([status, textOf(server)]).toEqual([
      0,
      expect.stringMatching(
        /<source>cat a\.md<\/source>\n<content>\na[^]*<source>http:.*props<\/source>/,
      ),
    ]);
  });

  test("attaches a file that may hold keys only by a flag, and says so", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { ".env": "KEY=inside" } });
    const outside = path.join(path.dirname(project.root), "id_rsa");
    writeFileSync(outside, "outside key");
    const pasted = await query(project, [`Pasted: @.env and @${outside}`]);
    expect(pasted.stderr.match(/is not attached, because it may/g)).toHaveLength(2);
    expect(textOf(server)).not.toMatch(/KEY=inside|outside key/);
    const named = await query(project, ["-a", ".env", "-a", outside, "See these."]);
    expect(named.stderr.match(/may contain passwords or keys/g)).toHaveLength(2);
    expect(textOf(server)).toMatch(/KEY=inside/);
  });

  test("copies a file from outside the workspace into the message", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const file = path.join(project.home, "notes.txt");
    writeFileSync(file, "from home");
    const { stderr } = await query(project, ["-a", file, "Why?"]);
    rmSync(file);
    await query(project, ["Still there?"]);
    expect([stderr, attachedIn(project), textOf(server)]).toEqual([
      "Attached: 1 document, 9 B\n",
      undefined,
      expect.stringMatching(/<source>notes\.txt<\/source>\n<content>\nfrom home[^]*Why\?/),
    ]);
  });

  test.each([
    ["does not exist", "none.md", "Cannot attach none.md: it does not exist."],
    ["is binary", "x.zip", "Cannot attach x.zip: neither text"],
    ["is a PDF, which the model does not take", "x.pdf", "does not accept application/pdf"],
    ["fails", "cmd:no-such-program", "Cannot attach the output of no-such-program"],
    ["is of an unknown kind", "ftp://a.b", 'unknown scheme "ftp:"'],
    ["belongs to jp", ".jp/config.toml", "is protected"],
  ])("fails if it %s, and records nothing", async (_what, attached, problem) => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    writeFileSync(path.join(project.root, "x.zip"), Buffer.from([80, 75, 0, 255]));
    writeFileSync(path.join(project.root, "x.pdf"), "%PDF-1.7");
    const { status, stderr } = await query(project, ["-a", attached, "Why?"]);
    expect([status, stderr, server.requests]).toEqual([1, expect.stringContaining(problem), []]);
    expect(() => recordOf(project)).toThrow("there are 0 conversations");
  });

  test("sends an image as a file, unless the server says that its model has no eyes", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    writeFileSync(path.join(project.root, "a.png"), PNG);
    const seen = await query(project, ["-a", "a.png", "What is it?"]);
    const url = `data:image/png;base64,${PNG.toString("base64")}`;
    expect([seen.status, textOf(server)]).toEqual([0, expect.stringContaining(url)]);
    server.properties = { modalities: { vision: false } };
    const unseen = await query(project, ["And now?"]);
    expect([unseen.status, unseen.stderr.split("\n")[0], server.requests.length]).toEqual([
      1,
      "jp: Cannot attach a.png: llamacpp/scripted does not accept images.",
      1,
    ]);
  });

  test("what is gone in a later turn is left out with a warning", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "a" } });
    await query(project, ["-a", "a.md", "One"]);
    rmSync(path.join(project.root, "a.md"));
    const { status, stderr } = await query(project, ["Two"]);
    expect([status, stderr.replaceAll(/\s+/g, " ")]).toEqual([
      0,
      expect.stringContaining(
        "warning: Cannot attach a.md: it does not exist. jp continues without it",
      ),
    ]);
  });
});

describe("@path in a message", () => {
  test("attaches what exists, and stays in the text", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "text of a" } });
    await query(project, ["Explain @a.md, not \\@a.md or @ada."]);
    const [request] = entriesOf(recordOf(project), "chat_request");
    expect([request, attachedIn(project), textOf(server)]).toEqual([
      { type: "chat_request", content: "Explain @a.md, not @a.md or @ada." },
      { value: ["file:///a.md"], strategy: "replace" },
      expect.stringContaining("text of a"),
    ]);
  });

  test("counts in the editor, but not in what is piped in", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "text of a" } });
    await query(project, ["Why?"], { input: "see @a.md" });
    expect(attachedIn(project)).toBeUndefined();
    const variables = project.editor('printf "Look at @a.md" > "$1"');
    await query(project, ["-e"], { variables });
    expect(attachedIn(project)).toMatchObject({ value: ["file:///a.md"] });
  });
});

describe("conversation.attachments in the config", () => {
  test("are attached: paths, addresses and tables", async () => {
    await using server = await ModelServer.start(ECHO);
    const entries = `["a.md", { type = "cmd", path = "cat", params = { arg = ["b.md"] } }]`;
    const config = `conversation.attachments = ${entries}\n`;
    const project = queryProject({ server, files: { "a.md": "of a", "b.md": "of b" } });
    writeFileSync(path.join(project.root, ".jp.toml"), config);
    await query(project, ["Why?"]);
    expect(textOf(server)).toMatch(/of a[^]*<source>cat b\.md<\/source>\n<content>\nof b/);
  });

  test("neither run nor reach anything before the user trusts them", async () => {
    counters("T-WORK-4");
    await using server = await ModelServer.start(ECHO);
    const config = `conversation.attachments = ["a.md", "cmd:touch ran", "http://127.0.0.1:1/x", ".env"]\n`;
    const files = { "a.md": "of a", ".env": "KEY=1" };
    const project = queryProject({ server, files });
    writeFileSync(path.join(project.root, ".jp.toml"), config);
    const { status, stderr } = await query(project, ["Why?"], { variables: UNTRUSTED });
    const warning = stderr.replaceAll(/\s+/g, " ");
    expect([status, warning, textOf(server)]).toEqual([
      0,
      expect.stringContaining(
        'not used, because you have not trusted this workspace: attachment "cmd:touch ran", attachment http://127.0.0.1:1/x, attachment file:///.env.',
      ),
      expect.stringContaining("of a"),
    ]);
    expect([
      textOf(server).includes("KEY=1"),
      (await project.jp("attachment", "print", "ran")).status,
    ]).toEqual([false, 1]);
  });

  test("need trust in a record too, unless the user has attached them", async () => {
    counters("T-WORK-4");
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "of a" } });
    const variables = UNTRUSTED;
    await query(project, ["-a", "cmd:cat a.md", "One"], { variables });
    const own = await query(project, ["Two"], { variables });
    rmSync(path.join(project.data, "trust"), { recursive: true, force: true });
    const cloned = await query(project, ["Three"], { variables });
    expect([own.stderr, textOf(server, 1), cloned.stderr.replaceAll(/\s+/g, " ")]).toEqual([
      "Attached: 1 document, 4 B\n",
      expect.stringContaining("of a"),
      expect.stringContaining('attachment "cmd:cat a.md"'),
    ]);
    expect(textOf(server, 2)).not.toContain("of a");
    expect(attachedIn(project)).toMatchObject({ value: ["cmd:cat a.md"] });
  });
});

describe("jp attachment", () => {
  test("adds, lists and removes what is attached to a conversation", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "of a", "src/b.ts": "b" } });
    await query(project, ["Hi"]);
    const empty = await project.jp("attachment", "ls");
    const added = await project.jp("attachment", "add", "a.md", "cmd:ls", "src/*.ts", "!src/x.ts");
    const again = await project.jp("a", "a", "a.md");
    const listed = await project.jp("attachment", "ls");
    const json = await project.jp("attachment", "ls", "--format", "json");
    const removed = await project.jp("attachment", "rm", "a.md", "cmd:ls");
    const rest = await project.jp("a", "l");
    const missing = await project.jp("attachment", "rm", "a.md");
    expect([empty.stderr, added.stderr, again.stderr, listed.stdout]).toEqual([
      "Nothing is attached.\n",
      "Attached a.md\nAttached cmd:ls\nAttached src/*.ts\nAttached !src/x.ts\n",
      "Already attached.\n",
      "a.md (1 document, 4 B)\ncmd:ls\nsrc/*.ts (1 document, 1 B)\n!src/x.ts\n",
    ]);
    expect(jsonLines(json)).toEqual([
      { uri: "file:///a.md", documents: 1, bytes: 4 },
      { uri: "cmd:ls" },
      { uri: "file:///src/*.ts", documents: 1, bytes: 1 },
      { uri: "file:///src/x.ts?exclude=true" },
    ]);
    expect([removed.stderr, rest.stdout, missing.status, missing.stderr]).toEqual([
      "Detached a.md\nDetached cmd:ls\n",
      "src/*.ts (1 document, 1 B)\n!src/x.ts\n",
      1,
      expect.stringContaining("a.md is not attached."),
    ]);
  });

  test("trusts what the user has added by hand", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "a.md": "of a" } });
    await query(project, ["Hi"], { variables: UNTRUSTED });
    await project.jpWith(UNTRUSTED, "attachment", "add", "cmd:cat a.md");
    await query(project, ["And?"], { variables: UNTRUSTED });
    expect(textOf(server)).toContain("of a");
  });

  test("prints an attachment as the model would get it", async () => {
    const project = queryProject({ files: { "a.md": "of \u001b[31ma", "docs/b.md": "of b" } });
    writeFileSync(path.join(project.root, "a.png"), PNG);
    const text = await project.jp("attachment", "print", "a.md");
    const folder = await project.jp("attachment", "print", "docs");
    const image = await project.jp("attachment", "print", "a.png");
    expect([text, folder, image]).toEqual([
      { status: 0, stdout: "of \u001b[31ma\n", stderr: "a.md (9 B)\n" },
      { status: 0, stdout: "of b\n", stderr: "docs/b.md (4 B)\n" },
      { status: 0, stdout: "", stderr: "a.png (image/png, 16 B): not shown\n" },
    ]);
  });

  test("refuses a file outside the workspace, and says what to do", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    mkdirSync(path.join(project.home, "x"));
    const file = path.join(project.home, "x", "y.txt");
    writeFileSync(file, "y");
    await query(project, ["Hi"]);
    const { status, stderr } = await project.jp("attachment", "add", file);
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/y\.txt is outside.*\n.*jp query -a/),
    ]);
  });
});
