/** Links and pipes that came with a clone in the place of a record are not opened. */
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import { openWorkspace, type Workspace, writeDurably } from "../../src/stores/index.ts";
import { counters } from "../security/threats.ts";
import {
  codeOf,
  failureOf,
  laidOut,
  METADATA_TEXT,
  numberedElements,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);
const OTHER = fileIdFromNumber(17_000_000_001);
const FILES = ["metadata.json", "base_config.json", "events.json"] as const;
const PRIVATE = "a private key";
/** Possible private files that would be valid records. */
const PRIVATE_TEXTS = {
  "metadata.json": `{"title": "${PRIVATE}", "last_activated_at": "2026-01-02 03:04:05.0"}`,
  "base_config.json": `{"key": "${PRIVATE}"}`,
  "events.json": laidOut([{ ...numberedElements(1)[0], content: PRIVATE }]),
};

/** Every operation on a record. */
function everyUse({
  conversations,
  files,
}: Workspace): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    load: () => conversations.load(ID),
    open: () => conversations.open(ID).then((writer) => writer.release()),
    fork: () => conversations.fork(ID),
    archive: () => conversations.archive(ID),
    setLocal: () => conversations.setLocal(ID, true),
    read: async () => [
      await files.read(ID, "events"),
      await files.read(ID, "metadata"),
      await files.read(ID, "baseConfig"),
    ],
  };
}

/** All file contents below a folder, without following links. */
function textsIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
}

function scene() {
  const workspace = temporaryWorkspace();
  const outside = temporaryFolder();
  const record = {
    events: laidOut(numberedElements(2)),
    metadata: METADATA_TEXT,
    baseConfig: "{}\n",
  };
  const folder = placeConversation(path.join(workspace.live, "17000000000"), record);
  placeConversation(path.join(workspace.live, "17000000001"), record);
  return { ...workspace, workspace, outside, folder };
}

describe.each(FILES)("a file of a record that is replaced (%s)", (name) => {
  const { [name]: text } = PRIVATE_TEXTS;

  test.each([
    ["a readable text", text],
    ["something else", `-----BEGIN ${PRIVATE}-----\n`],
  ])("is neither read nor copied if it is a link: to %s", async (_, content) => {
    counters("T-PATH-4");
    counters("T-PATH-7");
    const { workspace, root, data, outside, folder } = scene();
    const target = path.join(outside, "id_ed25519");
    writeFileSync(target, content);
    rmSync(path.join(folder, name));
    symlinkSync(target, path.join(folder, name));
    const results: unknown[] = [];
    for (const use of Object.values(everyUse(workspace))) {
      results.push(await use().catch((error: unknown) => String(error)));
    }
    const listed = await workspace.conversations.list();
    const texts = [...textsIn(root), ...textsIn(data), JSON.stringify([results, listed])];
    expect(texts.filter((each) => each.includes(PRIVATE))).toEqual([]);
    expect([readFileSync(target, "utf8"), readdirSync(outside)]).toEqual([content, ["id_ed25519"]]);
  });

  test("has the link in its error", async () => {
    const { conversations, outside, folder } = scene();
    rmSync(path.join(folder, name));
    symlinkSync(path.join(outside, "x"), path.join(folder, name));
    expect(await failureOf(conversations.open(ID))).toEqual({
      code: "read_failed",
      message: `Cannot read ${path.join(folder, name)}: it is a symbolic link, which jp does not follow.`,
    });
  });

  test.skipIf(process.platform === "win32")("does not block if it is a pipe", async () => {
    counters("T-PATH-7");
    const { workspace, conversations, folder } = scene();
    rmSync(path.join(folder, name));
    spawnSync("/bin/sh", ["-c", 'mkfifo "$0"', path.join(folder, name)]);
    await conversations.list();
    const codes = new Set<string | undefined>();
    for (const use of Object.values(everyUse(workspace))) codes.add(await codeOf(use()));
    expect(codes).toContain("read_failed");
  });
});

describe("a link", () => {
  test("is listed with its problem and never opened in place of a conversation's folder", async () => {
    counters("T-PATH-7");
    const { workspace, conversations, outside, folder } = scene();
    renameSync(folder, path.join(outside, "record"));
    symlinkSync(path.join(outside, "record"), folder);
    const before = textsIn(outside);
    const codes = new Set<string | undefined>();
    for (const use of Object.values(everyUse(workspace))) codes.add(await codeOf(use()));
    const listed = (await conversations.list()).map(({ id, problem }) => ({ id, problem }));
    expect({ codes, listed: new Set(listed), after: textsIn(outside) }).toEqual({
      codes: new Set(["read_failed"]),
      listed: new Set([
        {
          id: ID,
          problem: "metadata.json: its folder is a symbolic link, which jp does not follow",
        },
        { id: OTHER, problem: undefined },
      ]),
      after: before,
    });
  });

  test("can be removed without its target in place of a conversation's folder", async () => {
    const { conversations, outside, folder, live } = scene();
    renameSync(folder, path.join(outside, "record"));
    symlinkSync(path.join(outside, "record"), folder);
    await conversations.remove(ID);
    expect([readdirSync(live), readdirSync(path.join(outside, "record")).length]).toEqual([
      ["17000000001"],
      3,
    ]);
  });

  test.each(["conversations", path.join("conversations", ".archive")])(
    "makes every operation fail in place of a folder in .jp: %s",
    async (name) => {
      counters("T-PATH-7");
      const { root, conversations, outside } = scene();
      const folder = path.join(root, ".jp", name);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(path.join(outside, "17000000000"));
      symlinkSync(outside, folder);
      const failure = {
        code: "read_failed",
        message: `Cannot read ${folder}: it is a symbolic link, which jp does not follow.`,
      };
      expect([
        await failureOf(conversations.list({ which: "all" })),
        await failureOf(conversations.create({})),
        await failureOf(conversations.archive(OTHER)),
        readdirSync(outside),
      ]).toEqual([failure, failure, failure, ["17000000000"]]);
    },
  );

  test("does not make a workspace in place of .jp itself", () => {
    counters("T-PATH-7");
    const { root, outside, environment, clock } = scene();
    const folder = path.join(root, ".jp");
    renameSync(folder, path.join(outside, "jp"));
    symlinkSync(path.join(outside, "jp"), folder);
    expect(() => openWorkspace({ from: root, environment, clock, pid: 1 })).toThrow(
      `Cannot read ${folder}: it is a symbolic link, which jp does not follow.`,
    );
  });

  test("is not followed in place of the file with the workspace's id", () => {
    counters("T-PATH-7");
    const { root, outside, workspace } = scene();
    writeFileSync(path.join(outside, "x"), "zzzzz");
    rmSync(path.join(root, ".jp", ".id"));
    symlinkSync(path.join(outside, "x"), path.join(root, ".jp", ".id"));
    expect(() => workspace.findId()).toThrow("it is a symbolic link, which jp does not follow");
  });

  test("is not replaced in place of a file", async () => {
    const folder = temporaryFolder();
    const [file, link] = [path.join(folder, "file"), path.join(folder, "link")];
    writeFileSync(file, "old");
    symlinkSync(file, link);
    expect([
      await codeOf(writeDurably(link, Buffer.from("new"))),
      readFileSync(file, "utf8"),
    ]).toEqual(["write_failed", "old"]);
  });
});

test("the user's own folder of conversations may be a link", async () => {
  const { conversations, userFolder, local } = temporaryWorkspace();
  const elsewhere = temporaryFolder();
  mkdirSync(userFolder, { recursive: true });
  symlinkSync(elsewhere, local);
  const writer = await conversations.create({ isLocal: true });
  await writer.release();
  expect([readdirSync(elsewhere).length, (await conversations.list()).length]).toEqual([1, 1]);
});
