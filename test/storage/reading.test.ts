/** Reading records of other programs and of older versions. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import {
  codeOf,
  laidOut,
  METADATA_TEXT,
  numberedElement,
  numberedElements,
  loadPlain,
  time,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  type PlacedFiles,
  snapshotOf,
  START,
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../src/testing/index.ts";

const ID = fileIdFromNumber(17_000_000_000);
const DELTA = { type: "config_delta", timestamp: time(0), delta: { key: "base" } };
const LATER_DELTA = { type: "config_delta", timestamp: time(1), delta: { key: "later" } };

test("a packed record has its base config in its first element", async () => {
  expect(await load({ events: laidOut([DELTA, numberedElement(1), LATER_DELTA]) })).toEqual({
    baseConfig: { key: "base" },
    elements: [numberedElement(1), LATER_DELTA],
    problems: [],
  });
});

test("a split record has its base config in a file, and its first delta is an ordinary delta", async () => {
  expect(
    await load({ events: laidOut([DELTA, numberedElement(1)]), baseConfig: '{"key": "own"}' }),
  ).toEqual({
    baseConfig: { key: "own" },
    elements: [DELTA, numberedElement(1)],
    problems: [],
  });
});

test("in the oldest records, config keys are beside the element's own keys", async () => {
  const first = { type: "config_delta", timestamp: time(0), key: "inline", other: { a: 1 } };
  expect(await load({ events: laidOut([first, numberedElement(1)]) })).toEqual({
    baseConfig: { key: "inline", other: { a: 1 } },
    elements: [numberedElement(1)],
    problems: [],
  });
});

test("a record without a base config and without turns is read", async () => {
  expect(await load({ events: laidOut(numberedElements(3)) })).toEqual({
    baseConfig: {},
    elements: numberedElements(3),
    problems: [],
  });
});

test("elements of unknown kinds and shapes are kept unchanged", async () => {
  const elements = [
    { type: "from_another_version", timestamp: time(1), nested: { list: [1, { a: null }] } },
    { timestamp: time(2), no_type: true },
    { type: 7 },
    { timestamp: "no time", type: "chat_request", content: "of a known kind, but malformed" },
    { timestamp: time(3), type: "turn_start", unknown_field: 1 },
  ];
  expect(await load({ events: laidOut(elements), baseConfig: "{}" })).toEqual({
    baseConfig: {},
    elements,
    problems: [],
  });
});

test("a base config that is not a JSON object is an error", async () => {
  const codes = [];
  for (const baseConfig of ["{", "[]", "null", '"text"', ""]) {
    codes.push(await codeOf(load({ events: "[]\n", baseConfig })));
  }
  expect(codes).toEqual(codes.map(() => "read_failed"));
});

test("folders with and without a slug are found, and others ignored", async () => {
  const { conversations, live, local } = temporaryWorkspace();
  const files = { events: "[]\n", metadata: METADATA_TEXT };
  const names = [
    "17000000001",
    "17000000002-with-a-slug",
    "17000000003-größe-二",
    ".trash/17000000004-thrown-away",
    ".17000000005",
    "17000000006x",
    "notes",
    "-17000000007",
  ];
  for (const name of names) placeConversation(path.join(live, name), files);
  placeConversation(path.join(live, ".archive", "17000000008-old"), files);
  placeConversation(path.join(local, "17000000009"), files);
  writeFileSync(path.join(live, "17000000010-a-file"), "");
  const ids = async (which: "live" | "archived") =>
    (await conversations.list({ which })).map(({ id }) => id).toSorted();
  expect({ live: await ids("live"), archived: await ids("archived") }).toEqual({
    live: [1, 2, 3, 9].map((number) => fileIdFromNumber(17_000_000_000 + number)),
    archived: [fileIdFromNumber(17_000_000_008)],
  });
});

/** Created in this tenth of the first second. */
function summaryOf(tenth: number) {
  const createdAt = `1970-01-01 00:00:00.${tenth}`;
  return { id: `jp-c${tenth}`, createdAt, isArchived: false, place: "workspace" };
}

test("a broken conversation is listed with its problem", async () => {
  const { conversations, live } = temporaryWorkspace();
  const events = laidOut(numberedElements(1));
  placeConversation(path.join(live, "1"), { events, metadata: "{ no json" });
  placeConversation(path.join(live, "2"), { events, metadata: '{"title": "without a time"}' });
  placeConversation(path.join(live, "3"), { events });
  placeConversation(path.join(live, "4"), { metadata: METADATA_TEXT });
  placeConversation(path.join(live, "5"), {});
  const listed = await conversations.list();
  const metadata = { lastActivatedAt: "2026-01-02 03:04:05.0" };
  expect(listed.toSorted((left, right) => (left.id < right.id ? -1 : 1))).toEqual([
    { ...summaryOf(1), lastEventAt: time(0), problem: broken("metadata.json") },
    {
      ...summaryOf(2),
      lastEventAt: time(0),
      problem:
        'metadata.json: last_activated_at: expected a time like "2026-01-02 03:04:05.678", got nothing',
    },
    { ...summaryOf(3), lastEventAt: time(0), problem: broken("metadata.json") },
    { ...summaryOf(4), metadata, problem: broken("events.json") },
    { ...summaryOf(5), problem: broken("metadata.json") },
  ]);
});

test("a conversation with broken metadata can be opened, and the metadata is set aside once", async () => {
  const { conversations, live } = temporaryWorkspace();
  const folder = placeConversation(path.join(live, "17000000000"), {
    events: laidOut(numberedElements(1)),
    metadata: "{ no json",
  });
  for (let count = 0; count < 3; count += 1) {
    await using _ = await conversations.open(ID);
  }
  const names = snapshotOf(folder).map(({ name }) => path.basename(name));
  expect(names.filter((name) => name.startsWith("metadata.torn"))).toEqual(["metadata.torn"]);
});

test("a conversation without events.json is found but cannot be loaded", async () => {
  expect(await codeOf(load({ metadata: METADATA_TEXT }))).toBe("read_failed");
});

test("reading changes no file, time or folder", async () => {
  const { conversations, files, session, root, data, live, local } = temporaryWorkspace();
  mkdirSync(local, { recursive: true, mode: 0o700 }); // As jp makes it.
  placeConversation(path.join(live, "17000000000-packed"), {
    events: laidOut([DELTA, numberedElement(1)]),
    metadata: METADATA_TEXT,
  });
  placeConversation(path.join(local, "17000000000-packed"), {
    events: "[]\n",
    metadata: METADATA_TEXT,
    baseConfig: "{}",
  });
  placeConversation(path.join(live, "17000000001-torn"), {
    events: '[\n  {\n    "content": "ha',
    metadata: "{",
  });
  placeConversation(path.join(live, ".archive", "17000000002"), {
    events: JSON.stringify(numberedElements(3)),
  });
  const before = snapshotOf(root, data);
  const listed = await conversations.list({ which: "all" });
  for (const { id } of listed) {
    await conversations.find(id);
    await conversations.load(id);
    for await (const piece of conversations.scan(id)) expect(piece).toBeDefined();
    files.paths(id);
  }
  await session.history();
  expect({ count: listed.length, after: snapshotOf(root, data) }).toEqual({
    count: 3,
    after: before,
  });
});

test("reading a bare workspace creates neither an id nor a user folder", async () => {
  const inside = temporaryFolder();
  mkdirSync(path.join(inside, "project", ".jp"), { recursive: true });
  const { conversations, session } = openWorkspace({
    from: path.join(inside, "project"),
    environment: {
      variables: { JP_USER_DATA_DIR: path.join(inside, "data"), JP_SESSION: "a-test" },
      home: inside,
      platform: "linux",
    },
    clock: new FakeClock(START),
    pid: process.pid,
  });
  const before = snapshotOf(inside);
  expect({
    listed: await conversations.list({ which: "all" }),
    found: await conversations.find(ID),
    history: await session.history(),
    missing: await codeOf(conversations.open(ID)),
    after: snapshotOf(inside),
  }).toEqual({
    listed: [],
    found: undefined,
    history: [],
    missing: "conversation_not_found",
    after: before,
  });
});

function broken(file: string): unknown {
  return expect.stringMatching(new RegExp(`^${file}: .`));
}

async function load(files: PlacedFiles) {
  const { conversations, live } = temporaryWorkspace();
  placeConversation(path.join(live, "17000000000"), { metadata: METADATA_TEXT, ...files });
  const { baseConfig, elements, problems } = await loadPlain(conversations, ID);
  return { baseConfig, elements, problems };
}
