/** Whatever an interrupted append leaves in the file, earlier events are not lost. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StreamEntry } from "../../src/record/conversation/index.ts";
import { EventFile } from "../../src/stores/fs/event-file.ts";
import { readEntries } from "../../src/stores/fs/event-reader.ts";
import {
  anyElement,
  laidOut,
  numberedElement,
  numberedElements,
  UNHEARD,
} from "../../src/stores/record-elements.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";

const NEXT = numberedElement(999);

/** The bytes an append left, and how many of its elements are complete. */
interface State {
  readonly bytes: Buffer;
  readonly elements: readonly JsonObject[];
  /** The bytes after the last complete element. */
  readonly torn: Buffer;
  /** The list is closed, possibly without a newline. */
  readonly isClosed: boolean;
}

test("a record cut at any byte of an append is read, repaired and appended to", async () => {
  const folder = temporaryFolder();
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyElement(), { maxLength: 2 }),
      fc.array(anyElement(), { minLength: 1, maxLength: 2 }),
      async (earlier, appended) => {
        for (const state of cutsOf(earlier, appended)) {
          expect(await recover(folder, state.bytes)).toEqual(expectedOf(state));
        }
      },
    ),
    { numRuns: 2 },
  );
});

test("a record cut in a long event is read, repaired and appended to", async () => {
  const folder = temporaryFolder();
  const long = { ...numberedElement(1), content: `"${"ä€\n".repeat(200_000)}"` };
  const record = recordOf([numberedElement(0)], [long]);
  const { length } = record.whole;
  for (const end of [1000, 1 << 20, (1 << 20) + 1, length - 5, length - 2]) {
    const state = cutAt(record, end);
    expect(await recover(folder, state.bytes)).toEqual(expectedOf(state));
  }
});

test("a record with its new length but not all of its new bytes is read and repaired", async () => {
  const folder = temporaryFolder();
  const earlier = numberedElements(2);
  const appended = [numberedElement(2), numberedElement(3)];
  const whole = laidOut([...earlier, ...appended]);
  for (const { bytes, elements, torn } of cutsOf(earlier, appended).slice(0, -2)) {
    const zeros = Buffer.alloc(whole.length - bytes.length);
    const state = { bytes, elements, torn: Buffer.concat([torn, zeros]), isClosed: false };
    expect(await recover(folder, Buffer.concat([bytes, zeros]))).toEqual(expectedOf(state));
  }
});

test.each(["\0", "\n\0", `\n${"\0".repeat(5000)}`])(
  "a record followed by zeros is read and repaired",
  async (zeros) => {
    const record = laidOut(numberedElements(2)).trimEnd();
    const bytes = Buffer.from(record + zeros);
    const { read, opened, kept, text } = await recover(temporaryFolder(), bytes);
    expect({ read, opened, kept, text }).toEqual({
      read: numberedElements(2),
      opened: numberedElements(2),
      kept: undefined,
      text: laidOut([...numberedElements(2), NEXT]),
    });
  },
);

test.each([
  { name: "an empty record", earlier: [] },
  { name: "a record with events", earlier: numberedElements(2) },
])("$name whose end was overwritten but not extended is repaired", async ({ earlier }) => {
  const folder = temporaryFolder();
  const before = Buffer.from(laidOut(earlier));
  const after = Buffer.from(laidOut([...earlier, numberedElement(7)]));
  const position = earlier.length === 0 ? 1 : before.length - 3;
  const recovered = [];
  for (let end = position; end <= before.length; end += 1) {
    const bytes = Buffer.concat([after.subarray(0, end), before.subarray(end)]);
    const { read, opened, kept, text } = await recover(folder, bytes);
    recovered.push({ read, opened, kept, text });
  }
  const expected = {
    read: earlier,
    opened: earlier,
    kept: undefined,
    text: laidOut([...earlier, NEXT]),
  };
  expect(recovered).toEqual(recovered.map(() => expected));
});

test.each(["", " \n", "[", "[\n", "\0\0\0\0"])(
  "a file that contains only %j becomes a record",
  async (text) => {
    expect(await recover(temporaryFolder(), Buffer.from(text))).toEqual({
      read: [],
      problems: ["torn"],
      opened: [],
      mended: ["torn"],
      kept: undefined,
      text: laidOut([NEXT]),
    });
  },
);

test("torn ends are saved in separate files, and the warning names them", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "events.json");
  const messages: string[] = [];
  for (const torn of ["first", "second"]) {
    writeFileSync(file, `${laidOut(numberedElements(1)).slice(0, -3)},\n  {\n    "${torn}`);
    const events = new EventFile(file, UNHEARD);
    const { problems } = await events.open();
    await events.close();
    messages.push(...problems.map(({ message }) => message.replace(/^.*\(/, "(")));
  }
  expect({
    messages,
    first: readFileSync(path.join(folder, "events.torn"), "utf8").replace(/^[\s,]+/, ""),
    second: readFileSync(path.join(folder, "events.torn-2"), "utf8").replace(/^[\s,]+/, ""),
  }).toEqual({
    messages: [
      `(repaired; moved those bytes to ${folder}/events.torn)`,
      `(repaired; moved those bytes to ${folder}/events.torn-2)`,
    ],
    first: '{\n    "first',
    second: '{\n    "second',
  });
});

/** A file whose last elements were appended, and where each of them ends. */
interface WrittenRecord {
  readonly all: readonly JsonObject[];
  readonly whole: Buffer;
  readonly ends: readonly number[];
  /** Where the append starts writing. */
  readonly start: number;
}

function recordOf(earlier: readonly JsonObject[], appended: readonly JsonObject[]): WrittenRecord {
  const all = [...earlier, ...appended];
  const ends = all.map((_, index) => Buffer.byteLength(laidOut(all.slice(0, index + 1))) - 3);
  const start = ends[earlier.length - 1] ?? 1;
  return { all, whole: Buffer.from(laidOut(all)), ends, start };
}

/** The file after every possible number of bytes of an append. */
function cutsOf(earlier: readonly JsonObject[], appended: readonly JsonObject[]): State[] {
  const record = recordOf(earlier, appended);
  const count = record.whole.length - record.start + 1;
  return Array.from({ length: count }, (_, written) => cutAt(record, record.start + written));
}

function cutAt({ all, whole, ends }: WrittenRecord, length: number): State {
  const bytes = whole.subarray(0, length);
  const elements = all.slice(0, ends.filter((end) => end <= length).length);
  const torn = bytes.subarray(ends[elements.length - 1] ?? 1);
  return { bytes, elements, torn, isClosed: length >= whole.length - 1 };
}

function expectedOf({ elements, torn, isClosed }: State): Recovered {
  const isOnlyPunctuation = /^[\s,\]\0]*$/.test(torn.toString("latin1"));
  return {
    read: elements,
    problems: isClosed ? [] : ["torn"],
    opened: elements,
    mended: isClosed ? [] : ["torn"],
    kept: isOnlyPunctuation ? undefined : withoutSeparator(torn),
    text: laidOut([...elements, NEXT]),
  };
}

interface Recovered {
  readonly read: readonly JsonObject[];
  readonly problems: readonly string[];
  readonly opened: readonly JsonObject[];
  readonly mended: readonly string[];
  /** The saved torn bytes. */
  readonly kept: string | undefined;
  /** The file after one more append. */
  readonly text: string;
}

/** Reads such a file, opens it for writing, and appends to it. */
async function recover(folder: string, bytes: Buffer): Promise<Recovered> {
  const file = path.join(folder, "events.json");
  const aside = path.join(folder, "events.torn");
  rmSync(aside, { force: true });
  writeFileSync(file, bytes);
  const batches = [...readEntries(file)];
  const events = new EventFile(file, UNHEARD);
  const opened = await events.open();
  await events.append([StreamEntry.fromJson(NEXT)]);
  await events.close();
  return {
    read: batches.flatMap(({ entries }) => entries.map(({ raw }) => raw)),
    problems: batches.flatMap(({ problems }) => problems.map(({ type }) => type)),
    opened: opened.entries.map(({ raw }) => raw),
    mended: opened.problems.map(({ type }) => type),
    kept: existsSync(aside) ? withoutSeparator(readFileSync(aside)) : undefined,
    text: readFileSync(file, "utf8"),
  };
}

/** Whether the preceding comma is saved with a torn element does not matter. */
function withoutSeparator(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/^[\s,]+/, "");
}
