/** Opening a conversation that was loaded before reads its record again only if it has changed. */
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import {
  laidOut,
  METADATA_TEXT,
  numbered,
  numberedElement,
  numberedElements,
  plainStream,
  time,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);

describe("in a workspace,", () => {
  test("a loaded conversation is opened with its events, and can be appended to", async () => {
    const { conversations: store } = temporaryWorkspace();
    const created = await store.create({ baseConfig: { key: "base" } });
    await created.append(numbered(0));
    await created.release();
    const loaded = await store.load(created.id);
    await using writer = await store.open(created.id, { loaded });
    await writer.append(numbered(1));
    const { elements, baseConfig } = plainStream(writer);
    expect({ elements, baseConfig, saved: plainStream(await store.load(created.id)) }).toEqual({
      elements: numberedElements(2),
      baseConfig: { key: "base" },
      saved: plainStream(writer),
    });
  });

  test("events that were appended after loading are found on opening", async () => {
    const { conversations: store } = temporaryWorkspace();
    const created = await store.create({});
    const loaded = await store.load(created.id);
    await created.append(numbered(0));
    await created.release();
    await using writer = await store.open(created.id, { loaded });
    expect(plainStream(writer).elements).toEqual(numberedElements(1));
  });
});

test("a loaded conversation stays as it was while it is continued", async () => {
  const { conversations } = place(laidOut(numberedElements(2)));
  const loaded = await conversations.load(ID);
  await using writer = await conversations.open(ID, { loaded });
  await writer.append(numbered(2));
  expect(plainStream(loaded).elements).toEqual(numberedElements(2));
  expect(plainStream(writer).elements).toEqual(numberedElements(3));
});

test("a record whose file has not changed is not read again", async () => {
  const { conversations, file } = place(laidOut(numberedElements(2)));
  const moment = new Date("2026-01-01T00:00:00.000Z");
  utimesSync(file, moment, moment);
  const loaded = await conversations.load(ID);
  // The same size and time: only reading it would show the difference.
  writeFileSync(file, readFileSync(file, "utf8").replace("number 0", "number 7"));
  utimesSync(file, moment, moment);
  await using writer = await conversations.open(ID, { loaded });
  expect(plainStream(writer).elements).toEqual(numberedElements(2));
});

test("an edit after loading is kept, and the next append follows it", async () => {
  const { conversations, file } = place(laidOut(numberedElements(2)));
  const loaded = await conversations.load(ID);
  const edited = { ...numberedElement(0), content: "edited by hand" };
  writeFileSync(file, laidOut([edited, numberedElement(1)]));
  await using writer = await conversations.open(ID, { loaded });
  await writer.append(numbered(2));
  const elements = [edited, numberedElement(1), numberedElement(2)];
  expect({ stream: plainStream(writer).elements, text: readFileSync(file, "utf8") }).toEqual({
    stream: elements,
    text: laidOut(elements),
  });
});

test.each([
  ["minified", (text: string) => JSON.stringify(JSON.parse(text))],
  ["with newlines at the end", (text: string) => `${text}\n\n`],
  ["with a trailing comma", (text: string) => text.replace("\n]", ",\n]")],
  ["torn", (text: string) => `${text.slice(0, -3)},\n  {\n    "content": "ha`],
])("a loaded record that is %s is repaired on opening", async (_name, change) => {
  const { conversations, file } = place(change(laidOut(numberedElements(2))));
  const loaded = await conversations.load(ID);
  await using writer = await conversations.open(ID, { loaded });
  await writer.append(numbered(2));
  expect({ stream: plainStream(writer).elements, text: readFileSync(file, "utf8") }).toEqual({
    stream: numberedElements(3),
    text: laidOut(numberedElements(3)),
  });
});

test("a packed record keeps its base config", async () => {
  const base = { type: "config_delta", timestamp: time(0), delta: { key: "base" } };
  const { conversations } = place(laidOut([base, numberedElement(1)]));
  await using writer = await conversations.open(ID, { loaded: await conversations.load(ID) });
  const { baseConfig, elements } = plainStream(writer);
  expect({ baseConfig, elements }).toEqual({
    baseConfig: { key: "base" },
    elements: [numberedElement(1)],
  });
});

function place(events: string) {
  const { conversations, live } = temporaryWorkspace();
  const folder = path.join(live, "17000000000");
  placeConversation(folder, { events, metadata: METADATA_TEXT });
  return { conversations, file: path.join(folder, "events.json") };
}
