/** Records edited by hand: valid JSON, but not in the layout that programs write. */
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { fileIdFromNumber } from "../../src/stores/fs/file-id.ts";
import {
  laidOut,
  METADATA_TEXT,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
  plainStream,
} from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";

const ID = fileIdFromNumber(17_000_000_000);

/** The tokens of a record, which opening and appending must not change. */
const TOKENS =
  '[{"timestamp":"2026-02-03 00:00:00.0","type":"chat_request","content":"ä \\u00e4 { \\" } ,"},' +
  '{"type":"from_another_version","timestamp":"2026-02-03 00:00:01.0","float":1.0,' +
  '"large":12345678901234567890,"exponent":1E+2,"zero":-0.0,"keys":{"2":[],"1":{}}}]';

const LAID_OUT = [
  "[",
  "  {",
  '    "timestamp": "2026-02-03 00:00:00.0",',
  '    "type": "chat_request",',
  '    "content": "ä \\u00e4 { \\" } ,"',
  "  },",
  "  {",
  '    "type": "from_another_version",',
  '    "timestamp": "2026-02-03 00:00:01.0",',
  '    "float": 1.0,',
  '    "large": 12345678901234567890,',
  '    "exponent": 1E+2,',
  '    "zero": -0.0,',
  '    "keys": {',
  '      "2": [],',
  '      "1": {}',
  "    }",
  "  }",
].join("\n");

const EDITED = [
  { name: "minified", text: TOKENS },
  { name: "minified, with a newline at the end", text: `${TOKENS}\n` },
  { name: "with an element a line", text: TOKENS.replaceAll("},{", "},\n{") },
  { name: "indented by four spaces", text: `${LAID_OUT}\n]\n`.replaceAll("  ", "    ") },
  { name: "indented by one space", text: `${LAID_OUT}\n]\n`.replaceAll("  ", " ") },
  { name: "indented by tabs", text: `${LAID_OUT}\n]\n`.replaceAll("  ", "\t") },
  { name: "with Windows' line ends", text: `${LAID_OUT}\n]\n`.replaceAll("\n", "\r\n") },
  { name: "without a newline at the end", text: `${LAID_OUT}\n]` },
  { name: "with many newlines at the end", text: `${LAID_OUT}\n]\n\n\n` },
  { name: "with a space before the bracket", text: `${LAID_OUT}\n ]\n` },
  { name: "with a byte order mark", text: `\uFEFF${LAID_OUT}\n]\n` },
  { name: "minified, with a byte order mark", text: `\uFEFF${TOKENS}` },
];

test.each(EDITED)("a record $name is read as the same elements", async ({ text }) => {
  const { conversations } = place(text);
  const { problems, elements } = await loadPlain(conversations, ID);
  expect({ problems, elements }).toEqual({ problems: [], elements: JSON.parse(TOKENS) });
});

test.each(EDITED)(
  "a record $name is listed with the time of its last element",
  async ({ text }) => {
    const { conversations } = place(text);
    expect((await conversations.find(ID))?.lastEventAt).toBe("2026-02-03 00:00:01.0");
  },
);

test.each(EDITED)("a record $name is laid out before it is appended to", async ({ text }) => {
  const { conversations, folder, file } = place(text);
  const writer = await conversations.open(ID);
  const { problems } = writer;
  await writer.append(numbered(2));
  await writer.release();
  expect({
    problems,
    names: readdirSync(folder).toSorted(),
    elements: plainStream(writer).elements,
    text: readFileSync(file, "utf8"),
  }).toEqual({
    problems: [],
    names: ["events.json", "metadata.json"],
    elements: [...(JSON.parse(TOKENS) as unknown[]), numberedElement(2)],
    text: `${LAID_OUT},\n${laidOut([numberedElement(2)]).slice("[\n".length)}`,
  });
});

test.each(["[]", "[ ]\n", "[\n]\n", "\uFEFF[]\r\n", " [] "])(
  "an empty record written as %j is appended to",
  async (text) => {
    const { conversations, file } = place(text);
    await using writer = await conversations.open(ID);
    await writer.append(numbered(0));
    expect({
      problems: writer.problems,
      text: readFileSync(file, "utf8"),
    }).toEqual({ problems: [], text: laidOut(numberedElements(1)) });
  },
);

test.each([
  { name: "is missing", separator: "\n  " },
  { name: "is there twice", separator: ",,\n  " },
])("a comma between two elements that $name is fixed", async ({ separator }) => {
  const text = laidOut(numberedElements(3)).replace("},\n  {", `}${separator}{`);
  const { conversations, file } = place(text);
  const loaded = (await loadPlain(conversations, ID)).elements;
  await using writer = await conversations.open(ID);
  await writer.append(numbered(3));
  expect({ loaded, text: readFileSync(file, "utf8") }).toEqual({
    loaded: numberedElements(3),
    text: laidOut(numberedElements(4)),
  });
});

test("a trailing comma is fixed", async () => {
  const { conversations, file } = place(laidOut(numberedElements(2)).replace("\n]", ",\n]"));
  await using writer = await conversations.open(ID);
  await writer.append(numbered(2));
  expect(readFileSync(file, "utf8")).toBe(laidOut(numberedElements(3)));
});

test("a record in the usual layout is opened without changing it", async () => {
  const { conversations, file } = place(`${LAID_OUT}\n]\n`);
  const before = statSync(file, { bigint: true });
  const writer = await conversations.open(ID);
  await writer.release();
  const after = statSync(file, { bigint: true });
  expect({ ino: after.ino, changed: after.mtimeNs, text: readFileSync(file, "utf8") }).toEqual({
    ino: before.ino,
    changed: before.mtimeNs,
    text: `${LAID_OUT}\n]\n`,
  });
});

test("a rewritten file keeps its permissions", async () => {
  const { conversations, file } = place(TOKENS, 0o600);
  const writer = await conversations.open(ID);
  await writer.release();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

function place(text: string, mode = 0o644) {
  const { conversations, live } = temporaryWorkspace();
  const folder = placeConversation(path.join(live, "17000000000"), {
    events: text,
    metadata: METADATA_TEXT,
  });
  const file = path.join(folder, "events.json");
  chmodSync(file, mode);
  return { conversations, folder, file };
}
