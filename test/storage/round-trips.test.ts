/** A store in which every step of an answer is a round trip, as in a database, behaves like any other. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type {
  AnswerEvent,
  AnswerProblem,
  ConversationId,
  OfferedAnswer,
} from "../../src/record/conversation/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import {
  type AnswerListener,
  answerPending,
  type AnswerResult,
  type ConversationStore,
  type ConversationWriter,
  MemoryConversationStore,
  type Offer,
} from "../../src/stores/index.ts";
import { storeTests } from "../../src/testing/index.ts";

/** Others take their turns in between. */
async function roundTrip(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await setImmediate();
}

interface Row {
  readonly conversation: ConversationId;
  readonly offered: OfferedAnswer;
  state: "offered" | "claimed" | "refused";
  refusal?: AnswerProblem;
}

/** The table of offers. Each statement is atomic, and takes time before and after. */
class OfferTable {
  readonly rows = new Set<Row>();
  readonly #listeners = new Set<() => void>();

  async run<Value>(statement: () => Value): Promise<Value> {
    await roundTrip();
    const value = statement();
    for (const listener of this.#listeners) listener();
    await roundTrip();
    return value;
  }

  listen(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async offer(conversation: ConversationId, offered: OfferedAnswer): Promise<Offer> {
    const row: Row = { conversation, offered, state: "offered" };
    await this.run(() => this.rows.add(row));
    let next = Promise.withResolvers<void>();
    const listening = this.listen(() => next.resolve());
    const remove = () => this.rows.delete(row);
    const withdraw = () => this.run(() => row.state === "offered" && remove());
    return {
      changed: async () => {
        await next.promise;
        next = Promise.withResolvers();
      },
      findRefusal: async () => this.run(() => (row.state === "refused" ? row.refusal : undefined)),
      withdraw,
      discard: async () => void (await this.run(remove)),
      [Symbol.asyncDispose]: async () => {
        listening[Symbol.dispose]();
        await withdraw();
      },
    };
  }

  onAnswer(conversation: ConversationId, listener: AnswerListener): Disposable {
    const handle = async (row: Row) => {
      const isClaimed = await this.run(() => {
        const isFree = this.rows.has(row) && row.state === "offered";
        if (isFree) row.state = "claimed";
        return isFree;
      });
      if (!isClaimed) return;
      const result = await listener(row.offered).catch(() => undefined);
      await this.run(() => {
        if (result?.type === "refused") [row.state, row.refusal] = ["refused", result];
        else if (result === undefined) row.state = "offered";
        else this.rows.delete(row);
      });
    };
    const seen = new Set<Row>();
    const look = () => {
      for (const row of this.rows) {
        if (row.conversation !== conversation || seen.has(row)) continue;
        seen.add(row);
        void handle(row);
      }
    };
    look();
    return this.listen(look);
  }
}

/** Conversations are in memory, and offers in a table. */
function roundTripStore(source: MemoryConversationStore, table: OfferTable): ConversationStore {
  const open = async (id: ConversationId) => {
    await roundTrip();
    return withTable(await source.open(id), table);
  };
  return {
    list: (options) => source.list(options),
    find: (id) => source.find(id),
    load: (id) => source.load(id),
    scan: (id) => source.scan(id),
    findLastTurns: (id) => source.findLastTurns(id),
    listPending: (options) => source.listPending(options),
    watch: (listener) => source.watch(listener),
    create: async (options) => withTable(await source.create(options), table),
    open,
    fork: (id, options) => source.fork(id, options),
    remove: (id) => source.remove(id),
    archive: (id) => source.archive(id),
    unarchive: (id) => source.unarchive(id),
    answer: (id, event, options) => {
      const readLastTurn = async () => {
        await roundTrip();
        return (await source.load(id)).stream.entries;
      };
      const offer = (_id: ConversationId, offered: OfferedAnswer) => table.offer(id, offered);
      return answerPending({ open, readLastTurn, offer }, id, { ...options, event });
    },
  };
}

function withTable(writer: ConversationWriter, table: OfferTable): ConversationWriter {
  const { id } = writer;
  const listeners = new Set<Disposable>();
  const release = async () => {
    for (const listening of listeners) listening[Symbol.dispose]();
    await roundTrip();
    await writer.release();
    await table.run(() => undefined); // Tells everyone.
  };
  return {
    id,
    get metadata() {
      return writer.metadata;
    },
    get stream() {
      return writer.stream;
    },
    get isOwnTurn() {
      return writer.isOwnTurn;
    },
    append: (...events) => writer.append(...events),
    appendEntries: (entries) => writer.appendEntries(entries),
    updateMetadata: (change) => writer.updateMetadata(change),
    onAnswer: (listener) => {
      writer.onAnswer(async () => undefined)[Symbol.dispose](); // Throws after the release.
      const listening = table.onAnswer(id, listener);
      listeners.add(listening);
      return listening;
    },
    release,
    [Symbol.asyncDispose]: release,
  };
}

describe("with round trips,", () => {
  const tests = storeTests((clock) => {
    const source = new MemoryConversationStore(clock);
    const table = new OfferTable();
    return { store: roundTripStore(source, table), other: roundTripStore(source, table) };
  });
  test.each(tests)("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test("an answer that is taken at any moment before the release is recorded once", async () => {
    for (let moment = 0; moment < 40; moment += 1) {
      const source = new MemoryConversationStore();
      const table = new OfferTable();
      const store = roundTripStore(source, table);
      const writer = await store.create({});
      await writer.append(...WAITING);
      const answers = ["Ana", "Ben"].map((name) => answerBy(name));
      const results = answers.map((answer) => store.answer(writer.id, answer));
      for (let turn = 0; turn < moment; turn += 1) await setImmediate();
      let taken: AnswerEvent | undefined;
      writer.onAnswer(async ({ event }): Promise<AnswerResult> => {
        if (taken !== undefined) return { type: "taken", event: taken };
        taken = event;
        await roundTrip();
        await writer.append(event);
        return { type: "recorded" };
      });
      for (let turn = 0; turn < moment % 7; turn += 1) await setImmediate();
      await writer.release();
      const types = (await Promise.all(results)).map(({ type }) => type);
      const { entries } = (await store.load(writer.id)).stream;
      expect([types.toSorted(), entries.length, table.rows.size]).toEqual([
        ["recorded", "taken"],
        WAITING.length + 1,
        0,
      ]);
      const winner = answers[types.indexOf("recorded")];
      expect(entries.at(-1)?.event).toEqual(winner);
    }
  });

  test("a writer is released if an offer cannot be withdrawn", async () => {
    const source = new MemoryConversationStore();
    const table = new OfferTable();
    const broken: OfferTable["offer"] = async (id, offered) => ({
      ...(await table.offer(id, offered)),
      withdraw: async () => Promise.reject(new Error("The connection was lost.")),
      [Symbol.asyncDispose]: async () => Promise.reject(new Error("Nor can it be closed.")),
    });
    const store = roundTripStore(source, Object.assign(new OfferTable(), { offer: broken }));
    const writer = await roundTripStore(source, table).create({});
    await writer.append(...WAITING);
    const waits = Promise.withResolvers<void>();
    const result = store.answer(writer.id, answerBy("Ana"), { onWait: () => waits.resolve() });
    await waits.promise;
    await writer.release();
    await expect(result).rejects.toThrow("The connection was lost.");
    await using next = await source.open(writer.id);
    expect(next.stream.entries).toHaveLength(WAITING.length);
  });
});
