/** The files behind a record, for users who look at them or edit them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import type { RecordFile } from "../../src/stores/index.ts";
import {
  codeOf,
  failureOf,
  laidOut,
  METADATA_TEXT,
  numberedElement,
  numberedElements,
  loadPlain,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  setAge,
  snapshotOf,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);
const EVENTS = laidOut(numberedElements(1));

test("the paths are those of the files that jp reads", () => {
  const { files, live, local } = placeRecord();
  const copy = placeConversation(path.join(local, "17000000000"), {
    events: EVENTS,
    metadata: METADATA_TEXT,
  });
  setAge(path.join(copy, "events.json"), 0);
  setAge(path.join(live, "17000000000", "events.json"), 10);
  setAge(path.join(live, "17000000000", "base_config.json"), 10);
  setAge(path.join(copy, "metadata.json"), 10);
  setAge(path.join(live, "17000000000", "metadata.json"), 0);
  expect(files.paths(ID)).toEqual({
    folder: path.join(live, "17000000000"),
    events: path.join(live, "17000000000", "events.json"),
    metadata: path.join(copy, "metadata.json"),
    baseConfig: path.join(live, "17000000000", "base_config.json"),
  });
});

test("an unknown conversation has no paths", () => {
  const { files } = temporaryWorkspace();
  expect(() => files.paths(ID)).toThrow(
    expect.objectContaining({ code: "conversation_not_found" }),
  );
});

test("a valid text replaces the old one unchanged", async () => {
  const { files, conversations } = placeRecord();
  const typed = `[${JSON.stringify(numberedElement(7))}]`;
  await files.replace(ID, "events", { before: EVENTS, after: typed });
  await files.replace(ID, "metadata", {
    before: METADATA_TEXT,
    after: '{"title":"Typed","last_activated_at":"2026-01-02 03:04:05.0"}',
  });
  await files.replace(ID, "baseConfig", { before: "{}", after: '{"a": 1}' });
  const { summary, elements, baseConfig } = await loadPlain(conversations, ID);
  expect({
    text: readFileSync(files.paths(ID).events, "utf8"),
    title: summary.metadata?.title,
    elements,
    baseConfig,
  }).toEqual({ text: typed, title: "Typed", elements: [numberedElement(7)], baseConfig: { a: 1 } });
});

const INVALID: readonly { file: RecordFile; after: string; reason: string }[] = [
  { file: "events", after: "{}", reason: "expected a list, got object" },
  { file: "events", after: "[1]", reason: "element 0: expected an object, got number" },
  { file: "events", after: '[{"type": "a"}]', reason: 'element 0: "timestamp" is missing' },
  { file: "events", after: '[{"timestamp": "a"}]', reason: 'element 0: "type" is missing' },
  {
    file: "events",
    after: '[{"timestamp": "2026-01-01 00:00:00.0", "type": "chat_request"}]',
    reason: "element 0: content: expected a string, got nothing",
  },
  { file: "metadata", after: "[]", reason: "expected an object, got array" },
  { file: "metadata", after: '{"title": 1}', reason: "title: expected a string, got number" },
  { file: "baseConfig", after: "null", reason: "expected an object, got null" },
];

test.each(INVALID)(
  "$after is rejected as $file, with the reason",
  async ({ file, after, reason }) => {
    const { files, root } = placeRecord();
    const before = readFileSync(files.paths(ID)[file], "utf8");
    const snapshot = snapshotOf(root);
    expect({
      failure: await failureOf(files.replace(ID, file, { before, after })),
      after: snapshotOf(root),
    }).toEqual({
      failure: {
        code: "invalid_record",
        message: `Invalid ${file} file: ${reason}`,
      },
      after: snapshot,
    });
  },
);

test("elements of unknown kinds are accepted", async () => {
  const { files, conversations } = placeRecord();
  const element = { timestamp: "whenever", type: "from_another_version" };
  await files.replace(ID, "events", { before: EVENTS, after: JSON.stringify([element]) });
  expect((await loadPlain(conversations, ID)).elements).toEqual([element]);
});

test("a text is rejected if the file has changed since it was read", async () => {
  const { files, root } = placeRecord();
  const snapshot = snapshotOf(root);
  expect({
    code: await codeOf(files.replace(ID, "events", { before: "[]\n", after: "[]\n" })),
    after: snapshotOf(root),
  }).toEqual({ code: "record_changed", after: snapshot });
});

test("a text is rejected while the conversation is locked", async () => {
  const { files, conversations } = placeRecord();
  await using _ = await conversations.open(ID);
  expect(await codeOf(files.replace(ID, "events", { before: EVENTS, after: "[]\n" }))).toBe(
    "conversation_locked",
  );
});

function placeRecord() {
  const workspace = temporaryWorkspace();
  placeConversation(path.join(workspace.live, "17000000000"), {
    events: EVENTS,
    metadata: METADATA_TEXT,
    baseConfig: "{}",
  });
  return workspace;
}
