/** After a compaction, a request costs what models see of the conversation, however long it is. */
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
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
import type { ConversationWriter } from "../../src/stores/index.ts";
import { runTurn } from "../../src/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
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

/** As another process finds it. */
async function compare(
  { conversations, files }: ReturnType<typeof temporaryWorkspace>,
  id: ConversationId,
) {
  utimesSync(files.paths(id).events, 0, 0);
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

test("models see the same of a conversation, whether all of it is read or only what they see", async () => {
  const outcomes = new Set<boolean>();
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 8, maxLength: 20 }), async (steps) => {
      const workspace = temporaryWorkspace();
      const writer = await workspace.conversations.create({});
      await write(writer, steps);
      await writer.release();
      outcomes.add(await compare(workspace, writer.id));
    }),
    { numRuns: 60 },
  );
  expect(outcomes).toEqual(new Set([true, false]));
}, 120_000);

test("models see the same of a fork that lacks turns", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 8, maxLength: 20 }),
      fc.nat(8),
      async (steps, left) => {
        const workspace = temporaryWorkspace();
        const { conversations } = workspace;
        const writer = await conversations.create({});
        await write(writer, steps);
        const to = turnsOf(writer.stream.entries).length - 1 - left;
        await writer.release();
        const fork = await conversations.fork(writer.id, { keep: keepTurns({ from: 0, to }) });
        expect(await compare(workspace, fork)).toBeTypeOf("boolean");
      },
    ),
    { numRuns: 30 },
  );
}, 120_000);

/** A long conversation, of which models see the first turn, a summary, and the last turns. */
async function placeCompacted() {
  const workspace = temporaryWorkspace();
  const { conversations, files } = workspace;
  const writer = await conversations.create({});
  await write(writer, [
    { type: "delta" },
    { type: "turns", count: 1000, length: 4000 },
    { type: "compaction", from: 1, to: 3, summary: "What was said." },
    { type: "turns", count: 20, length: 4000 },
  ]);
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
