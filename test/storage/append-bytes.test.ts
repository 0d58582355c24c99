/** The exact bytes of `events.json` after appends. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { configProblems } from "../../src/settings/config/original-config.fixture.ts";
import { StreamEntry } from "../../src/record/conversation/index.ts";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import { EventFile } from "../../src/stores/fs/event-file.ts";
import {
  anyElement,
  laidOut,
  METADATA_TEXT,
  numbered,
  numberedElement,
  loadPlain,
  plainStream,
  UNHEARD,
} from "../../src/stores/record-elements.fixture.ts";
import {
  temporaryFolder,
  placeConversation,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";

const ID = fileIdFromNumber(17_000_000_000);

/** Formatted by hand or another program: parsing and printing would not give these bytes. */
const TOKENS = [
  "  {",
  '    "timestamp": "2026-01-01 00:00:00.123456789",',
  '    "type": "from_another_version",',
  '    "float": 1.0,',
  '    "large": 12345678901234567890,',
  '    "exponent": 1E+2,',
  '    "escaped": "\\u00e4\\/",',
  '    "keys": {',
  '      "2": true,',
  '      "1": true',
  "    }",
  "  }",
].join("\n");

test("any number of appends gives the same file as one write", async () => {
  const folder = temporaryFolder();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyElement(), { maxLength: 3 }), { maxLength: 5 }),
      async (groups) => {
        count += 1;
        const { events, eventsFile } = placeEvents(path.join(folder, String(count)), "[]\n");
        await events.open();
        for (const group of groups) await append(events, ...group);
        await events.close();
        expect(readFileSync(eventsFile, "utf8")).toBe(wellFormed(laidOut(groups.flat())));
      },
    ),
    { numRuns: 60 },
  );
});

/** Without escapes of lone surrogates. */
function wellFormed(json: string): string {
  return json.replaceAll(/\\\\|\\ud[89a-f]../g, (found) => (found === "\\\\" ? found : "\u{fffd}"));
}

test("lone surrogates are replaced, because other parsers would reject the whole file", async () => {
  const { events, eventsFile } = placeEvents(temporaryFolder(), "[]\n");
  await events.open();
  await append(events, { text: "half \ud83d, whole 😀, escape \\ud83d" });
  await events.close();
  expect(readFileSync(eventsFile, "utf8")).toBe(
    laidOut([{ text: "half \u{fffd}, whole 😀, escape \\ud83d" }]),
  );
});

test("an append overwrites only the three bytes that closed the list", async () => {
  const { events, eventsFile } = placeEvents(temporaryFolder(), laidOut([numberedElement(0)]));
  await events.open();
  const states = [readFileSync(eventsFile)];
  for (let number = 1; number < 20; number += 1) {
    await append(events, numberedElement(number));
    states.push(readFileSync(eventsFile));
  }
  await events.close();
  const kept = states.slice(1).map((state, index) => {
    const before = states[index]?.subarray(0, -3) ?? Buffer.alloc(0);
    return state.subarray(0, before.length).equals(before);
  });
  expect(kept).toEqual(kept.map(() => true));
});

test("the first append to an empty record writes exactly these bytes", async () => {
  const { conversations, files } = temporaryWorkspace();
  const writer = await conversations.create({});
  const empty = readFileSync(files.paths(writer.id).events, "utf8");
  await writer.append(numbered(1));
  await writer.release();
  expect({ empty, text: readFileSync(files.paths(writer.id).events, "utf8") }).toEqual({
    empty: "[]\n",
    text: [
      "[",
      "  {",
      '    "timestamp": "2026-02-03 00:00:01.0",',
      '    "type": "chat_request",',
      '    "content": "number 1"',
      "  }",
      "]",
      "",
    ].join("\n"),
  });
});

test("a new conversation consists of three files", async () => {
  const { conversations, files } = temporaryWorkspace();
  await using writer = await conversations.create({
    title: "A Title, of words!",
    baseConfig: { assistant: { name: "JP" } },
    labels: { b: "2", a: "1" },
  });
  const { folder, ...paths } = files.paths(writer.id);
  expect({
    name: path.basename(folder),
    names: readdirSync(folder).toSorted(),
    events: readFileSync(paths.events, "utf8"),
    metadata: readFileSync(paths.metadata, "utf8"),
    baseConfig: readFileSync(paths.baseConfig, "utf8"),
  }).toEqual({
    name: "17673230450-a-title--of-words",
    names: ["base_config.json", "events.json", "metadata.json"],
    events: "[]\n",
    metadata: [
      "{",
      '  "title": "A Title, of words!",',
      '  "last_activated_at": "2026-01-02 03:04:05.0",',
      '  "labels": {',
      '    "a": "1",',
      '    "b": "2"',
      "  }",
      "}",
      "",
    ].join("\n"),
    // Without a model the Rust original could not open it.
    baseConfig: `${JSON.stringify(
      {
        assistant: {
          name: "JP",
          model: { id: { provider: "ollama", name: "no-model-recorded" } },
        },
        conversation: { tools: { "*": { run: "ask" } } },
      },
      null,
      2,
    )}\n`,
  });
});

test("a conversation created without a config can be opened by the Rust original", async () => {
  counters("T-COMPAT-1");
  const { conversations, files } = temporaryWorkspace();
  await using writer = await conversations.create({ title: "Half a character: \ud83d" });
  const { baseConfig, metadata } = files.paths(writer.id);
  const written = JSON.parse(readFileSync(baseConfig, "utf8")) as JsonObject;
  expect({
    problems: configProblems(written, []),
    read: (await conversations.load(writer.id)).stream.baseConfig,
    title: /"title": "(?<title>.*)"/.exec(readFileSync(metadata, "utf8"))?.groups?.["title"],
  }).toEqual({ problems: [], read: {}, title: "Half a character: \ufffd" });
});

test("a packed record stays packed, with the base config as its first element", async () => {
  const { conversations, live } = temporaryWorkspace();
  const packed = [
    { type: "config_delta", timestamp: "2026-01-01 00:00:00.0", delta: { key: 1 } },
    numberedElement(0),
  ];
  const folder = placeConversation(path.join(live, "17000000000-packed"), {
    events: laidOut(packed),
    metadata: METADATA_TEXT,
  });
  const writer = await conversations.open(ID);
  await writer.append(numbered(1));
  await writer.release();
  const { baseConfig, elements } = plainStream(writer);
  expect({
    baseConfig,
    elements,
    names: readdirSync(folder).toSorted(),
    text: readFileSync(path.join(folder, "events.json"), "utf8"),
  }).toEqual({
    baseConfig: { key: 1 },
    elements: [numberedElement(0), numberedElement(1)],
    names: ["events.json", "metadata.json"],
    text: laidOut([...packed, numberedElement(1)]),
  });
});

test("elements in an unusual format keep every byte", async () => {
  const { events, eventsFile } = placeEvents(temporaryFolder(), `[\n${TOKENS}\n]\n`);
  await events.open();
  await append(events, numberedElement(1));
  await events.close();
  const appended = laidOut([numberedElement(1)]).slice("[\n".length);
  expect(readFileSync(eventsFile, "utf8")).toBe(`[\n${TOKENS},\n${appended}`);
});

test("a fork keeps every byte of the elements it copies", async () => {
  const { conversations, files, live } = temporaryWorkspace();
  placeConversation(path.join(live, "17000000000"), {
    events: `[\n${TOKENS},\n${laidOut([numberedElement(1)]).slice("[\n".length)}`,
    metadata: METADATA_TEXT,
  });
  const all = await conversations.fork(ID);
  const some = await conversations.fork(ID, { keep: ({ event }) => event === undefined });
  expect({
    all: readFileSync(files.paths(all).events, "utf8"),
    some: readFileSync(files.paths(some).events, "utf8"),
  }).toEqual({
    all: readFileSync(files.paths(ID).events, "utf8"),
    some: `[\n${TOKENS}\n]\n`,
  });
});

test("a fork of part of a packed record has the base config of the whole", async () => {
  const { conversations, live } = temporaryWorkspace();
  placeConversation(path.join(live, "17000000000"), {
    events: laidOut([
      { type: "config_delta", timestamp: "2026-01-01 00:00:00.0", delta: { key: 1 } },
      numberedElement(0),
      { type: "config_delta", timestamp: "2026-01-01 00:00:01.0", delta: { key: 2 } },
      numberedElement(1),
    ]),
    metadata: METADATA_TEXT,
  });
  const id = await conversations.fork(ID, { keep: ({ event }) => event !== undefined });
  const { baseConfig, elements } = await loadPlain(conversations, id);
  expect({ baseConfig, elements }).toEqual({
    baseConfig: { key: 1 },
    elements: [numberedElement(0), numberedElement(1)],
  });
});

test("a record whose last element is an empty object is opened and appended to", async () => {
  const { events, eventsFile } = placeEvents(temporaryFolder(), laidOut([numberedElement(0), {}]));
  await events.open();
  await append(events, {});
  await append(events, numberedElement(1));
  await events.close();
  expect(readFileSync(eventsFile, "utf8")).toBe(
    laidOut([numberedElement(0), {}, {}, numberedElement(1)]),
  );
});

test("a new title renames both folders, and appending continues", async () => {
  const { conversations, live, local } = temporaryWorkspace();
  const files = { events: laidOut([numberedElement(0)]), metadata: METADATA_TEXT };
  placeConversation(path.join(live, "17000000000-old"), files);
  placeConversation(path.join(local, "17000000000-old"), files);
  await using writer = await conversations.open(ID);
  await writer.append(numbered(1));
  await writer.updateMetadata((metadata) => ({ ...metadata, title: "New & better" }));
  await writer.append(numbered(2));
  await writer.updateMetadata(({ title: _title, ...metadata }) => metadata);
  await writer.appendEntries([StreamEntry.fromJson(numberedElement(3))]);
  expect({
    live: readdirSync(live),
    local: readdirSync(local),
    text: readFileSync(path.join(live, "17000000000", "events.json"), "utf8"),
  }).toEqual({
    live: ["17000000000"],
    local: ["17000000000"],
    text: laidOut([0, 1, 2, 3].map(numberedElement)),
  });
});

test("a title with the same folder name does not move the folder", async () => {
  const { conversations, live } = temporaryWorkspace();
  await using writer = await conversations.create({ title: "Same name" });
  await writer.updateMetadata((metadata) => ({ ...metadata, title: "same NAME?" }));
  await writer.append(numbered(0));
  expect({ live: readdirSync(live), title: writer.metadata.title }).toEqual({
    live: ["17673230450-same-name"],
    title: "same NAME?",
  });
});

function append(events: EventFile, ...elements: readonly JsonObject[]): Promise<void> {
  return events.append(elements.map((element) => StreamEntry.fromJson(element)));
}

function placeEvents(folder: string, text: string) {
  placeConversation(folder, { events: text });
  const eventsFile = path.join(folder, "events.json");
  return { eventsFile, events: new EventFile(eventsFile, UNHEARD) };
}
