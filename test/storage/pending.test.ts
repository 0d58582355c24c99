/** Incomplete turns in every store: which conversations have one, and who answers what they wait for. */
import { describe, expect, test } from "vitest";
import {
  chatRequest,
  closed,
  permission,
  turnStart,
} from "../../src/conversation/events.fixture.ts";
import {
  type AnswerEvent,
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  lastTurnOf,
  StreamEntry,
  type Timestamp,
} from "../../src/conversation/index.ts";
import type { AnswerResult, AnswerWait, ConversationStore } from "../../src/storage/index.ts";
import {
  answerBy,
  REST,
  WAITING,
  WAITING_FOR_SECRET,
} from "../../src/storage/open-question.fixture.ts";
import { codeOf } from "../../src/storage/record-elements.fixture.ts";
import { EVERY_STORE } from "./every-store.ts";

async function place(
  store: ConversationStore,
  ...events: readonly ConversationEvent[]
): Promise<ConversationId> {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

async function rename(store: ConversationStore, id: ConversationId): Promise<void> {
  await using writer = await store.open(id);
  await writer.updateMetadata((metadata) => ({ ...metadata, title: "Renamed" }));
}

async function complete(store: ConversationStore, id: ConversationId): Promise<void> {
  await using writer = await store.open(id);
  await writer.append(...REST);
}

async function pendingIds(store: ConversationStore): Promise<readonly ConversationId[]> {
  return (await store.listPending()).map(({ id }) => id).toSorted();
}

async function eventsIn(
  store: ConversationStore,
  id: ConversationId,
): Promise<readonly ConversationEvent[]> {
  return [...eventsOf((await store.load(id)).stream.entries)];
}

async function answersIn(store: ConversationStore, id: ConversationId) {
  return (await eventsIn(store, id)).filter(({ type }) => type === "inquiry_response");
}

describe.each(EVERY_STORE)("incomplete turns in $name", ({ openStore }) => {
  test("are listed with the entries of the turn, and not those before", async () => {
    const { store } = openStore();
    await place(store, ...WAITING, ...REST);
    const id = await place(store, ...WAITING, ...REST, ...WAITING);
    const pending = await store.listPending();
    expect(
      pending.map(({ entries, ...rest }) => ({ ...rest, events: lastTurnOf(entries).length })),
    ).toEqual([{ id, isLive: false, events: WAITING.length }]);
    expect(pending[0]?.entries.map(({ event }) => event)).toEqual(WAITING);
  });

  test("are live while a writer has them open", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append(...WAITING);
    expect((await store.listPending()).map(({ isLive }) => isLive)).toEqual([true]);
  });

  test("follow the conversation: copied, put away, brought back, moved, completed and deleted", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    const copy = await store.fork(id);
    const steps = [await pendingIds(store)];
    await store.archive(id);
    steps.push(await pendingIds(store));
    await store.unarchive(id);
    await store.setLocal(id, true);
    await rename(store, id);
    steps.push(await pendingIds(store));
    await complete(store, copy);
    steps.push(await pendingIds(store));
    await store.remove(id);
    steps.push(await pendingIds(store));
    expect(steps).toEqual([[id, copy].toSorted(), [copy], [id, copy].toSorted(), [id], []]);
  });

  test("are the user's own if they start here, and in copies of the whole turn", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    const copy = await store.fork(id);
    const part = await store.fork(id, { keep: ({ eventType }) => eventType !== "inquiry_request" });
    const own = await Promise.all([id, copy, part].map(async (each) => store.load(each)));
    expect(own.map(({ isOwnTurn }) => isOwnTurn)).toEqual([true, true, false]);
  });

  test("are not the user's own if their entries come from elsewhere, unless the program says so", async () => {
    const { store } = openStore();
    const entries = WAITING.map((event) => StreamEntry.fromEvent(event));
    await using foreign = await store.create({ entries });
    await using own = await store.create({ entries, isOwnTurn: true });
    const before = [foreign.isOwnTurn, own.isOwnTurn];
    await foreign.append(...REST, ...WAITING);
    expect([before, foreign.isOwnTurn]).toEqual([[false, true], true]);
  });

  test("are not copied by a fork that leaves out their calls", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    await store.fork(id, { keep: () => false });
    expect(await pendingIds(store)).toEqual([id]);
  });

  test.each([
    ["waits for an answer", WAITING, { type: "waiting_for_input", tool: "a_tool" }],
    ["waits for the model", WAITING.slice(0, 2), { type: "pending_reply" }],
    ["waits for a tool", WAITING.slice(0, 3), { type: "pending_calls" }],
    ["has a tool in doubt", WAITING.slice(0, 4), { type: "pending_calls" }],
    ["waits for the model again", [...WAITING, ...REST.slice(0, 2)], { type: "pending_follow_up" }],
    ["is complete", [...WAITING, ...REST], undefined],
    ["is absent", [chatRequest("Hello")], undefined],
  ])("are summarized: one that %s", async (_, events, expected) => {
    const { store } = openStore();
    const id = await place(store, ...events);
    expect([
      (await store.find(id))?.openTurn,
      (await store.list()).map(({ openTurn }) => openTurn),
    ]).toEqual([expected, [expected]]);
  });

  test("are running while a writer has them open, unless a person is asked", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append(...WAITING.slice(0, 4));
    const working = (await store.find(writer.id))?.openTurn;
    await writer.append(...WAITING.slice(4));
    expect([working, (await store.find(writer.id))?.openTurn]).toEqual([
      { type: "running" },
      { type: "waiting_for_input", tool: "a_tool" },
    ]);
  });
});

describe.each(EVERY_STORE)("an answer in $name", ({ openStore }) => {
  test("is recorded, and the turn stays open for its tool", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    expect(await store.answer(id, answerBy("Ana"))).toEqual({ type: "recorded" });
    expect([await eventsIn(store, id), (await store.find(id))?.openTurn]).toEqual([
      [...WAITING, answerBy("Ana")],
      { type: "pending_calls" },
    ]);
  });

  test("that comes second is told which one was first", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    await store.answer(id, answerBy("Ana"));
    expect(await store.answer(id, answerBy("Ben"))).toEqual({
      type: "taken",
      event: answerBy("Ana"),
    });
  });

  test.each([
    ["another question", closed("a.q.2", { outcome: "cancelled", reason: "user" })],
    ["a permission that no one asked for", permission("a")],
  ])("to %s is not recorded", async (_, event) => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    expect(await store.answer(id, event)).toEqual({ type: "not_pending" });
    expect(await eventsIn(store, id)).toEqual(WAITING);
  });

  test("to a question that was asked at another time is not recorded", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    const askedAt = "2020-01-01 00:00:00.0" as Timestamp;
    expect([
      await store.answer(id, answerBy("Ana"), { askedAt }),
      await store.answer(id, answerBy("Ana"), { askedAt: turnStart().timestamp }),
    ]).toEqual([{ type: "not_pending" }, { type: "recorded" }]);
  });

  test("that does not fit is refused, and never quoted", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    const secret = await place(store, ...WAITING_FOR_SECRET);
    const answeredBy = { kind: "user", channel: "cli" } as const;
    const text = closed("a.q.1", { outcome: "answered", answer: "s3cret", answeredBy });
    const noted = { ...answerBy("Ana"), note: "s3cret" };
    const results = [
      await store.answer(id, text),
      await store.answer(id, noted),
      await store.answer(secret, text),
    ];
    expect(results).toEqual([
      { type: "refused", reason: "expected true or false, got string" },
      { type: "refused", reason: "this question takes no note" },
      { type: "refused", reason: "a secret can only be given to the process that runs the tool" },
    ]);
    expect([await eventsIn(store, id), await eventsIn(store, secret)]).toEqual([
      WAITING,
      WAITING_FOR_SECRET,
    ]);
  });

  test("waits for a writer that has the conversation open, and is recorded once it is released", async () => {
    const { store } = openStore();
    const writer = await store.create({});
    await writer.append(...WAITING);
    const result = store.answer(writer.id, answerBy("Ana"));
    await writer.release();
    expect([await result, await answersIn(store, writer.id)]).toEqual([
      { type: "recorded" },
      [answerBy("Ana")],
    ]);
  });

  test("is offered to the writer, who records it or says why not", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append(...WAITING);
    const offered: unknown[] = [];
    writer.onAnswer(async (offer): Promise<AnswerResult> => {
      offered.push(offer);
      if (offered.length === 1) return { type: "refused", reason: "not now" };
      await writer.append(offer.event);
      return { type: "recorded" };
    });
    const { timestamp: askedAt } = turnStart();
    const results = [
      await store.answer(writer.id, answerBy("Ana"), { askedAt }),
      await store.answer(writer.id, answerBy("Ben")),
    ];
    expect({ results, offered }).toEqual({
      results: [{ type: "refused", reason: "not now" }, { type: "recorded" }],
      offered: [{ event: answerBy("Ana"), askedAt }, { event: answerBy("Ben") }],
    });
  });

  test("that was offered before anyone listened is passed on to the first who does", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append(...WAITING);
    const result = store.answer(writer.id, answerBy("Ana"));
    writer.onAnswer(async ({ event }) => {
      await writer.append(event);
      return { type: "recorded" };
    });
    expect(await result).toEqual({ type: "recorded" });
  });

  test("that the writer could not decide about is recorded after its release", async () => {
    const { store } = openStore();
    const writer = await store.create({});
    await writer.append(...WAITING);
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    writer.onAnswer(async () => {
      resolve();
      throw new Error("The turn has ended.");
    });
    const result = store.answer(writer.id, answerBy("Ana"));
    await asked;
    await writer.release();
    expect([await result, await answersIn(store, writer.id)]).toEqual([
      { type: "recorded" },
      [answerBy("Ana")],
    ]);
  });

  test("can be withdrawn as long as no one has taken it", async () => {
    const { store } = openStore();
    const writer = await store.create({});
    await writer.append(...WAITING);
    const abort = new AbortController();
    const result = store.answer(writer.id, answerBy("Ana"), { signal: abort.signal });
    abort.abort(new Error("Never mind."));
    await expect(result).rejects.toThrow("Never mind.");
    await writer.release();
    expect(await answersIn(store, writer.id)).toEqual([]);
  });

  test("cannot be withdrawn once it is taken, and whoever answers is told both", async () => {
    const { store } = openStore();
    await using writer = await store.create({});
    await writer.append(...WAITING);
    const taken = Promise.withResolvers<void>();
    const decided = Promise.withResolvers<AnswerResult>();
    writer.onAnswer(async () => {
      taken.resolve();
      return decided.promise;
    });
    const abort = new AbortController();
    const waits: AnswerWait[] = [];
    const onWait = (wait: AnswerWait) => {
      waits.push(wait);
      if (wait.type === "claimed") decided.resolve({ type: "refused", reason: "not now" });
    };
    const result = store.answer(writer.id, answerBy("Ana"), { signal: abort.signal, onWait });
    await taken.promise;
    abort.abort();
    const holder = expect.stringMatching(/^(?:this process|process \d+)$/) as string;
    expect([await result, waits]).toEqual([
      { type: "refused", reason: "not now" },
      [
        { type: "offered", holder },
        { type: "claimed", holder },
      ],
    ]);
  });

  test("to a conversation that is put away or unknown is an error", async () => {
    const { store } = openStore();
    const id = await place(store, ...WAITING);
    await store.archive(id);
    const archived = await codeOf(store.answer(id, answerBy("Ana")));
    await store.remove(id);
    expect([archived, await codeOf(store.answer(id, answerBy("Ana")))]).toEqual([
      "conversation_archived",
      "conversation_not_found",
    ]);
  });
});

const PEOPLE = Array.from({ length: 8 }, (_, index) => `Person ${index}`);

/** Everyone answers at once. */
async function race(store: ConversationStore, id: ConversationId, meanwhile = async () => {}) {
  const answers = PEOPLE.map((name) => store.answer(id, answerBy(name)));
  await meanwhile();
  const results = await Promise.all(answers);
  return { results, recorded: await answersIn(store, id) };
}

/** How a race ends that each of them may win. */
const FAIR = PEOPLE.map((winner) => {
  const event = answerBy(winner);
  return {
    results: PEOPLE.map((name) =>
      name === winner ? { type: "recorded" } : { type: "taken", event },
    ),
    recorded: [event],
  };
});

describe.each(EVERY_STORE)(
  "of many answers at once in $name, exactly one is recorded",
  ({ openStore }) => {
    test("if no one has the conversation open", async () => {
      const { store } = openStore();
      for (let round = 0; round < 5; round += 1) {
        const id = await place(store, ...WAITING);
        expect(FAIR).toContainEqual(await race(store, id));
      }
    });

    test("if a writer decides, or is released before it can", async () => {
      const { store } = openStore();
      for (let round = 0; round < 5; round += 1) {
        const writer = await store.create({});
        await writer.append(...WAITING);
        let taken: AnswerEvent | undefined;
        writer.onAnswer(async ({ event }): Promise<AnswerResult> => {
          if (taken !== undefined) return { type: "taken", event: taken };
          taken = event;
          await writer.append(event);
          return { type: "recorded" };
        });
        expect(FAIR).toContainEqual(await race(store, writer.id, () => writer.release()));
      }
    });
  },
);
