/** Answers to pending decisions: recorded exactly once, here or by the writer that has the conversation open. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import {
  type AnswerEvent,
  type ConversationId,
  deciderOf,
  type DecisionVoid,
  type InquiryId,
  type InquiryResponse,
  type OfferedAnswer,
  SecretAnswer,
  type Timestamp,
} from "../../record/conversation/index.ts";
import type { AnswerResult, AnswerWait, ConversationWriter } from "../../stores/index.ts";
import {
  answerBy,
  codeOf,
  CREATED_AT,
  DIGEST,
  eventsIn,
  type OpenedStores,
  place,
  type StoreCases,
  upTo,
  WAITING,
  WAITING_FOR_SECRET,
  WAITING_FOR_SEVERAL,
  WAITING_WITH_DIGEST,
} from "./records.ts";

const ANA = answerBy("Ana");
const BEN = answerBy("Ben");
const REDACTED: InquiryResponse = {
  type: "inquiry_response",
  timestamp: ANA.timestamp,
  id: ANA.id,
  outcome: "redacted",
  ...(ANA.answeredBy && { answeredBy: ANA.answeredBy }),
};
const REFUSED = { type: "refused", code: "misfit", reason: "not now" } as const;
const RECORDED = { type: "recorded" } as const;
const CHANGED = { type: "changed" } as const;

async function openWaiting({ store }: OpenedStores): Promise<ConversationWriter> {
  const writer = await store.create({});
  await writer.append(...WAITING);
  return writer;
}

/** Records the first answer, as a waiting turn does. */
function recordFirst(writer: ConversationWriter): Disposable {
  let taken: AnswerEvent | undefined;
  return writer.onAnswer(async ({ event }): Promise<AnswerResult> => {
    if (taken !== undefined) return { type: "taken", event: taken };
    taken = event;
    await writer.append(event);
    return RECORDED;
  });
}

/** Everyone answers at once. Exactly one answer may be recorded, and the others are told which. */
async function race(
  { store, other }: OpenedStores,
  id: ConversationId,
  meanwhile = async () => {},
): Promise<void> {
  const answers = upTo(8).map((number) => answerBy(`Person ${number}`));
  const given = answers.map((answer, index) =>
    (index % 2 === 0 ? store : other).answer(id, answer),
  );
  await meanwhile();
  const results = await Promise.all(given);
  const [event, ...more] = (await eventsIn(other, id)).slice(WAITING.length);
  assert.deepEqual(more, []);
  const expected = answers.map((answer) =>
    isDeepStrictEqual(answer, event) ? RECORDED : { type: "taken", event },
  );
  assert.equal(expected.filter(({ type }) => type === "recorded").length, 1);
  assert.deepEqual(results, expected);
}

export const ANSWERS: StoreCases = {
  "an answer is recorded, and the turn stays open for its tool": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    assert.deepEqual(await other.answer(id, ANA), RECORDED);
    assert.deepEqual(await eventsIn(store, id), [...WAITING, ANA]);
    assert.deepEqual((await store.find(id))?.openTurn, { type: "pending_calls" });
  },

  "a second answer is told which one was first": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    await store.answer(id, ANA);
    assert.deepEqual(await other.answer(id, BEN), { type: "taken", event: ANA });
  },

  "people who decide together are counted once each, and the last of them decides": async ({
    store,
    other,
  }) => {
    const id = await place(store, ...WAITING_FOR_SEVERAL);
    const answers = upTo(12).map((number) => answerBy(`Person ${number % 4}`));
    const people = upTo(4).map((number) => ({ name: `Person ${number % 4}`, roles: [] }));
    const directory = { list: () => people, findHere: () => undefined };
    const results = await Promise.all(
      answers.map((answer, index) =>
        (index % 2 === 0 ? store : other).answer(id, answer, { directory }),
      ),
    );
    const said = (await eventsIn(other, id)).slice(WAITING_FOR_SEVERAL.length);
    assert.deepEqual(
      said.map(({ type }) => type),
      ["decision_vote", "decision_vote", "inquiry_response"],
    );
    const names = said.map((event) => {
      const by = event.type === "inquiry_response" ? deciderOf(event) : undefined;
      const who = event.type === "decision_vote" ? event.by : by;
      return who?.kind === "user" ? who.name : undefined;
    });
    assert.equal(new Set(names).size, 3);
    const types = results.map(({ type }) => type);
    assert.equal(types.filter((type) => type === "counted").length, 2);
    assert.equal(types.filter((type) => type === "recorded").length, 1);
    assert.ok(types.every((type) => ["counted", "recorded", "repeated", "taken"].includes(type)));
  },

  "an answer to another question is not recorded": async ({ store }) => {
    const id = await place(store, ...WAITING);
    const unasked = { ...ANA, id: "a.q.2" as InquiryId }; // In the same format.
    const askedAt = "2020-01-01 00:00:00.0" as Timestamp; // In the record's format.
    assert.deepEqual(await store.answer(id, unasked), { type: "not_pending" });
    assert.deepEqual(await store.answer(id, ANA, { askedAt }), { type: "not_pending" });
    assert.deepEqual(await eventsIn(store, id), WAITING);
    assert.deepEqual(await store.answer(id, ANA, { askedAt: CREATED_AT }), RECORDED);
  },

  "an answer to something else than what waits has `changed`, and is not recorded": async (
    opened,
  ) => {
    const { store, other } = opened;
    const id = await place(store, ...WAITING_WITH_DIGEST);
    const stale = { ...ANA, digest: "6".repeat(64) };
    const results = [await store.answer(id, stale), await store.answer(id, ANA)];
    const writer = await store.open(id);
    writer.onAnswer(async () => RECORDED);
    results.push(await other.answer(id, stale));
    await writer.release();
    assert.deepEqual(results, [CHANGED, CHANGED, CHANGED]);
    assert.deepEqual(await eventsIn(other, id), WAITING_WITH_DIGEST);
    const answer = { ...ANA, digest: DIGEST };
    assert.deepEqual(await other.answer(id, answer), RECORDED);
    assert.deepEqual(await eventsIn(store, id), [...WAITING_WITH_DIGEST, answer]);
  },

  "a no needs no digest": async ({ store }) => {
    const id = await place(store, ...WAITING_WITH_DIGEST);
    assert.deepEqual(await store.answer(id, answerBy("Ana", false)), RECORDED);
  },

  "a decision that is made void stays on record with what has changed": async (opened) => {
    const { store, other } = opened;
    const madeVoid: DecisionVoid = {
      type: "decision_void",
      timestamp: CREATED_AT,
      id: ANA.id,
      changed: ["arguments", "from_another_version"],
    };
    const events = [...WAITING_WITH_DIGEST, { ...ANA, digest: DIGEST }, madeVoid];
    const id = await place(store, ...events);
    const [pending] = await other.listPending();
    const copy = await store.fork(id);
    assert.deepEqual(await eventsIn(other, id), events);
    assert.deepEqual(await eventsIn(other, copy), events);
    assert.deepEqual(
      pending?.entries.map(({ event }) => event),
      events,
    );
  },

  "an answer that does not fit is refused, and never quoted": async ({ store }) => {
    const id = await place(store, ...WAITING);
    const secret = await place(store, ...WAITING_FOR_SECRET);
    const text = answerBy("Ana", "s3cret");
    for (const result of [
      await store.answer(id, text),
      await store.answer(id, { ...ANA, note: "s3cret" }),
      await store.answer(secret, text),
    ]) {
      assert.equal(result.type, "refused");
      assert.doesNotMatch(JSON.stringify(result), /s3cret/);
    }
    assert.deepEqual(await eventsIn(store, id), WAITING);
    assert.deepEqual(await eventsIn(store, secret), WAITING_FOR_SECRET);
  },

  "a recorded answer can leave the conversation open": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    const result = await other.answer(id, ANA, { keepsOpen: true });
    assert.equal(result.type, "recorded");
    await using writer = result.type === "recorded" ? result.conversation : undefined;
    assert.equal(writer?.id, id);
    assert.equal(await codeOf(store.open(id)), "conversation_locked");
  },

  "an answer that is not recorded never leaves the conversation open": async ({ store, other }) => {
    const id = await place(store, ...WAITING);
    const options = { keepsOpen: true };
    const results = [
      await store.answer(id, answerBy("Ana", "text"), options),
      await store.answer(id, ANA),
      await store.answer(id, BEN, options),
    ];
    assert.deepEqual(
      results.map(({ type }) => type),
      ["refused", "recorded", "taken"],
    );
    const writer = await other.open(id);
    await writer.release();
  },

  "an answer waits for an open writer, and is recorded once that is released": async (opened) => {
    const { store, other } = opened;
    const writer = await openWaiting(opened);
    const result = other.answer(writer.id, ANA);
    await writer.release();
    assert.deepEqual(await result, RECORDED);
    assert.deepEqual(await eventsIn(store, writer.id), [...WAITING, ANA]);
  },

  "an answer is offered to the writer, who records it or says why not": async (opened) => {
    const { other } = opened;
    await using writer = await openWaiting(opened);
    const offered: unknown[] = [];
    writer.onAnswer(async (offer): Promise<AnswerResult> => {
      offered.push(offer);
      if (offered.length === 1) return REFUSED;
      await writer.append(offer.event);
      return RECORDED;
    });
    const askedAt = CREATED_AT;
    assert.deepEqual(await other.answer(writer.id, ANA, { askedAt }), REFUSED);
    assert.deepEqual(await other.answer(writer.id, BEN), RECORDED);
    assert.deepEqual(offered, [{ event: ANA, askedAt }, { event: BEN }]);
  },

  "an answer from before anyone listened goes to the first who does": async (opened) => {
    await using writer = await openWaiting(opened);
    const { promise, resolve } = Promise.withResolvers<void>();
    const result = opened.other.answer(writer.id, ANA, { onWait: () => resolve() });
    await promise;
    recordFirst(writer);
    assert.deepEqual(await result, RECORDED);
  },

  "an answer is not offered to one who has stopped listening": async (opened) => {
    const writer = await openWaiting(opened);
    const stopped = writer.onAnswer(async () => REFUSED);
    stopped[Symbol.dispose]();
    const { promise, resolve } = Promise.withResolvers<void>();
    const result = opened.other.answer(writer.id, ANA, { onWait: () => resolve() });
    await promise;
    recordFirst(writer);
    assert.deepEqual(await result, RECORDED);
    await writer.release();
  },

  "an answer that the writer could not decide about is recorded after its release": async (
    opened,
  ) => {
    const writer = await openWaiting(opened);
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    writer.onAnswer(async () => {
      resolve();
      throw new Error("The turn has ended.");
    });
    const result = opened.other.answer(writer.id, ANA);
    await asked;
    await writer.release();
    assert.deepEqual(await result, RECORDED);
    assert.deepEqual(await eventsIn(opened.store, writer.id), [...WAITING, ANA]);
  },

  "an answer can be withdrawn as long as no one has taken it": async (opened) => {
    const writer = await openWaiting(opened);
    const abort = new AbortController();
    const result = opened.other.answer(writer.id, ANA, { signal: abort.signal });
    abort.abort(new Error("Never mind."));
    await assert.rejects(result, { message: "Never mind." });
    await writer.release();
    assert.deepEqual(await eventsIn(opened.store, writer.id), WAITING);
  },

  "an answer cannot be withdrawn once it is taken, and whoever answers is told both": async (
    opened,
  ) => {
    await using writer = await openWaiting(opened);
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
      if (wait.type === "claimed") decided.resolve(REFUSED);
    };
    const result = opened.other.answer(writer.id, ANA, { signal: abort.signal, onWait });
    await taken.promise;
    abort.abort();
    assert.deepEqual(await result, REFUSED);
    assert.deepEqual(
      waits.map(({ type, holder }) => [type, holder !== ""]),
      [
        ["offered", true],
        ["claimed", true],
      ],
    );
  },

  "a secret is refused if no writer waits for it, and never quoted": async ({ store, other }) => {
    const id = await place(store, ...WAITING_FOR_SECRET);
    const secret = new SecretAnswer("s3cret");
    const closed = await other.answer(id, REDACTED, { secret });
    await using writer = await store.open(id);
    writer.onAnswer(async () => RECORDED);
    const opened = await other.answer(id, REDACTED, { secret });
    assert.deepEqual([closed.type, opened.type], ["refused", "refused"]);
    assert.doesNotMatch(JSON.stringify([closed, opened, secret]), /s3cret/);
    assert.deepEqual(await eventsIn(store, id), WAITING_FOR_SECRET);
  },

  "a secret reaches the writer that waits for it, and no record, if the store can pass it on":
    async ({ store, other }) => {
      await using writer = await store.create({});
      await writer.append(...WAITING_FOR_SECRET);
      const offered: OfferedAnswer[] = [];
      const listening = await writer.onSecret?.(async (offer): Promise<AnswerResult> => {
        offered.push(offer);
        if (offered.length === 1) return REFUSED;
        await writer.append(offer.event);
        return RECORDED;
      });
      if (listening === undefined) return;
      const options = { secret: new SecretAnswer("s3cret"), askedAt: CREATED_AT };
      const results = [
        await other.answer(writer.id, REDACTED, options),
        await other.answer(writer.id, REDACTED, options),
        await other.answer(writer.id, REDACTED, options),
      ];
      assert.deepEqual(results, [REFUSED, RECORDED, { type: "taken", event: REDACTED }]);
      assert.deepEqual(
        offered.map(({ event, secret, askedAt }) => [event, secret?.reveal(), askedAt]),
        [1, 2].map(() => [REDACTED, { answer: "s3cret" }, CREATED_AT]),
      );
      assert.deepEqual(await eventsIn(store, writer.id), [...WAITING_FOR_SECRET, REDACTED]);
    },

  "of many secrets at once, the writer that waits takes one": async ({ store, other }) => {
    await using writer = await store.create({});
    await writer.append(...WAITING_FOR_SECRET);
    let first: Promise<void> | undefined;
    using listening = await writer.onSecret?.(async ({ event }): Promise<AnswerResult> => {
      const isFirst = first === undefined;
      first ??= writer.append(event);
      await first;
      return isFirst ? RECORDED : { type: "taken", event };
    });
    if (listening === undefined) return;
    // All from the same person at the same time, so that the record alone cannot tell them apart.
    const results = await Promise.all(
      upTo(8).map((number) => {
        const secret = new SecretAnswer(`s3cret ${number}`);
        return (number % 2 === 0 ? store : other).answer(writer.id, REDACTED, { secret });
      }),
    );
    assert.equal(results.filter(({ type }) => type === "recorded").length, 1);
    assert.equal(results.filter(({ type }) => type === "taken").length, 7);
    assert.deepEqual(await eventsIn(store, writer.id), [...WAITING_FOR_SECRET, REDACTED]);
  },

  "a secret is refused once the writer no longer waits for it": async ({ store, other }) => {
    await using writer = await store.create({});
    await writer.append(...WAITING_FOR_SECRET);
    const listening = await writer.onSecret?.(async () => RECORDED);
    listening?.[Symbol.dispose]();
    const secret = new SecretAnswer("s3cret");
    assert.equal((await other.answer(writer.id, REDACTED, { secret })).type, "refused");
  },

  "an answer to an archived or unknown conversation is an error": async ({ store }) => {
    const id = await place(store, ...WAITING);
    await store.archive(id);
    assert.equal(await codeOf(store.answer(id, ANA)), "conversation_archived");
    await store.remove(id);
    assert.equal(await codeOf(store.answer(id, ANA)), "conversation_not_found");
  },

  "of many answers at once, one is recorded": async (opened) => {
    for (let round = 0; round < 3; round += 1) {
      await race(opened, await place(opened.store, ...WAITING));
    }
  },

  "of many answers at once, one is recorded by the writer, or after its release": async (
    opened,
  ) => {
    for (let round = 0; round < 3; round += 1) {
      const writer = await openWaiting(opened);
      recordFirst(writer);
      await race(opened, writer.id, () => writer.release());
    }
  },
};
