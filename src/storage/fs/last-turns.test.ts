import { writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isEventType, TurnCounter } from "../../conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { anyElement, laidOut, numberedElement, time } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { readEntries } from "./event-reader.ts";
import { findLastTurns } from "./last-turns.ts";

const START = { timestamp: time(0), type: "turn_start" };
/** So small that even a short record is read in several pieces. */
const PIECE = 64;

test("the last turns of any record in the usual layout equal those of a full read", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  await fc.assert(
    fc.asyncProperty(anyRecord(), anyCount(), async (elements, count) => {
      writeFileSync(file, laidOut(elements));
      expect(await find(file, count, PIECE)).toEqual(lastOf(file, count));
    }),
    { numRuns: 200 },
  );
});

test("in any other layout, the last turns equal those of a full read, or there are none", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyRecord(), anyCount(), anyLayout(), async (elements, count, layout) => {
      writeFileSync(file, layout(elements));
      const found = await find(file, count, PIECE);
      outcomes.add(found === undefined ? "none" : "found");
      const whole = lastOf(file, count);
      expect(found ?? whole).toEqual(whole);
    }),
    { numRuns: 500 },
  );
  expect(outcomes).toEqual(new Set(["found", "none"]));
});

test("a record of several mebibytes gives the same turns as a full read", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  const filler = ["ä€", "\n  },\n  {", "😀", "x"];
  const elements = Array.from({ length: 4000 }, (_, index) => [
    START,
    { ...numberedElement(index), filler: filler[index % 4]?.repeat(index % 977) },
  ]).flat();
  writeFileSync(file, laidOut(elements));
  const counts = [1, 2, 100, 3999, 4000, 4001];
  const found = await Promise.all(counts.map((count) => find(file, count)));
  expect(found).toEqual(counts.map((count) => lastOf(file, count)));
});

test.each([
  ["torn", (text: string) => text.slice(0, -20)],
  ["damaged in its last turn", (text: string) => text.replace('"number 3"', '"number 3')],
  ["with an escaped letter in a type", (text: string) => text.replace('"turn_', '"turn\\u005f')],
  [
    "with its types first",
    (text: string) => text.replaceAll(/("time.*),\n {4}("type.*)/g, "$2,\n    $1"),
  ],
  ["empty", () => ""],
])("a record that is %s has to be read completely", async (_name, change) => {
  const file = path.join(temporaryFolder(), "events.json");
  const turns = [1, 2, 3].flatMap((number) => [START, numberedElement(number)]);
  writeFileSync(file, change(laidOut(turns)));
  expect(await findLastTurns(file, 1, PIECE)).toBeUndefined();
});

test("a missing file cannot be read", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  await expect(findLastTurns(file, 1)).rejects.toMatchObject({ code: "read_failed" });
});

interface LastElements {
  readonly elements: readonly JsonObject[];
  readonly firstTurn: number;
}

async function find(...given: Parameters<typeof findLastTurns>): Promise<LastElements | undefined> {
  const last = await findLastTurns(...given);
  return last && { elements: last.entries.map(({ raw }) => raw), firstTurn: last.firstTurn };
}

/** The last turns according to a full read, which numbers turns from the beginning. */
function lastOf(file: string, count: number): LastElements {
  const elements = [...readEntries(file)].flatMap(({ entries }) => entries.map(({ raw }) => raw));
  const counter = new TurnCounter();
  const starts = elements.flatMap(({ type }, position) => {
    const turn = isEventType(type) ? counter.next(type) : 0;
    return type === "turn_start" ? [{ position, turn }] : [];
  });
  const { position = 0, turn: firstTurn = 0 } = starts.at(-count) ?? {};
  return { elements: elements.slice(position), firstTurn };
}

function anyCount(): fc.Arbitrary<number> {
  return fc.integer({ min: 1, max: 8 });
}

/** Turns of any length, with or without events before the first one. */
function anyRecord(): fc.Arbitrary<readonly JsonObject[]> {
  const start = fc.constantFrom(START, { ...START, metadata: { note: "a" } });
  return fc.array(fc.oneof(start, anyElement()), { maxLength: 20 });
}

type Layout = (elements: readonly JsonObject[]) => string;

/** As people and other programs write records, also in only a part of the usual layout. */
function anyLayout(): fc.Arbitrary<Layout> {
  const indent = fc.constantFrom(0, 1, 2, 3, 4, "\t");
  const end = fc.constantFrom("", "\n", "\r\n", "\n\n");
  const whole = fc.tuple(indent, end).map(
    ([space, rest]): Layout =>
      (elements) =>
        JSON.stringify(elements, null, space) + rest,
  );
  // The usual element and separator first: where most are usual, much of the record is.
  const style = fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, fc.constantFrom(...UNUSUAL));
  const gap = fc.oneof({ weight: 9, arbitrary: fc.constant(",\n  ") }, fc.constantFrom(",", ",\n"));
  const mixed = fc
    .array(fc.record({ style, gap }), { minLength: 1, maxLength: 20 })
    .map((parts): Layout => (elements) => {
      const texts = elements.map((element, index) => {
        const part = parts[index % parts.length];
        return `${index === 0 ? "" : part?.gap}${part?.style(element)}`;
      });
      return `[\n  ${texts.join("")}\n]\n`;
    });
  return fc.oneof(whole, mixed);
}

function usual(element: JsonObject): string {
  return laidOut([element]).slice("[\n  ".length, -"\n]\n".length);
}

const UNUSUAL: readonly ((element: JsonObject) => string)[] = [
  (element) => JSON.stringify(element),
  (element) => JSON.stringify(element, null, 2),
  (element) => usual(element).replaceAll("\n    ", "\n   "),
  (element) => usual({ type: element["type"] ?? null, ...element }),
  (element) => usual(element).replaceAll("turn_start", "turn\\u005fstart"),
  (element) => usual({ ...element, nested: [START, START] }),
  (element) => usual({ ...element, nested: { ...START } }).replaceAll("\n      ", "\n    "),
  () => "{}",
];
