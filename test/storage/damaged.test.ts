/** Records with bytes that are not JSON: everything else is read, and nothing is written. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
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
  snapshotOf,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);
const WHOLE = laidOut(numberedElements(4));
const OTHERS = [0, 2, 3].map(numberedElement);

/** Ways to damage the second of four elements. */
const DAMAGED = [
  { name: "a closing quote is missing", text: WHOLE.replace('number 1"', "number 1") },
  { name: "an opening quote is missing", text: WHOLE.replace('"number 1"', 'number 1"') },
  { name: "a colon is missing", text: WHOLE.replace(': "number 1"', ' "number 1"') },
  {
    name: "a comma between two keys is missing",
    text: WHOLE.replace(',\n    "content": "number 1', '\n    "content": "number 1'),
  },
  { name: "a value is missing", text: WHOLE.replace('"number 1"', "") },
  { name: "zeros stand in the middle", text: WHOLE.replace('"number 1"', "\0\0\0\0\0\0\0\0") },
  {
    name: "the closing brace is missing",
    text: WHOLE.replace('"number 1"\n  }', '"number 1"\n  '),
  },
  {
    name: "the opening brace is missing",
    text: WHOLE.replace(
      '{\n    "timestamp": "2026-02-03 00:00:01.0"',
      '\n    "timestamp": "2026-02-03 00:00:01.0"',
    ),
  },
];

test.each(DAMAGED)("all other elements are read where $name", async ({ text }) => {
  const { conversations } = place(text);
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({ types: [...new Set(problems.map(({ type }) => type))], elements }).toEqual({
    types: ["damaged"],
    elements: OTHERS,
  });
});

test.each(DAMAGED)("nothing is written where $name", async ({ text }) => {
  const { conversations, root, data } = place(text);
  const before = snapshotOf(root);
  expect({
    open: await codeOf(conversations.open(ID)),
    fork: await codeOf(conversations.fork(ID)),
    after: snapshotOf(root),
    locks: readdirSync(path.join(data, "workspace", "project-abc12", "locks")),
  }).toEqual({ open: "record_damaged", fork: "record_damaged", after: before, locks: [] });
});

test.each([
  { name: "minified", text: JSON.stringify(numberedElements(4)) },
  { name: "indented by four spaces", text: `${JSON.stringify(numberedElements(4), null, 4)}\n` },
])(
  "damage in the middle of a record $name is not a torn end, and nothing is cut off",
  async (record) => {
    const { conversations, file } = place(record.text.replace('number 1"', "number 1"));
    const before = readFileSync(file, "utf8");
    const { problems, elements } = await loadPlain(conversations, ID);
    expect({
      problem: problems[0]?.type,
      firstElement: elements[0],
      open: await codeOf(conversations.open(ID)),
      text: readFileSync(file, "utf8"),
    }).toEqual({
      problem: "damaged",
      firstElement: numberedElement(0),
      open: "record_damaged",
      text: before,
    });
  },
);

test("an extra brace does not affect other elements", async () => {
  const { conversations } = place(WHOLE.replace('"number 1"\n  },', '"number 1"\n  }},'));
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({ types: problems.map(({ type }) => type), elements }).toEqual({
    types: ["damaged"],
    elements: numberedElements(4),
  });
});

test("text between two elements does not affect them", async () => {
  const text = WHOLE.replace("  },\n  {", "  },\n  // a note,\n  {");
  const { conversations } = place(text);
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({
    types: [...new Set(problems.map(({ type }) => type))],
    elements,
    open: await codeOf(conversations.open(ID)),
  }).toEqual({
    types: ["damaged"],
    elements: numberedElements(4),
    open: "record_damaged",
  });
});

test("text after the end of the list is reported and saved", async () => {
  const { conversations, folder, file } = place(`${WHOLE}and more\n`);
  const { problems, elements } = await loadPlain(conversations, ID);
  await codeOf(openAndRelease(conversations));
  const texts = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
  expect({
    elements,
    files: problems.map((problem) => problem.file),
    isKept: texts.some((text) => text.includes("and more")),
  }).toEqual({ elements: numberedElements(4), files: [file], isKept: true });
});

test("elements that are not objects are reported and kept", async () => {
  const odd = '[1, "text", null, true, [{"a": 1}], {"type": "a", "timestamp": "b"}, -1.5e3]\n';
  const { conversations, file } = place(odd);
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({
    elements,
    damaged: problems.map(({ type, offset, length }) => [type, odd.slice(offset, offset + length)]),
    open: await codeOf(conversations.open(ID)),
    text: readFileSync(file, "utf8"),
  }).toEqual({
    elements: [{ type: "a", timestamp: "b" }],
    damaged: ["1", '"text"', "null", "true", '[{"a": 1}]', "-1.5e3"].map((text) => [
      "damaged",
      text,
    ]),
    open: "record_damaged",
    text: odd,
  });
});

test("the error says which file is damaged, where, and how to fix it", async () => {
  const { conversations, file } = place(WHOLE.replace('number 1"', "number 1"));
  const offset = WHOLE.indexOf('{\n    "timestamp": "2026-02-03 00:00:01.0"');
  const length = WHOLE.indexOf("  },", offset) + "  }".length - offset - 1;
  expect(await failureOf(conversations.open(ID))).toEqual({
    code: "record_damaged",
    message: `${file} is damaged: unreadable event at byte ${offset} (${length} bytes).`,
  });
});

test("a damaged record with a torn end is not changed", async () => {
  const text = `${WHOLE.replace('number 1"', "number 1").slice(0, -3)},\n  {\n    "half`;
  const { conversations, folder, file } = place(text);
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({
    types: problems.map(({ type }) => type),
    elements,
    open: await codeOf(conversations.open(ID)),
    names: readdirSync(folder).toSorted(),
    text: readFileSync(file, "utf8"),
  }).toEqual({
    types: ["damaged", "torn"],
    elements: OTHERS,
    open: "record_damaged",
    names: ["events.json", "metadata.json"],
    text,
  });
});

test("damage deep inside a large record is found, and everything else is read", async () => {
  const elements = numberedElements(30_000);
  const { conversations } = place(laidOut(elements).replace('number 20000"', "number 20000"));
  const { problems, elements: read } = await loadPlain(conversations, ID);
  expect({
    types: problems.map(({ type }) => type),
    count: read.length,
    isMissing: !read.some(({ content }) => content === "number 20000"),
  }).toEqual({ types: ["damaged"], count: 29_999, isMissing: true });
});

async function openAndRelease(conversations: ConversationStore): Promise<void> {
  await using _ = await conversations.open(ID);
}

function place(text: string) {
  const { conversations, root, data, live } = temporaryWorkspace();
  const folder = placeConversation(path.join(live, "17000000000"), {
    events: text,
    metadata: METADATA_TEXT,
  });
  return { conversations, root, data, folder, file: path.join(folder, "events.json") };
}
