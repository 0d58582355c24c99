import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import { request, time } from "./records.ts";
import { placeLegacy } from "./samples.ts";
import { lines, type Placed, type PlacedConversation, Project } from "./support.ts";

function place(project: Project, more: Partial<Placed> = {}): PlacedConversation {
  return project.place({
    second: 0,
    title: "One",
    slug: "one",
    config: {},
    events: [request(0, "Hi.")],
    ...more,
  });
}

/** A conversation's metadata, wherever its folder is now. */
async function metadataOf(project: Project, { id }: PlacedConversation) {
  const { stdout } = await project.jp("conversation", "path", "--metadata", id);
  return JSON.parse(readFileSync(stdout.trim(), "utf8")) as Record<string, unknown>;
}

describe("editing by flags", () => {
  test("sets the title and renames the folder to match", async () => {
    const project = new Project();
    const one = place(project, { metadata: { unknown_key: 1 } });
    const edited = await project.jp("conversation", "edit", one.id, "--title", "Überraschung 2");
    const { stdout } = await project.jp("conversation", "path", one.id);
    expect({
      edited,
      folder: path.basename(stdout.trim()),
      isAtOldPlace: existsSync(one.folder),
      metadata: await metadataOf(project, one),
    }).toEqual({
      edited: { status: 0, stdout: "", stderr: `Changed ${one.id}.\n` },
      folder: `${one.id.slice(4)}-überraschung-2`,
      isAtOldPlace: false,
      metadata: { title: "Überraschung 2", last_activated_at: time(0), unknown_key: 1 },
    });
  });

  test("removes the title", async () => {
    const project = new Project();
    const one = place(project);
    await project.jp("conversation", "edit", one.id, "--no-title");
    expect(await metadataOf(project, one)).toEqual({ last_activated_at: time(0) });
  });

  test("pins and unpins", async () => {
    const project = new Project();
    const one = place(project);
    await project.jp("conversation", "edit", one.id, "--pin");
    const pinned = await metadataOf(project, one);
    await project.jp("conversation", "edit", one.id, "--no-pin");
    expect([pinned, await metadataOf(project, one)]).toEqual([
      {
        title: "One",
        last_activated_at: time(0),
        pinned_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+$/) as unknown,
      },
      { title: "One", last_activated_at: time(0) },
    ]);
  });

  test("moves a conversation out of the workspace and back", async () => {
    const project = new Project();
    const one = place(project);
    const events = readFileSync(one.events, "utf8");
    const local = path.join(project.userFolder, "conversations", path.basename(one.folder));
    await project.jp("conversation", "edit", one.id, "--local");
    const moved = [existsSync(one.folder), readFileSync(path.join(local, "events.json"), "utf8")];
    await project.jp("conversation", "edit", one.id, "--no-local");
    expect([moved, [existsSync(local), readFileSync(one.events, "utf8")]]).toEqual([
      [false, events],
      [false, events],
    ]);
  });
});

describe("editing a file", () => {
  const edited = [{ ...request(0, "Hi."), content: "Ho." }];

  test("replaces the file with the edited text", async () => {
    const project = new Project();
    const one = place(project);
    const editor = project.editor(`sed -i 's/Hi\\./Ho./' "$1"`);
    expect(await project.jpWith(editor, "conversation", "edit", one.id)).toEqual({
      status: 0,
      stdout: "",
      stderr: `Changed ${one.events}.\n`,
    });
    expect([readFileSync(one.events, "utf8"), readdirSync(project.temporary)]).toEqual([
      laidOut(edited),
      [],
    ]);
  });

  test("can edit the metadata or the base config", async () => {
    const project = new Project();
    const one = place(project, { config: { name: "One" } });
    const editor = project.editor(`sed -i 's/One/Two/' "$1"`);
    await project.jpWith(editor, "conversation", "edit", one.id, "--metadata");
    await project.jpWith(editor, "conversation", "edit", one.id, "--base-config");
    // The folder is named after the title.
    const folder = one.folder.replace(/-one$/, "-two");
    const config = readFileSync(path.join(folder, "base_config.json"), "utf8");
    expect([await metadataOf(project, one), JSON.parse(config)]).toEqual([
      { title: "Two", last_activated_at: time(0) },
      { name: "Two" },
    ]);
  });

  test("accepts an editor with arguments, and prefers JP_EDITOR and VISUAL to EDITOR", async () => {
    const project = new Project();
    const one = place(project);
    const variables = { JP_EDITOR: "sed -i s/Hi/Ho/", VISUAL: "false", EDITOR: "false" };
    await project.jpWith(variables, "conversation", "edit", one.id);
    expect(readFileSync(one.events, "utf8")).toBe(laidOut(edited));
  });

  test("without a change leaves everything as it is", async () => {
    const project = new Project();
    const one = place(project);
    const before = snapshotOf(project.root);
    const result = await project.jpWith(project.editor("true"), "conversation", "edit", one.id);
    expect([result, snapshotOf(project.root), readdirSync(project.temporary)]).toEqual([
      { status: 0, stdout: "", stderr: "No changes.\n" },
      before,
      [],
    ]);
  });

  test.each([
    ["invalid JSON", `echo '[{"type":' > "$1"`, /^jp: Invalid events file: .*JSON/],
    [
      "something other than a list",
      `echo '{}' > "$1"`,
      /^jp: Invalid events file: expected a list, got object\n/,
    ],
    [
      "an element without a timestamp",
      `echo '[{"type":"turn_start"}]' > "$1"`,
      /^jp: Invalid events file: element 0: "timestamp" is missing\n/,
    ],
    [
      "an event of the wrong shape",
      `echo '[{"type":"chat_request","timestamp":"2026-01-02 03:04:05.0"}]' > "$1"`,
      /^jp: Invalid events file: element 0: content: expected a string, got nothing\n/,
    ],
  ])("to %s is refused, and keeps both the draft and the file", async (_what, script, words) => {
    const project = new Project();
    const one = place(project);
    const before = snapshotOf(project.root);
    const editor = project.editor(script);
    const { status, stderr } = await project.jpWith(editor, "conversation", "edit", one.id);
    const [, draft = ""] =
      /^The conversation is unchanged\. Your text is in (.*)$/m.exec(stderr) ?? [];
    expect({
      status,
      stderr,
      draft: readFileSync(draft, "utf8"),
      after: snapshotOf(project.root),
    }).toEqual({
      status: 1,
      stderr: expect.stringMatching(words) as unknown,
      draft: `${/'(.*)'/.exec(script)?.[1]}\n`,
      after: before,
    });
  });

  test("with a failing editor changes nothing", async () => {
    const project = new Project();
    const one = place(project);
    const before = snapshotOf(project.root);
    const editor = project.editor('echo broken > "$1"; exit 3');
    const result = await project.jpWith(editor, "conversation", "edit", one.id);
    expect([result, snapshotOf(project.root)]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr: "jp: The editor exited with status 3. Nothing was changed.\n",
      },
      before,
    ]);
  });

  test("that another program changes meanwhile keeps both texts", async () => {
    const project = new Project();
    const one = place(project);
    const theirs = laidOut([request(0, "Theirs.")]);
    const editor = project.editor(
      `printf '%s' '${theirs}' > '${one.events}'\nsed -i 's/Hi/Ho/' "$1"`,
    );
    const { status, stderr } = await project.jpWith(editor, "conversation", "edit", one.id);
    const [, draft = ""] = /Your text is in (.*)$/m.exec(stderr) ?? [];
    expect({
      status,
      said: stderr.split("\n")[0],
      file: readFileSync(one.events, "utf8"),
      draft: readFileSync(draft, "utf8"),
    }).toEqual({
      status: 1,
      said: `jp: ${one.events} was changed by another program.`,
      file: theirs,
      draft: laidOut(edited),
    });
  });

  test("without an editor says how to set one", async () => {
    const project = new Project();
    const one = place(project);
    expect(await project.jp("conversation", "edit", one.id)).toEqual({
      status: 1,
      stdout: "",
      stderr: lines("jp: No editor is set.", "Set EDITOR, for example: export EDITOR=vim"),
    });
  });

  test("that a packed conversation does not have fails with a clear message", async () => {
    const project = new Project();
    const legacy = placeLegacy(project);
    const { status, stderr } = await project.jpWith(
      project.editor("true"),
      "conversation",
      "edit",
      legacy.id,
      "--base-config",
    );
    expect({ status, isExpected: stderr.startsWith("jp: ") }).toEqual({
      status: 1,
      isExpected: true,
    });
  });
});

test("a conversation that is open for writing is not changed, and its holder is named", async () => {
  const project = new Project();
  const one = place(project);
  const { conversations } = openWorkspace({
    from: project.root,
    environment: { variables: project.variables, home: project.home, platform: process.platform },
    clock: systemClock,
    pid: process.pid,
  });
  await using writer = await conversations.open(one.id as ConversationId);
  const before = snapshotOf(project.root);
  const editor = project.editor(`sed -i 's/Hi/Ho/' "$1"`);
  const results = await Promise.all([
    project.jp("conversation", "edit", one.id, "--title", "New"),
    project.jpWith(editor, "conversation", "edit", one.id),
    project.jp("conversation", "rm", one.id, "--yes"),
    project.jp("conversation", "archive", one.id),
    project.jp("conversation", "print", one.id),
    project.jp("conversation", "use", one.id),
  ]);
  const holder = `Conversation ${one.id} is in use by this process.`; // The commands run in it.
  expect({
    statuses: results.map(({ status }) => status),
    named: results.map(({ stderr }) => stderr.includes(holder)),
    after: snapshotOf(project.root),
    heldId: writer.id,
  }).toEqual({
    statuses: [1, 1, 1, 1, 0, 0],
    named: [true, true, true, true, false, false],
    after: before,
    heldId: one.id,
  });
});
