/** Files that a model has sent. A store that keeps none passes. */
import assert from "node:assert/strict";
import { describeFile, type ReplyFile } from "../../record/conversation/index.ts";
import type { ConversationStore, ConversationWriter } from "../../stores/index.ts";
import { codeOf, numbered, type StoreCases, time } from "./records.ts";

const IMAGE = Buffer.from("89504e470d0a1a0a00ff", "hex");
const TEXT = Buffer.from("a report");
const UNKNOWN = { mediaType: "image/png", digest: "0".repeat(64) };

/** Records a file of the model, as a turn does. Undefined if the store keeps no files. */
async function send(
  writer: ConversationWriter,
  bytes: Buffer,
  mediaType = "image/png",
): Promise<ReplyFile | undefined> {
  const file = describeFile(mediaType, bytes);
  const event: ReplyFile = { type: "reply_file", timestamp: time(1), ...file };
  await writer.saveFile?.(file, bytes);
  await writer.append(event);
  return writer.saveFile === undefined ? undefined : event;
}

function namesImage({ raw }: { readonly raw: object }): boolean {
  return JSON.stringify(raw).includes("image/png");
}

/** As text, to compare whatever kind of bytes the store returns. */
async function read(
  store: ConversationStore,
  { id }: Pick<ConversationWriter, "id">,
  file: Pick<ReplyFile, "mediaType" | "digest">,
): Promise<string | undefined> {
  const bytes = await store.readFile?.(id, file);
  return bytes && Buffer.from(bytes).toString("hex");
}

export const FILES: StoreCases = {
  "a file that a model has sent can be read elsewhere at once, and saved twice": async (opened) => {
    const { store, other } = opened;
    await using writer = await store.create({});
    await send(writer, IMAGE);
    const file = await send(writer, IMAGE);
    if (file === undefined) return;
    assert.equal(await read(other, writer, file), IMAGE.toString("hex"));
    assert.equal(await read(other, writer, UNKNOWN), undefined);
    const elsewhere = await store.create({});
    await elsewhere.release();
    assert.equal(await read(other, elsewhere, file), undefined);
  },

  "an empty file is a file": async ({ store, other }) => {
    await using writer = await store.create({});
    const file = await send(writer, Buffer.alloc(0), "text/plain");
    if (file !== undefined) assert.equal(await read(other, writer, file), "");
  },

  "a released writer saves no file": async ({ store }) => {
    const writer = await store.create({});
    await writer.release();
    const saved = writer.saveFile?.(describeFile("image/png", IMAGE), IMAGE);
    if (saved === undefined) return;
    assert.equal(await codeOf(saved), "write_failed");
    assert.equal(await read(store, writer, describeFile("image/png", IMAGE)), undefined);
  },

  "a fork copies the files that its entries name, and no others": async ({ store, other }) => {
    const original = await store.create({});
    const image = await send(original, IMAGE);
    await original.append(numbered(2));
    const report = await send(original, TEXT, "text/plain");
    await original.release();
    if (image === undefined || report === undefined) return;
    const whole = { id: await other.fork(original.id) };
    const part = { id: await other.fork(original.id, { keep: namesImage }) };
    await store.remove(original.id);
    const files = [image, report];
    const found = [whole, part].map((fork) =>
      Promise.all(files.map((file) => read(store, fork, file))),
    );
    assert.deepEqual(await Promise.all(found), [
      [IMAGE.toString("hex"), TEXT.toString("hex")],
      [IMAGE.toString("hex"), undefined],
    ]);
    assert.equal(await codeOf(read(store, original, image)), "conversation_not_found");
  },

  "files stay with a conversation that gets another title and is archived": async ({ store }) => {
    const writer = await store.create({ title: "One" });
    const file = await send(writer, IMAGE);
    await writer.updateMetadata((metadata) => ({ ...metadata, title: "Two" }));
    const report = await send(writer, TEXT, "text/plain");
    await writer.release();
    await store.archive(writer.id);
    if (file === undefined || report === undefined) return;
    assert.equal(await read(store, writer, file), IMAGE.toString("hex"));
    await store.unarchive(writer.id);
    assert.equal(await read(store, writer, report), TEXT.toString("hex"));
  },
};
