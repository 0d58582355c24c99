/** Records of which only the end is read. */
import assert from "node:assert/strict";
import { endOf, StreamEntry, turnsOf } from "../../record/conversation/index.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import type { ConversationStore } from "../../stores/index.ts";
import { elementsIn, numbered, plain, type StoreCases, time, upTo } from "./records.ts";

const DELTA = { type: "config_delta", timestamp: time(1), delta: { assistant: { name: "JP" } } };

function turn(number: number): readonly ConversationEvent[] {
  return [{ type: "turn_start", timestamp: time(number) }, numbered(number)];
}

/** A released conversation with this many turns, and a config delta before them. */
async function placeTurns(store: ConversationStore, count: number) {
  await using writer = await store.create({ baseConfig: { key: "base" } });
  await writer.appendEntries([StreamEntry.fromJson(DELTA)]);
  await writer.append(...upTo(count).flatMap(turn));
  return writer.id;
}

export const ENDS: StoreCases = {
  "a conversation is opened and loaded with all of its entries": async ({ store, other }) => {
    const id = await placeTurns(store, 40);
    const loaded = await other.load(id);
    await using writer = await other.open(id);
    for (const { stream } of [loaded, writer]) {
      assert.equal(stream.mustLoad ?? false, false);
      assert.equal(stream.entries.length, 81);
    }
  },

  "a conversation that is opened or loaded at its end has its last turn": async (opened) => {
    const { store, other } = opened;
    const id = await placeTurns(store, 40);
    const loaded = await other.load(id, { only: "end" });
    await using writer = await other.open(id, { only: "end" });
    for (const { stream } of [loaded, writer]) {
      assert.deepEqual(stream.baseConfig, { key: "base" });
      assert.deepEqual(turnsOf(endOf(stream)).at(-1)?.events, turn(39));
    }
  },

  "a conversation at its end has all entries once they are loaded": async ({ store, other }) => {
    const id = await placeTurns(store, 40);
    const elements = await elementsIn(store, id);
    const { stream } = await other.load(id, { only: "end" });
    await stream.load?.();
    assert.deepEqual(plain(stream.entries), elements);
    assert.equal(stream.end, undefined);
  },

  "entries that a database has not loaded are an error of the caller": async ({ store, other }) => {
    const id = await placeTurns(store, 40);
    const { stream } = await other.load(id, { only: "end" });
    if (stream.mustLoad !== true) return;
    assert.throws(() => stream.entries, { code: "not_loaded" });
    await stream.load?.();
    assert.equal(stream.entries.length, 81);
  },

  "a conversation at its end can be appended to before and after the rest is loaded": async (
    opened,
  ) => {
    const { store, other } = opened;
    const id = await placeTurns(store, 40);
    const elements = await elementsIn(store, id);
    await using writer = await other.open(id, { only: "end" });
    await writer.append(...turn(40));
    assert.deepEqual(turnsOf(endOf(writer.stream)).at(-1)?.events, turn(40));
    await writer.stream.load?.();
    await writer.append(...turn(41));
    const added = [...turn(40), ...turn(41)].map((event) => StreamEntry.fromEvent(event).raw);
    assert.deepEqual(plain(writer.stream.entries), [...elements, ...added]);
    assert.deepEqual(await elementsIn(store, id), [...elements, ...added]);
  },

  "the outline of a conversation at its end has its config and its number of turns": async (
    opened,
  ) => {
    const { store, other } = opened;
    const id = await placeTurns(store, 40);
    await using writer = await other.open(id, { only: "end" });
    await writer.appendEntries([StreamEntry.fromJson({ ...DELTA, delta: { key: 2 } })]);
    const outline = await writer.stream.outline?.();
    if (outline === undefined) return;
    assert.equal(outline.lastTurn, 39);
    const deltas = outline.deltas.map(({ raw }) => raw["delta"]);
    assert.deepEqual(deltas, [{ assistant: { name: "JP" } }, { key: 2 }]);
  },

  "the last turns are those of a scan": async ({ store, other }) => {
    const id = await placeTurns(store, 5);
    const elements = await elementsIn(store, id);
    for (const count of [1, 3, 5, 6, 9]) {
      const found = await other.findLastTurns(id, count);
      if (found === undefined) continue;
      // The config delta is no turn.
      const firstTurn = Math.max(0, 5 - count);
      const isAll = count > 5;
      assert.equal(found.firstTurn, firstTurn);
      assert.deepEqual(plain(found.entries), elements.slice(isAll ? 0 : 1 + 2 * firstTurn));
    }
  },

  "events before the first turn start are a turn": async ({ store, other }) => {
    const writer = await store.create({});
    await writer.append(numbered(0), ...upTo(30).flatMap(turn));
    await writer.release();
    assert.equal((await other.findLastTurns(writer.id, 2))?.firstTurn ?? 29, 29);
    const { stream } = await other.load(writer.id, { only: "end" });
    assert.equal((await stream.outline?.())?.lastTurn ?? 30, 30);
  },
};
