import { writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyElement, laidOut, numberedElements } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { readEntries } from "./event-reader.ts";

const MEBIBYTE = 1 << 20;
const FILLERS = ["ä€", "\n  },\n  {", "😀", "x"];

test("any record is read like JSON.parse would read it", () => {
  const file = path.join(temporaryFolder(), "events.json");
  fc.assert(
    fc.property(fc.array(anyElement(), { maxLength: 6 }), (elements) => {
      const text = laidOut(elements);
      expect(read(file, text)).toEqual({ elements: JSON.parse(text), problems: [] });
    }),
    { numRuns: 100 },
  );
});

test("a record of several mebibytes is read in pieces, with the same result as JSON.parse", () => {
  const file = path.join(temporaryFolder(), "events.json");
  fc.assert(
    fc.property(anyElement(), fc.integer({ min: 15, max: 40 }), (element, step) => {
      const elements = Array.from({ length: 40 }, (_, index) => ({
        ...element,
        filler: FILLERS[index % 4]?.repeat(index * step * 41),
      }));
      const text = laidOut(elements);
      const batches = [...readEntries(write(file, text))];
      expect({
        elements: batches.flatMap(({ entries }) => entries.map(({ raw }) => raw)),
        isLong: Buffer.byteLength(text) > MEBIBYTE,
        isInPieces: batches.length > 2,
      }).toEqual({ elements: JSON.parse(text), isLong: true, isInPieces: true });
    }),
    { numRuns: 3 },
  );
});

test.each([MEBIBYTE / 4 - 1, MEBIBYTE / 4, MEBIBYTE / 4 + 1, MEBIBYTE, 2 * MEBIBYTE])(
  "a record of exactly %i bytes is read whole",
  (size) => {
    const file = path.join(temporaryFolder(), "events.json");
    const [first, ...rest] = numberedElements(30);
    const missing = size - Buffer.byteLength(laidOut([{ ...first, filler: "" }, ...rest]));
    const elements = [{ ...first, filler: "x".repeat(missing) }, ...rest];
    expect({
      size: Buffer.byteLength(laidOut(elements)),
      ...read(file, laidOut(elements)),
    }).toEqual({ size, elements, problems: [] });
  },
);

test("elements larger than a piece are read completely, in any layout", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const [first, second, third] = numberedElements(3);
  const elements = [
    first,
    { ...second, content: 'ä"\\'.repeat(MEBIBYTE) },
    third,
    { ...second, content: "x".repeat(5 * MEBIBYTE) },
  ];
  expect({
    laidOut: read(file, laidOut(elements)),
    minified: read(file, JSON.stringify(elements)),
  }).toEqual({
    laidOut: { elements, problems: [] },
    minified: { elements, problems: [] },
  });
});

test("a long record that leaves the layout halfway is read to its end", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const elements = numberedElements(20_000);
  const text = laidOut(elements);
  const half = text.indexOf('"number 15000"');
  const edited = text.slice(0, half) + text.slice(half).replaceAll("\n  },\n  {", " } ,{");
  expect(read(file, edited)).toEqual({ elements, problems: [] });
});

test("an interrupted write is reported after the last complete event, in a short record", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const whole = laidOut(numberedElements(2));
  const torn = ',\n  {\n    "content": "half';
  expect(read(file, whole.slice(0, -3) + torn)).toEqual({
    elements: numberedElements(2),
    problems: [
      {
        type: "torn",
        file,
        offset: whole.length - 3,
        length: torn.length,
        message: "the last write was cut off: 26 bytes after the last complete event",
      },
    ],
  });
});

test("an interrupted write is reported after the last complete event, in a long record", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const elements = numberedElements(5000);
  const whole = laidOut(elements);
  const torn = `,\n  {\n    "content": "${"x".repeat(MEBIBYTE)}`;
  const { problems, ...rest } = read(file, whole.slice(0, -3) + torn);
  expect({
    ...rest,
    problems: problems.map(({ type, offset, length }) => ({ type, offset, length })),
  }).toEqual({
    elements,
    problems: [{ type: "torn", offset: whole.length - 3, length: torn.length }],
  });
});

test("what is left of a damaged event does not end the list", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const text = laidOut([{ lists: [[1], [2]] }, ...numberedElements(2)]);
  const { elements } = read(file, text.replace(/(?<=\n {2})(?= +1)/, "}{"));
  expect(elements).toEqual(numberedElements(2));
});

test("a missing file cannot be read", () => {
  const file = path.join(temporaryFolder(), "events.json");
  expect(() => [...readEntries(file)]).toThrow(
    expect.objectContaining({
      code: "read_failed",
      message: expect.stringContaining(`Cannot read ${file}`),
    }),
  );
});

test("a record that grows while it is read is read as it was, or as it is now", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const before = numberedElements(5);
  writeFileSync(file, laidOut(before));
  const batches = readEntries(file);
  const first = batches.next();
  const after = numberedElements(8);
  // In place, as a writer appends: the end of the list has been read already.
  writeFileSync(file, laidOut(after), { flag: "r+" });
  const rest = [...batches];
  expect({
    problems: rest.flatMap(({ problems }) => problems),
    elements: [...(first.done === true ? [] : [first.value]), ...rest].flatMap(({ entries }) =>
      entries.map(({ raw }) => raw),
    ),
  }).toEqual({ problems: [], elements: after });
});

test("a file without a list is damaged, and an empty one is torn", () => {
  const file = path.join(temporaryFolder(), "events.json");
  const problemsOf = (text: string) =>
    read(file, text).problems.map(({ type, offset, length }) => ({ type, offset, length }));
  expect({
    object: problemsOf('{"a": 1}\n'),
    text: problemsOf("hello"),
    empty: problemsOf(""),
    spaces: problemsOf(" \n"),
  }).toEqual({
    object: [{ type: "damaged", offset: 0, length: 9 }],
    text: [{ type: "damaged", offset: 0, length: 5 }],
    empty: [{ type: "torn", offset: 0, length: 0 }],
    spaces: [{ type: "torn", offset: 0, length: 2 }],
  });
});

function read(file: string, text: string) {
  const batches = [...readEntries(write(file, text))];
  return {
    elements: batches.flatMap(({ entries }) => entries.map(({ raw }) => raw)),
    problems: batches.flatMap(({ problems }) => problems),
  };
}

function write(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}
