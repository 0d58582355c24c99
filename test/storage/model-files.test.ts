/** Files that a model has sent: where stores keep their bytes, and what goes with them. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { at } from "../../src/record/conversation/events.fixture.ts";
import {
  describeFile,
  keptFileBaseName,
  parseConversationId,
  type ReplyFile,
} from "../../src/record/conversation/index.ts";
import { type ConversationWriter, copyStore } from "../../src/stores/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { codeOf } from "../../src/stores/record-elements.fixture.ts";
import { setAge, temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { migratedDatabase } from "../support/postgres.ts";

const IMAGE = Buffer.from("89504e470d0a1a0a00ff", "hex");
const FILE = describeFile("image/png", IMAGE);
const NAME = `${FILE.digest}.png`;

async function send(writer: ConversationWriter, bytes = IMAGE, type = "image/png") {
  const file = describeFile(type, bytes);
  const event: ReplyFile = { type: "reply_file", timestamp: at(1), ...file };
  await writer.saveFile?.(file, bytes);
  await writer.append(event);
}

async function workspaceWithFile() {
  const workspace = temporaryWorkspace();
  const writer = await workspace.conversations.create({});
  await send(writer);
  await writer.release();
  const { id } = writer;
  const { folder } = workspace.files.paths(id);
  return { ...workspace, id, folder, inFolder: path.join(folder, "files") };
}

test("a file's name is its digest and an extension that jp knows, whatever the model says of it", async () => {
  counters("T-FILE-8");
  const types = [
    "image/PNG; name=../../x.sh",
    "../../../etc/passwd",
    "text/../../x",
    "application/x-sh",
    `image/${"x".repeat(200)}`,
    "constructor",
  ];
  const files = types.map((type) => describeFile(type, IMAGE));
  expect(files.map((file) => [file.mediaType, keptFileBaseName(file)])).toEqual([
    ["image/png", NAME],
    ["application/octet-stream", `${FILE.digest}.bin`],
    ["application/octet-stream", `${FILE.digest}.bin`],
    ["application/x-sh", `${FILE.digest}.bin`],
    ["application/octet-stream", `${FILE.digest}.bin`],
    ["application/octet-stream", `${FILE.digest}.bin`],
  ]);
});

test("a file lies in the conversation's folder, for the user alone, and cannot be executed", async () => {
  counters("T-FILE-8");
  const { folder, inFolder } = await workspaceWithFile();
  expect({
    folder: readdirSync(folder),
    files: readdirSync(inFolder),
    modes: [inFolder, path.join(inFolder, NAME)].map((name) => statSync(name).mode & 0o777),
    bytes: readFileSync(path.join(inFolder, NAME)),
  }).toEqual({
    folder: ["base_config.json", "events.json", "files", "metadata.json"],
    files: [NAME],
    modes: [0o700, 0o600],
    bytes: IMAGE,
  });
});

test("a file that someone has changed is not taken for the model's", async () => {
  const { conversations, id, inFolder } = await workspaceWithFile();
  writeFileSync(path.join(inFolder, NAME), "something else");
  expect(await conversations.readFile?.(id, FILE)).toBeUndefined();
});

test("a cloned record whose folder of files is a link is neither written nor read through it", async () => {
  counters("T-PATH-7");
  const { conversations, id, folder, inFolder } = await workspaceWithFile();
  const elsewhere = path.join(folder, "..", "..", "elsewhere");
  renameSync(inFolder, elsewhere);
  symlinkSync(elsewhere, inFolder);
  await using writer = await conversations.open(id);
  expect({
    read: await codeOf(conversations.readFile?.(id, FILE) ?? Promise.resolve()),
    written: await codeOf(send(writer, Buffer.from("new"))),
    elsewhere: readdirSync(elsewhere),
  }).toEqual({ read: "read_failed", written: "write_failed", elsewhere: [NAME] });
});

test("a record that names a digest with a path in it names no file", async () => {
  counters("T-FILE-8");
  const { conversations, id, files } = await workspaceWithFile();
  const { events } = files.paths(id);
  const changed = readFileSync(events, "utf8").replace(FILE.digest, "../../../private");
  writeFileSync(events, changed);
  const [entry] = (await conversations.load(id)).stream.entries;
  expect([entry?.content.kind, entry?.event]).toEqual(["malformed", undefined]);
});

test("a file of a killed process is removed by the next writer, and one that no event names with the conversation", async () => {
  const { conversations, id, folder, inFolder } = await workspaceWithFile();
  const orphan = describeFile("image/gif", Buffer.from("orphan"));
  {
    await using writer = await conversations.open(id);
    await writer.saveFile?.(orphan, Buffer.from("orphan"));
  }
  writeFileSync(path.join(inFolder, `${FILE.digest}.pdf.0123abcd.tmp`), "half");
  await (await conversations.open(id)).release();
  const left = readdirSync(inFolder);
  const fork = await conversations.fork(id);
  const copied = await conversations.readFile?.(fork, orphan);
  await conversations.remove(id);
  expect([left, copied, readdirSync(path.dirname(folder)).length]).toEqual([
    [NAME, keptFileBaseName(orphan)].toSorted(),
    undefined,
    1,
  ]);
});

test("a conversation that the user takes out of the workspace takes its files along", async () => {
  const { conversations, id, folder } = await workspaceWithFile();
  await conversations.setLocal(id, true);
  expect(await conversations.readFile?.(id, FILE)).toEqual(IMAGE);
  expect(readdirSync(path.dirname(folder))).toEqual([]);
});

test("of two copies of a conversation, the one that is written has the files of both", async () => {
  const { conversations, id, folder, local } = await workspaceWithFile();
  const other = path.join(local, path.basename(folder));
  mkdirSync(local, { recursive: true });
  cpSync(folder, other, { recursive: true });
  const report = describeFile("text/plain", Buffer.from("a report"));
  writeFileSync(path.join(other, "files", keptFileBaseName(report)), "a report");
  setAge(path.join(folder, "events.json"), 10);
  setAge(path.join(other, "events.json"), 20);
  await (await conversations.open(id)).release();
  expect(readdirSync(path.join(folder, "files"))).toEqual(
    [NAME, keptFileBaseName(report)].toSorted(),
  );
});

test("files are copied to a database and back", async () => {
  const { conversations, id, folder } = await workspaceWithFile();
  const url = await migratedDatabase();
  const tenant = crypto.randomUUID();
  const database = new PostgresStore({ url, tenant, workspace: "one", pid: process.pid });
  onTestFinished(() => database.close());
  const files = conversations as typeof conversations & Parameters<typeof copyStore>[0];
  expect(await copyStore(files, database)).toMatchObject({ copied: 1, problems: [] });
  expect(await database.readFile(id, FILE)).toEqual(IMAGE);
  const added = Buffer.alloc(5000, 7);
  const writer = await database.open(id);
  await send(writer, added);
  await writer.release();
  const back = temporaryWorkspace();
  const target = back.conversations as typeof files;
  expect(await copyStore(database, target)).toMatchObject({ copied: 1, problems: [] });
  const copy = back.files.paths(parseConversationId(id)).folder;
  const inCopy = readdirSync(path.join(copy, "files"));
  expect({
    name: path.basename(copy),
    bytes: await back.conversations.readFile?.(id, describeFile("image/png", added)),
    files: inCopy,
    modes: inCopy.map((name) => statSync(path.join(copy, "files", name)).mode & 0o777),
  }).toEqual({
    name: path.basename(folder),
    bytes: added,
    files: [NAME, keptFileBaseName(describeFile("image/png", added))].toSorted(),
    modes: [0o600, 0o600],
  });
});
