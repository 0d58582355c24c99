import { writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isEventType, type StreamEntry, TurnCounter } from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { anyElement, laidOut, numberedElement, time } from "../record-elements.fixture.ts";
import { temporaryFolder } from "../temporary-workspace.fixture.ts";
import { readEntries } from "./event-reader.ts";
import { findLastTurns } from "./last-turns.ts";
import { sourceBefore } from "./outline.ts";

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

test("the outline of any record in the usual layout has its config deltas and its last turn", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  await fc.assert(
    fc.asyncProperty(anyRecordWithDeltas(), async (elements) => {
      writeFileSync(file, laidOut(elements));
      const hasTurn = elements.some(({ type }) => type === "turn_start");
      const end = endOfElements(laidOut(elements));
      expect(await outline(file, end)).toEqual(hasTurn ? outlineOf(elements) : undefined);
    }),
    { numRuns: 200 },
  );
});

test("in any other layout, the outline equals that of a full read, or there is none", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyRecordWithDeltas(), anyLayout(), async (elements, layout) => {
      writeFileSync(file, layout(elements));
      const found = await outline(file, endOfElements(layout(elements)));
      outcomes.add(found === undefined ? "none" : "found");
      const whole = outlineOf(allOf(file));
      expect(found ?? whole).toEqual(whole);
    }),
    { numRuns: 500 },
  );
  expect(outcomes).toEqual(new Set(["found", "none"]));
});

test("the outline of several mebibytes has each delta once, wherever it is and however long", async () => {
  const file = path.join(temporaryFolder(), "events.json");
  const elements = Array.from({ length: 1500 }, (_, index) => [
    START,
    { ...numberedElement(index), filler: 'config_delta"'.repeat(index % 97) },
    { type: "config_delta", timestamp: time(0), delta: { key: "x".repeat((index * 71) % 40_000) } },
  ]).flat();
  const text = laidOut(elements);
  writeFileSync(file, text);
  expect(await outline(file, endOfElements(text))).toEqual(outlineOf(elements));
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
  const elements = allOf(file);
  const counter = new TurnCounter();
  const starts = elements.flatMap(({ type }, position) => {
    const turn = isEventType(type) ? counter.next(type) : 0;
    return type === "turn_start" ? [{ position, turn }] : [];
  });
  const { position = 0, turn: firstTurn = 0 } = starts.at(-count) ?? {};
  return { elements: elements.slice(position), firstTurn };
}

interface ElementOutline {
  readonly deltas: readonly JsonObject[];
  readonly lastTurn: number;
}

async function outline(file: string, end: number): Promise<ElementOutline | undefined> {
  const found = await sourceBefore(file, end).outline();
  return found && { ...found, deltas: found.deltas.filter(isDelta).map(({ raw }) => raw) };
}

function isDelta({ content: { kind } }: StreamEntry): boolean {
  return kind === "config_delta" || kind === "own_config_delta";
}

function outlineOf(elements: readonly JsonObject[]): ElementOutline {
  const counter = new TurnCounter();
  const turns = elements.map(({ type }) => (isEventType(type) ? counter.next(type) : 0));
  const deltas = elements.filter(({ type }) => DELTA_TYPES.some((one) => one === type));
  return { deltas, lastTurn: Math.max(0, ...turns) };
}

const DELTA_TYPES: readonly string[] = ["config_delta", "jp_ts_config_delta"];

function allOf(file: string): readonly JsonObject[] {
  return [...readEntries(file)].flatMap(({ entries }) => entries.map(({ raw }) => raw));
}

/** In bytes. */
function endOfElements(text: string): number {
  return Buffer.byteLength(text.slice(0, text.lastIndexOf("}") + 1));
}

function anyRecordWithDeltas(): fc.Arbitrary<readonly JsonObject[]> {
  const delta = fc
    .constantFrom(...DELTA_TYPES)
    .map((type) => ({ type, timestamp: time(0), delta: { assistant: { name: "Ana" } } }));
  const mention = fc.constant({ ...numberedElement(0), content: 'a "config_delta"' });
  const element = fc.oneof(fc.constant(START), delta, mention, anyElement());
  return fc.array(element, { maxLength: 20 });
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
