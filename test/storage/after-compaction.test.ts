/** After a compaction, a request costs what models see of the conversation, however long it is. */
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { recordCompaction } from "../../src/core/agent/index.ts";
import {
  chatRequest,
  message,
  toolCall,
  toolResult,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type Compaction,
  type ConversationId,
  intoParts,
  keepTurns,
  lastTurnIndex,
  loadVisible,
  StreamEntry,
  turnsOf,
} from "../../src/record/conversation/index.ts";
import type { ConversationStore, ConversationWriter } from "../../src/stores/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { runTurn } from "../../src/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { Traffic } from "../support/postgres-traffic.ts";
import { counters } from "../security/threats.ts";
import { watchFiles } from "../../src/stores/file-access.fixture.ts";
import { time } from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";

type Step =
  | { readonly type: "turns"; readonly count: number; readonly length: number }
  | { readonly type: "delta" }
  | { readonly type: "undo" }
  | ({ readonly type: "compaction"; readonly from: number; readonly to: number } & Policies);

type Policies = Pick<Compaction, "summary" | "reasoning" | "toolCalls">;

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("turns" as const),
      count: fc.integer({ min: 1, max: 8 }),
      length: fc.integer({ min: 1, max: 9000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("delta" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("undo" as const) }) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        from: fc.nat(3),
        to: fc.nat(4),
        policy: fc.constantFrom<Policies>(
          { summary: "What was said." },
          { summary: "What was said before." },
          { reasoning: "strip" },
          { toolCalls: { policy: "omit" } },
        ),
      })
      .map(({ policy, ...range }) => ({ type: "compaction" as const, ...range, ...policy })),
  },
);

/** Each turn is unlike all others. */
class Writing {
  #count = 0;

  turn(length: number) {
    this.#count += 1;
    const name = `turn ${this.#count}`;
    const timestamp = time(this.#count);
    const [id, text] = [`call_${this.#count}`, `${name} `.repeat(length / name.length)];
    const replaces = this.#count % 7 === 3 && { replacesTurn: true };
    return [
      { ...turnStart(), timestamp },
      { ...chatRequest(name), timestamp, ...replaces },
      ...(this.#count % 3 === 0 ? [toolCall(id, "read", {}), toolResult(id, text)] : []),
      message(text),
    ];
  }
}

async function write(writer: ConversationWriter, steps: readonly Step[]): Promise<void> {
  const writing = new Writing();
  await writer.append(...writing.turn(20));
  for (const step of steps) {
    const turns = turnsOf(writer.stream.entries);
    if (step.type === "turns") {
      const all = Array.from({ length: step.count }, () => writing.turn(step.length));
      await writer.append(...all.flat());
    } else if (step.type === "delta") {
      const delta = { assistant: { name: `name ${turns.length}` } };
      const change = { kind: "config_delta", delta } as const;
      await writer.appendEntries([StreamEntry.fromConfigDelta(time(0), change)]);
    } else if (step.type === "undo") {
      const [turn] = turns.at(-1)?.events ?? [];
      if (turn === undefined) continue;
      await writer.append(...writing.turn(20), {
        type: "turn_undo",
        timestamp: turn.timestamp,
        turn: turn.timestamp,
        files: [],
        hidesTurn: true,
      });
    } else {
      const { from: fromTurn, to, type: _, ...policies } = step;
      const toTurn = turns.length - 1 - to;
      if (toTurn < fromTurn) continue;
      const compaction = { timestamp: time(turns.length), fromTurn, toTurn, ...policies };
      await recordCompaction({ conversation: writer }, compaction);
    }
  }
}

/** Where conversations are written, and read as another process finds them. */
interface Place {
  readonly conversations: ConversationStore;
  readonly forget: (id: ConversationId) => void;
}

const PLACES: readonly { readonly name: string; readonly open: () => Promise<Place> }[] = [
  { name: "files", open: async () => inFiles(temporaryWorkspace()) },
  { name: "PostgreSQL", open: inDatabase },
];

function inFiles({ conversations, files }: ReturnType<typeof temporaryWorkspace>): Place {
  return { conversations, forget: (id) => utimesSync(files.paths(id).events, 0, 0) };
}

async function inDatabase(): Promise<Place> {
  const options = { url: await migratedDatabase(), workspace: crypto.randomUUID() };
  const conversations = new PostgresStore({ ...options, pid: process.pid });
  onTestFinished(() => conversations.close());
  return { conversations, forget: () => undefined };
}

async function compare({ conversations, forget }: Place, id: ConversationId) {
  forget(id);
  const whole = (await conversations.load(id)).stream;
  const { stream } = await conversations.load(id, { only: "end" });
  const { deltas, lastTurn } = (await stream.outline?.()) ?? outlineOf(whole.entries);
  expect({ deltas: deltas.flatMap(changeIn), lastTurn }).toEqual({
    deltas: whole.entries.flatMap(changeIn),
    lastTurn: lastTurnIndex(whole.entries),
  });
  const visible = await loadVisible(stream);
  expect(requestOf(visible)).toEqual(requestOf(whole));
  const isAbridged = visible !== stream;
  const turns = turnsOf(whole.entries).length;
  for (const count of [1, 2, Math.max(1, turns)]) {
    const found = await conversations.findLastTurns(id, count);
    const { index = 0 } = turnsOf(whole.entries).at(-count) ?? {};
    expect(found === undefined || found.firstTurn === index).toBe(true);
  }
  await stream.load?.();
  expect(stream.entries.map(({ raw }) => raw)).toEqual(whole.entries.map(({ raw }) => raw));
  return isAbridged;
}

function outlineOf(entries: readonly StreamEntry[]) {
  return { deltas: entries, lastTurn: lastTurnIndex(entries) };
}

function changeIn({ raw }: StreamEntry) {
  return raw["type"] === "config_delta" ? [raw] : [];
}

function requestOf(stream: ConversationWriter["stream"]) {
  const { events } = intoParts({ stream, sections: [], attachments: [] });
  // A summary has the time of the turns that it replaces.
  return events.map((event) => ({ ...event, timestamp: undefined }));
}

describe.each(PLACES)("in $name,", ({ open }) => {
  test("models see the same of a conversation, whether all of it is read or only what they see", async () => {
    const outcomes = new Set<boolean>();
    const place = await open();
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 8, maxLength: 20 }), async (steps) => {
        const writer = await place.conversations.create({});
        await write(writer, steps);
        await writer.release();
        outcomes.add(await compare(place, writer.id));
      }),
      { numRuns: 60 },
    );
    expect(outcomes).toEqual(new Set([true, false]));
  }, 120_000);

  test("models see the same of a fork that lacks turns", async () => {
    const place = await open();
    const { conversations } = place;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { minLength: 8, maxLength: 20 }),
        fc.nat(8),
        async (steps, left) => {
          const writer = await conversations.create({});
          await write(writer, steps);
          const to = turnsOf(writer.stream.entries).length - 1 - left;
          await writer.release();
          const fork = await conversations.fork(writer.id, { keep: keepTurns({ from: 0, to }) });
          expect(await compare(place, fork)).toBeTypeOf("boolean");
        },
      ),
      { numRuns: 30 },
    );
  }, 120_000);
});

test("a turn in PostgreSQL asks its model without reading what is before a compaction", async () => {
  await using traffic = await Traffic.start(await migratedDatabase());
  const conversations = new PostgresStore({
    url: traffic.url,
    workspace: crypto.randomUUID(),
    pid: process.pid,
  });
  const writer = await conversations.create({});
  await write(writer, COMPACTED);
  await writer.release();
  const model = new ScriptedModel({ replies: ["Fine."] });
  traffic.take();
  const conversation = await conversations.open(writer.id, { only: "end" });
  await runTurn({ conversation, model }, "And now?");
  const { bytes } = traffic.take();
  await conversation.release();
  await conversations.close();
  const request = JSON.stringify(model.requests);
  expect(request).toContain("What was said.");
  expect(bytes).toBeLessThan(2 * request.length);
}, 60_000);

/** Models see the first turn, a summary, and the last turns. */
const COMPACTED: readonly Step[] = [
  { type: "delta" },
  { type: "turns", count: 1000, length: 4000 },
  { type: "compaction", from: 1, to: 3, summary: "What was said." },
  { type: "turns", count: 20, length: 4000 },
];

/** A long conversation, of which models see the first turn, a summary, and the last turns. */
async function placeCompacted() {
  const workspace = temporaryWorkspace();
  const { conversations, files } = workspace;
  const writer = await conversations.create({});
  await write(writer, COMPACTED);
  await writer.release();
  const { events } = files.paths(writer.id);
  utimesSync(events, 0, 0);
  return { ...workspace, id: writer.id, events };
}

/** What is read of a file at least, or once more than needed. */
const PIECE = 1 << 18;

test("a request reads what models see, and a few pieces more", async () => {
  const { conversations, id, events } = await placeCompacted();
  expect(statSync(events).size).toBeGreaterThan(16 * PIECE);
  const { bytes } = watchFiles();
  const loaded = await conversations.load(id, { only: "end" });
  await using writer = await conversations.open(id, { loaded });
  expect((await writer.stream.outline?.())?.lastTurn).toBe(1020);
  const visible = await loadVisible(writer.stream);
  const seen = requestOf(visible);
  expect(JSON.stringify(seen)).toContain("What was said.");
  expect(bytes.get("events.json")).toBeLessThan(JSON.stringify(seen).length + 3 * PIECE);
  // What is added is seen, too, and the whole record can still be read.
  await writer.append(turnStart(), chatRequest("And now?"));
  expect(requestOf(await loadVisible(writer.stream)).at(-1)).toMatchObject({ content: "And now?" });
  expect(writer.stream.entries.map(({ raw }) => raw)).toEqual(
    (await conversations.load(id)).stream.entries.map(({ raw }) => raw),
  );
});

test("a turn asks its model without reading turns that a summary replaces", async () => {
  const { conversations, id } = await placeCompacted();
  const model = new ScriptedModel({ replies: ["Fine."] });
  const { bytes } = watchFiles();
  await using conversation = await conversations.open(id);
  await runTurn({ conversation, model }, "And now?");
  expect(bytes.get("events.json")).toBeLessThan(4 * PIECE);
  const [request] = model.requests;
  expect(JSON.stringify(request)).toContain("What was said.");
});

test("what a person changes in the record counts, before a compaction too", async () => {
  const { conversations, files, id } = await placeCompacted();
  const before = (await files.read(id, "events")) ?? "";
  const after = before.replace('"name 1"', '"Ada"');
  await files.replace(id, "events", { before, after });
  const { stream } = await conversations.load(id, { only: "end" });
  const deltas = (await stream.outline?.())?.deltas.map(({ raw }) => raw["delta"]);
  expect(deltas).toEqual([{ assistant: { name: "Ada" } }]);
  expect(await loadVisible(stream)).toBe(stream);
});

test.each([
  ["more turns than fit", /"last_turn": \d+/, '"last_turn": 100000000'],
  [
    "another start of its turn",
    /"last_turn_at": "[^"]+"/,
    '"last_turn_at": "2026-02-03 00:00:01.0"',
  ],
  ["not a number", /"last_turn": \d+/, '"last_turn": "many"'],
  ["a negative number", /"last_turn": \d+/, '"last_turn": -1'],
])(
  "what a compaction says of the record before it does not count if it cannot be (%s)",
  async (_name, text, wrong) => {
    counters("T-WORK-28");
    const { conversations, id, events } = await placeCompacted();
    writeFileSync(events, readFileSync(events, "utf8").replace(text, wrong));
    const { stream } = await conversations.load(id, { only: "end" });
    expect((await stream.outline?.())?.lastTurn).toBe(1020);
    expect(await loadVisible(stream)).toBe(stream);
  },
);
