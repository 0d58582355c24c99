import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { EVERY_STORE } from "../../../test/storage/every-store.ts";
import { at, chatRequest, message, turnStart } from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  describeFile,
  type InquiryId,
  parseConversationId,
} from "../../record/conversation/index.ts";
import { answerInquiry, resumeTurn, runTurn } from "../../assemble/index.ts";
import type {
  ChangeListener,
  ConversationStore,
  ListPendingTurnsOptions,
} from "../../stores/index.ts";
import { savedByOriginal } from "../../record/conversation/original-record.fixture.ts";
import { laidOut } from "../../stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../stores/temporary-workspace.fixture.ts";
import { REST, WAITING, WAITING_FOR_SECRET } from "../../stores/open-question.fixture.ts";
import type { PromptRequest } from "../../core/agent/index.ts";
import {
  FakeClock,
  holdPrompt,
  MemoryConversationStore,
  type ScriptedAnswer,
  ScriptedModel,
  ScriptedPrompter,
} from "../../testing/index.ts";
import { booleanQuestion, defineTool } from "../../record/tool/index.ts";
import { type JsonObject, yieldToEventLoop } from "../../util/index.ts";
import { EventLog } from "./event-log.ts";
import { PENDING } from "./served.fixture.ts";
import {
  type ConversationJson,
  type ConversationRef,
  createDesk,
  type Desk,
  type DeskEvent,
  type DeskOptions,
  type InquiryRef,
  type Page,
  type PendingQuery,
  type DecisionJson,
} from "./index.ts";
import type { Person } from "../../settings/people/index.ts";

const ADA: Person = { name: "Ada", rights: ["see", "answer", "approve"] };
const BEN: Person = { name: "Ben", rights: ["see", "answer"] };
const YES = { answer: true };
const QUESTION = "a.q.1" as InquiryId; // As in the fixture.
const UNKNOWN = "jp-c1" as ConversationId;
const BY_ADA = { kind: "user", channel: "desk", name: "Ada", auth: "token" };

/** A turn that waits for permission to run a call, or to show its result. */
function asking(action: "run" | "deliver"): readonly ConversationEvent[] {
  const of = { timestamp: at(0), toolCallId: "a", tool: "a_tool", action };
  const id = `a.${action}.1` as InquiryId; // As a turn makes them.
  const result = action === "deliver" && { result: { content: "secret text", isError: false } };
  return [
    ...WAITING.slice(0, action === "run" ? 3 : 4),
    { type: "permission_request", ...of, id, ...result },
  ];
}

async function place(store: ConversationStore, ...events: readonly ConversationEvent[]) {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

/** As a client does it that answers what it has read. */
function refTo({ conversation, id, digest }: DecisionJson): InquiryRef {
  return { conversation: parseConversationId(conversation), id: id as InquiryId, digest };
}

/** Events of a desk, which a test can wait for. */
class Events {
  readonly all: DeskEvent[] = [];
  #wake: (() => void) | undefined;

  constructor(desk: Desk, after?: number) {
    const subscription = desk.subscribe((event) => {
      this.all.push(event);
      this.#wake?.();
    }, after);
    onTestFinished(() => subscription[Symbol.dispose]());
  }

  async until(isWanted: (event: DeskEvent) => boolean): Promise<DeskEvent> {
    for (;;) {
      const found = this.all.find(isWanted);
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  untilType(type: DeskEvent["type"]): Promise<DeskEvent> {
    return this.until((event) => event.type === type);
  }
}

async function open(store: ConversationStore, options: DeskOptions = {}): Promise<Desk> {
  const desk = await createDesk([{ root: "/w", conversations: store }], {
    clock: new FakeClock(),
    ...options,
  });
  onTestFinished(() => desk[Symbol.asyncDispose]());
  return desk;
}

describe.each(EVERY_STORE)("the desk of $name", ({ create }) => {
  test("lists what waits, and tells of what is asked and answered elsewhere", async () => {
    const { store, other = store, clock } = await create();
    const first = await place(other, ...WAITING);
    const desk = await open(store, { clock });
    const events = new Events(desk);
    const before = (await desk.listPending()).items;
    clock.advance(1000);
    await using writer = await other.create({ title: "Deploy" });
    await writer.append(...WAITING);
    const asked = await events.until(
      ({ type, data }) => type === "pending" && data.is_live === true,
    );
    await writer.release();
    const by = { answer: true, channel: "cli", userName: "Ben", clock };
    await answerInquiry(other, `${first}/a.q.1`, by);
    const answered = await events.untilType("answered");
    expect(before).toEqual([
      {
        workspace: "/w",
        conversation: first,
        id: "a.q.1",
        kind: "question",
        tool: "a_tool",
        tool_call_id: "a",
        question_id: "q",
        label: "a_tool",
        source: { source: "tool", name: "a_tool" },
        arguments: {},
        question: { text: "Go on?", answer_type: { type: "boolean" } },
        acts: false,
        asked_at: at(0),
        is_live: false,
      },
    ]);
    expect(asked.data).toMatchObject({ conversation: writer.id, title: "Deploy", is_live: true });
    expect(answered.data).toEqual({
      workspace: "/w",
      conversation: first,
      id: "a.q.1",
      outcome: "answered",
      answered_by: { kind: "user", channel: "cli", name: "Ben", auth: "program" },
    });
    expect((await desk.listPending()).items.map(({ conversation }) => conversation)).toEqual([
      writer.id,
    ]);
  });

  test("records an answer once, with the name of the person", async () => {
    const { store, other = store, clock } = await create();
    const conversation = await place(other, ...WAITING);
    const [desk, second] = [await open(store, { clock }), await open(other, { clock })];
    const ref = { conversation, id: QUESTION };
    const results = await Promise.all([
      desk.answer(ref, YES, ADA),
      second.answer(ref, { answer: false }, BEN),
    ]);
    const late = await desk.answer(ref, YES, ADA);
    const recorded = await second.findInquiry(ref);
    const winner = recorded?.answered_by;
    expect(results.map(({ type }) => type).toSorted()).toEqual(["answered", "recorded"]);
    expect([BY_ADA, { ...BY_ADA, name: "Ben" }]).toContainEqual(winner);
    expect(results).toContainEqual({ type: "answered", by: winner });
    expect(late).toEqual({ type: "answered", by: winner });
    expect((await desk.listPending()).items).toEqual([]);
  });

  test("answers a process that waits, which then goes on by itself", async () => {
    const { store, other = store, clock } = await create();
    const resumed: ConversationRef[] = [];
    const desk = await open(store, { clock, ...resuming(resumed) });
    const events = new Events(desk);
    await using conversation = await other.create({});
    const model = new ScriptedModel({ replies: [[CALL], "It is done."] });
    const held = holdPrompt<PromptRequest, ScriptedAnswer>();
    const prompter = new ScriptedPrompter({ answers: [held.reply] });
    const running = runTurn({ conversation, model, tools: [confirm], prompter, clock }, "Go.");
    await events.untilType("pending");
    const [waiting = PENDING] = (await desk.listPending()).items;
    const result = await desk.answer(refTo(waiting), YES, ADA);
    expect([result.type, (await running).text, resumed]).toEqual(["recorded", "It is done.", []]);
  });

  test("continues a turn once, when the last that it waits for is answered", async () => {
    const { store, other = store, clock } = await create();
    const conversation = await leave(other, clock, 2);
    const left = await place(other, ...WAITING, ...REST.slice(0, 1));
    const resumed: ConversationRef[] = [];
    const ended = Promise.withResolvers<string | undefined>();
    const model = new ScriptedModel({ replies: ["It is done.", "This too."] });
    const desk = await open(store, {
      clock,
      resumesAnswered: true,
      resumeTurn: async (ref) => {
        resumed.push(ref);
        await using writer = await other.open(ref.conversation);
        const { text } = await resumeTurn(writer, { model, tools: [confirm], clock });
        ended.resolve(text);
        return { type: "started" };
      },
    });
    const events = new Events(desk);
    const [first = PENDING, second = PENDING] = (await desk.listPending()).items;
    await desk.answer(refTo(first), YES, ADA);
    const early = await desk.resume({ conversation }, ADA);
    await desk.answer(refTo(second), YES, BEN);
    expect(await ended.promise).toBe("It is done.");
    await events.until(
      ({ type, data }) => type === "conversation" && !("state" in data) && data.id === conversation,
    );
    expect(early).toEqual({ type: "refused", message: "The turn still waits for answers." });
    expect(resumed).toEqual([{ conversation, workspace: "/w" }]);
    expect((await desk.resume({ conversation: left }, ADA))?.type).toBe("started");
  });

  test("shows a conversation as it grows, and counts its events", async () => {
    const { store, other = store, clock } = await create();
    await place(other, ...WAITING); // The first makes folders, after which everything is read again.
    const desk = await open(store, { clock });
    const events = new Events(desk);
    await using writer = await other.create({ title: "Growing" });
    await writer.append(turnStart(), chatRequest("Hello"));
    const shown = { desk, events, conversation: writer.id };
    // A change can arrive between the two reads of one event. Another event follows then.
    const running = await untilShown(shown, 2, "running");
    const part = await desk.readConversation({ conversation: writer.id });
    await writer.append(message("Hi."));
    await untilShown(shown, 3);
    const rest = await desk.readConversation({ conversation: writer.id }, part?.events.length);
    await writer.append(turnStart(), chatRequest("And now?"));
    await untilShown(shown, 5);
    expect(running).toMatchObject({ workspace: "/w", title: "Growing", state: "running" });
    expect(part).toMatchObject({ first: 0, count: 2, conversation: { id: writer.id } });
    expect(rest).toMatchObject({ first: 2, count: 3, events: [{ message: "Hi." }] });
    expect(await desk.readConversation({ conversation: UNKNOWN })).toBeUndefined();
  });

  test("lists questions on record page by page, newest first, and filters them", async () => {
    const { store, clock } = await create();
    const ids: ConversationId[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.push(await place(store, ...WAITING, ...REST, ...WAITING));
      clock.advance(1000);
    }
    const desk = await open(store, { clock });
    const listed: unknown[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await desk.listInquiries({ limit: 4, ...(cursor !== undefined && { cursor }) });
      pages += 1;
      listed.push(...page.items.map((item) => [item.conversation, item.outcome]));
      cursor = page.next;
    } while (cursor !== undefined);
    expect([pages, listed]).toEqual([
      2,
      ids.toReversed().flatMap((id) => [
        [id, undefined],
        [id, "answered"],
      ]),
    ]);
    const pending = await desk.listInquiries({ outcome: "pending", text: "go ON?" });
    const lower = await desk.listInquiries({ outcome: "pending", text: "go on?" });
    const one = await desk.listInquiries({ conversation: ids[1] ?? "", by: "user" });
    expect([pending.items, lower.items.length, one.items]).toEqual([[], 3, []]);
    await expect(desk.listInquiries({ cursor: "?" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("continues a list after a conversation that was removed meanwhile", async () => {
    const { store, clock } = await create();
    const created = [];
    for (let count = 0; count < 4; count += 1) created.push(await place(store, turnStart()));
    const desk = await open(store, { clock });
    const page = await desk.listConversations({ limit: 2 });
    await store.remove(created[2] ?? UNKNOWN);
    const next = await desk.listConversations({ limit: 2, cursor: page.next ?? "" });
    expect([...idsOf(page), ...idsOf(next)]).toEqual(created.toReversed());
  });

  test("lists conversations page by page, newest first, and searches in them", async () => {
    const { store, clock } = await create();
    const first = await place(store, turnStart(), chatRequest("About foxes."));
    clock.advance(1000);
    const second = await place(store, turnStart(), chatRequest("About dogs."));
    clock.advance(1000);
    await using third = await store.create({ title: "Foxes again" });
    const desk = await open(store, { clock });
    const page = await desk.listConversations({ limit: 2 });
    const next = await desk.listConversations({ limit: 2, cursor: page.next ?? "" });
    const found = await desk.listConversations({ text: "foxes" });
    expect([idsOf(page), idsOf(next), next.next]).toEqual([[third.id, second], [first], undefined]);
    expect(idsOf(found)).toEqual([third.id, first]);
  });
});

describe("an answer", () => {
  test("needs the right for what is asked", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const ids = {
      run: await place(store, ...asking("run")),
      question: await place(store, ...WAITING),
    };
    const desk = await open(store);
    const run = { conversation: ids.run, id: "a.run.1" as InquiryId };
    const question = { conversation: ids.question, id: QUESTION };
    const types = [
      await desk.answer(run, YES, BEN),
      await desk.answer(question, YES, { name: "Eve", rights: ["see"] }),
      await desk.answer(run, YES, ADA),
      await desk.answer(question, YES, BEN),
    ].map(({ type }) => type);
    expect(types).toEqual(["forbidden", "forbidden", "recorded", "recorded"]);
    expect(await desk.findInquiry(run)).toMatchObject({
      kind: "permission",
      tool: "a_tool",
      outcome: "approved",
      answered_by: BY_ADA,
    });
  });

  test("to a delivery can change what the model sees", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await place(store, ...asking("deliver"));
    const desk = await open(store);
    const ref = { conversation, id: "a.deliver.1" as InquiryId };
    const waiting = await desk.findInquiry(ref);
    const result = await desk.answer(ref, { ...YES, content: "a text" }, ADA);
    const { stream } = await store.load(conversation);
    expect(waiting).toMatchObject({
      kind: "delivery",
      result: { content: "secret text", is_error: false },
    });
    expect(result).toEqual({ type: "recorded" });
    expect(stream.entries.at(-1)?.event).toMatchObject({
      decision: "edited",
      result: { content: "a text" },
    });
  });

  test("that does not fit is refused with the reason, and the question stays open", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const ids = [await place(store, ...WAITING), await place(store, ...WAITING_FOR_SECRET)];
    const desk = await open(store);
    const refs = ids.map((conversation) => ({ conversation, id: QUESTION }));
    const results = await Promise.all(
      refs.map((ref) => desk.answer(ref, { answer: "perhaps" }, ADA)),
    );
    expect(results).toEqual([
      { type: "refused", code: "misfit", message: "expected true or false, got string" },
      {
        type: "refused",
        code: "secret_not_asked",
        message:
          "the secret is not being asked for right now; continue the turn and answer it there",
      },
    ]);
    expect((await desk.listPending()).items).toHaveLength(2);
  });

  test("to what is unknown, archived or was never asked is not found", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await place(store, ...WAITING);
    const desk = await open(store);
    const results = [
      await desk.answer({ conversation: UNKNOWN, id: QUESTION }, YES, ADA),
      await desk.answer({ conversation, id: "b" as InquiryId }, YES, ADA),
      await desk.answer({ conversation, id: QUESTION, workspace: "/other" }, YES, ADA),
    ];
    await store.archive(conversation);
    results.push(await desk.answer({ conversation, id: QUESTION }, YES, ADA));
    expect(results).toEqual(results.map(() => ({ type: "not_found" })));
  });

  test("can cancel a question", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const ref = { conversation: await place(store, ...WAITING), id: QUESTION };
    const desk = await open(store);
    expect(await desk.answer(ref, { isCancelled: true }, ADA)).toEqual({ type: "recorded" });
    expect(await desk.findInquiry(ref)).toMatchObject({ outcome: "cancelled" });
    expect(await desk.answer(ref, YES, ADA)).toEqual({ type: "answered" });
  });

  test("is withdrawn if the process that asked does not take it in time", async () => {
    const clock = new FakeClock();
    const store = new MemoryConversationStore(clock);
    await using writer = await store.create({});
    await writer.append(...WAITING);
    const desk = await open(store, { clock });
    const answering = desk.answer({ conversation: writer.id, id: QUESTION }, YES, ADA);
    while (clock.sleepers < 2) await yieldToEventLoop();
    clock.advance(30_000);
    expect(await answering).toMatchObject({ type: "refused" });
    expect(writer.stream.entries).toHaveLength(WAITING.length);
  });
});

describe("events", () => {
  test("are sent again to a listener that has missed them", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const desk = await open(store);
    const events = new Events(desk);
    const conversation = await place(store, ...WAITING);
    const asked = await events.untilType("pending");
    await desk.answer({ conversation, id: QUESTION }, YES, ADA);
    await events.untilType("answered");
    const later = new Events(desk, asked.id);
    expect(later.all).toEqual(events.all.filter(({ id }) => id > asked.id));
    expect(events.all.map(({ id }) => id)).toEqual(
      events.all.map((_, index) => (events.all[0]?.id ?? 0) + index),
    );
  });

  test("from before a restart cannot be, and their ids are not used again", async () => {
    const clock = new FakeClock();
    const store = new MemoryConversationStore(clock);
    const first = new Events(await open(store, { clock }));
    const conversation = await place(store, ...WAITING);
    const { id: seen } = await first.untilType("pending");
    clock.advance(1000);
    const desk = await open(store, { clock });
    const [reset, ...rest] = new Events(desk, seen).all;
    expect([reset?.type, rest]).toEqual(["reset", []]);
    const second = new Events(desk, reset?.id);
    await desk.answer({ conversation, id: QUESTION }, YES, ADA);
    expect((await second.untilType("answered")).id).toBeGreaterThan(Math.max(seen, reset?.id ?? 0));
  });

  test("that are too old are replaced by a reset", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const desk = await open(store);
    const events = new Events(desk);
    const count = () => events.all.length;
    while (count() < 1100) {
      const before = count();
      await place(store, message("Hi.")); // Of one conversation, several changes would be one event.
      while (count() === before) await yieldToEventLoop();
    }
    const late = new Events(desk, events.all[10]?.id);
    expect(late.all.map(({ type }) => type)).toEqual(["reset"]);
  });

  test("come from a poll if the store has missed a change", async () => {
    const clock = new FakeClock();
    const store = new MemoryConversationStore(clock);
    const desk = await open(quiet(store), { clock });
    const events = new Events(desk);
    const conversation = await place(store, ...WAITING);
    while (clock.sleepers === 0) await yieldToEventLoop();
    clock.advance(30_000);
    expect((await events.untilType("pending")).data).toMatchObject({ conversation });
  });
});

test("a change of one conversation is read alone, and those that come meanwhile are read together", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const [first, ...others] = [
    await place(store, ...WAITING),
    await place(store, ...WAITING),
    await place(store, ...WAITING),
  ];
  const reads: (ConversationId | readonly ConversationId[] | undefined)[] = [];
  let onChange: ChangeListener | undefined;
  let held = Promise.resolve();
  await open(
    quiet(store, {
      onWatch: (listener) => {
        onChange = listener;
      },
      onList: async ({ id, ids }) => {
        reads.push(ids ?? id);
        await held;
      },
    }),
  );
  reads.length = 0;
  const release = Promise.withResolvers<void>();
  held = release.promise;
  onChange?.({ id: first });
  while (reads.length === 0) await yieldToEventLoop();
  for (const id of others) onChange?.({ id });
  release.resolve();
  while (reads.length < 2) await yieldToEventLoop();
  expect(reads).toEqual([first, others]);
});

describe("a check of everything", () => {
  test("reads only turns that have changed, and forgets those that are gone", async () => {
    const { store, clock, desk, reads, check } = await openChecked();
    const first = await place(store, ...WAITING);
    clock.advance(1000);
    const second = await place(store, ...WAITING);
    const third = await place(store, ...WAITING);
    const conversations = async () =>
      (await desk.listPending()).items.map((item) => item.conversation);
    await check();
    const [before, known] = [reads.splice(0).toSorted(), await conversations()];
    await check();
    const unchanged = reads.splice(0);
    await answerInquiry(store, `${first}/a.q.1`, { answer: true, channel: "cli", clock });
    await store.remove(third);
    await check();
    expect({ before, known: known.length, unchanged, changed: reads }).toEqual({
      before: [first, second, third].toSorted(),
      known: 3,
      unchanged: [],
      changed: [first],
    });
    expect(await conversations()).toEqual([second]);
  });

  test("notices that a process has ended which had opened a conversation since the last", async () => {
    const { store, desk, check } = await openChecked();
    const conversation = await place(store, ...WAITING);
    await check();
    const writer = await store.open(conversation);
    await check();
    await check(); // It was still open a second later.
    const [opened] = (await desk.listPending()).items;
    await writer.release();
    await check();
    await check();
    const [ended] = (await desk.listPending()).items;
    expect([opened?.is_live, ended?.is_live]).toEqual([true, false]);
  });
});

test("no one hears of a conversation that is opened and closed within a moment", async () => {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const conversation = await place(store, ...WAITING);
  const desk = await open(store, { clock });
  const events = new Events(desk);
  const readAgain = () => desk.findInquiry({ conversation, id: "unknown" as InquiryId });
  const seen: unknown[] = [];
  for (let count = 0; count < 3; count += 1) {
    const writer = await store.open(conversation);
    await readAgain();
    seen.push((await desk.listPending()).items[0]?.is_live);
    await writer.release();
    await readAgain();
  }
  clock.advance(5000);
  await readAgain();
  const writer = await store.open(conversation);
  await readAgain();
  clock.advance(1000);
  const { data } = await events.untilType("pending");
  await writer.release();
  expect(seen).toEqual([false, false, false]);
  expect(data).toMatchObject({ is_live: true });
  expect(events.all.filter(({ type }) => type === "pending")).toHaveLength(1);
});

test("several changes of a conversation within a moment are one event", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, turnStart(), chatRequest("Hello"));
  const desk = await open(store);
  const events = new Events(desk);
  await using writer = await store.open(conversation);
  for (let count = 0; count < 20; count += 1) {
    await writer.append(message(`${count}`));
    await yieldToEventLoop();
  }
  await events.until(({ data }) => "count" in data && data.count === 22);
  expect(events.all.length).toBeLessThan(4);
});

test("events that are too long together are forgotten, but for the last", () => {
  const log = new EventLog(new FakeClock());
  const ids: number[] = [];
  log.subscribe(({ id }) => ids.push(id));
  for (let count = 0; count < 3; count += 1) {
    log.emit({ type: "pending", data: { ...PENDING, label: "x".repeat(3 << 20) } });
  }
  const after = (id = 0) => {
    const got: unknown[] = [];
    log.subscribe((event) => got.push(event.type === "reset" ? "reset" : event.id), id);
    return got;
  };
  expect([after(ids[0]), after(ids[1])]).toEqual([["reset"], [ids[2]]]);
});

test("a desk over several workspaces tells them apart, and lists them together", async () => {
  const clock = new FakeClock();
  const [one, two] = [new MemoryConversationStore(clock), new MemoryConversationStore(clock)];
  const conversation = await place(one, ...WAITING);
  expect(await place(two, ...WAITING)).toBe(conversation);
  await using desk = await createDesk(
    [
      { root: "/one", conversations: one },
      { root: "/two", conversations: two },
    ],
    { clock },
  );
  const page = await desk.listConversations({ limit: 1 });
  const next = await desk.listConversations({ limit: 1, cursor: page.next ?? "" });
  await desk.answer({ conversation, id: QUESTION, workspace: "/two" }, YES, ADA);
  expect([rootsOf(page.items), rootsOf(next.items), next.next]).toEqual([
    ["/one"],
    ["/two"],
    undefined,
  ]);
  expect(rootsOf((await desk.listPending()).items)).toEqual(["/one"]);
});

test("what waits is listed page by page, oldest first, and by what is wanted of it", async () => {
  const clock = new FakeClock();
  const [one, two] = [new MemoryConversationStore(clock), new MemoryConversationStore(clock)];
  for (const store of [one, two, one]) {
    await place(store, ...WAITING);
    await place(store, ...asking("run"));
  }
  const desk = await createDesk(
    [
      { root: "/one", conversations: one },
      { root: "/two", conversations: two },
    ],
    { clock },
  );
  onTestFinished(() => desk[Symbol.asyncDispose]());
  const all = (await desk.listPending()).items;
  const pages: (readonly DecisionJson[])[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await desk.listPending({ limit: 4, ...(cursor !== undefined && { cursor }) });
    pages.push(page.items);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(pages.map((page) => page.length)).toEqual([4, 2]);
  expect(pages.flat()).toEqual(all);
  const count = async (query: PendingQuery) => (await desk.listPending(query)).items.length;
  const [{ conversation } = PENDING] = all;
  expect(await count({ workspace: "/two" })).toBe(2);
  expect(await count({ conversation, workspace: "/one" })).toBe(1);
  expect(await count({ kind: "permission" })).toBe(3);
  expect(await count({ text: "GO ON", limit: 2 })).toBe(2);
  expect(await count({ text: "nothing" })).toBe(0);
  await expect(desk.listPending({ cursor: "x" })).rejects.toMatchObject({ code: "invalid_cursor" });
});

test("a workspace that was made later is found, and served from then on", async () => {
  const clock = new FakeClock();
  const [store, later] = [new MemoryConversationStore(clock), new MemoryConversationStore(clock)];
  const conversation = await place(later, ...WAITING);
  const made = [{ root: "/later", conversations: later }];
  const desk = await open(store, { clock, findNew: async () => made.splice(0) });
  const events = new Events(desk);
  while (clock.sleepers === 0) await yieldToEventLoop();
  clock.advance(30_000);
  await events.untilType("reset");
  const { items } = await desk.listPending({ workspace: "/later" });
  const result = await desk.answer({ conversation, id: QUESTION }, YES, ADA);
  const recorded = await desk.listInquiries({ workspace: "/later" });
  expect([items.length, result.type, recorded.items.length]).toEqual([1, "recorded", 1]);
});

test("a desk that does not run turns refuses to continue one", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, ...WAITING, ...REST.slice(0, 1));
  const done = await place(store, ...WAITING, ...REST);
  const desk = await open(store);
  const results = [
    await desk.resume({ conversation }, ADA),
    await desk.resume({ conversation: done }, ADA),
    await desk.resume({ conversation: UNKNOWN }, ADA),
  ];
  expect(results).toEqual([
    { type: "refused", message: "This desk does not run turns. Start it with --run." },
    { type: "refused", message: "The turn is complete." },
    undefined,
  ]);
});

const CALL = { type: "tool_call", id: "a", name: "confirm", arguments: {} } as const;

const confirm = defineTool({
  name: "confirm",
  description: "Confirms.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => `It was ${await ask(booleanQuestion("sure", "Sure?"))}.`,
});

/** A turn with so many calls, each of which waits for an answer. */
async function leave(store: ConversationStore, clock: FakeClock, count: number) {
  await using conversation = await store.create({});
  const calls = Array.from({ length: count }, (_, index) => ({ ...CALL, id: `call_${index}` }));
  const model = new ScriptedModel({ replies: [calls] });
  await runTurn({ conversation, model, tools: [confirm], defer: true, clock }, "Go.");
  return conversation.id;
}

test("an answer in a conversation that another program has saved meanwhile says how the turn continues", async () => {
  counters("T-COMPAT-2");
  const { conversations, files, clock } = temporaryWorkspace();
  const desk = await open(conversations, { clock });
  const answerIn = async (isSaved: boolean) => {
    const writer = await conversations.create({});
    await writer.append(...WAITING);
    await writer.release();
    const { events } = files.paths(writer.id);
    const saved = savedByOriginal(JSON.parse(readFileSync(events, "utf8")) as JsonObject[]);
    if (isSaved) writeFileSync(events, laidOut(saved));
    const ref = { conversation: writer.id, id: QUESTION };
    return { id: writer.id, result: await desk.answer(ref, YES, ADA) };
  };
  const own = await answerIn(false);
  const foreign = await answerIn(true);
  const how = `jp query --continue-turn --id ${foreign.id}`;
  expect([own.result, foreign.result]).toEqual([
    { type: "recorded" },
    { type: "recorded", notice: expect.stringContaining(how) },
  ]);
});

test("a file of the model is read by its whole digest, from the record that names it", async () => {
  const { conversations } = temporaryWorkspace();
  const desk = await open(conversations);
  const bytes = Buffer.from("an image");
  const file = describeFile("image/png", bytes);
  const writer = await conversations.create({});
  await writer.saveFile?.(file, bytes);
  const before = await desk.readFile({ conversation: writer.id }, file.digest);
  await writer.append({ type: "reply_file", timestamp: at(0), ...file });
  await writer.release();
  const conversation = writer.id;
  expect([
    before,
    await desk.readFile({ conversation }, file.digest),
    await desk.readFile({ conversation }, file.digest.slice(0, 16)),
    await desk.readFile({ conversation: UNKNOWN }, file.digest),
  ]).toEqual([undefined, { name: `${file.digest}.png`, bytes }, undefined, undefined]);
});

/** Only notes which turns it should continue. */
function resuming(resumed: ConversationRef[]): DeskOptions {
  const note = async (ref: ConversationRef) => {
    resumed.push(ref);
    return { type: "started" } as const;
  };
  return { resumeTurn: note, resumesAnswered: true };
}

/** A desk that learns of changes only by its checks of everything, and which turns it has read one by one. */
async function openChecked() {
  const { conversations: store, clock } = temporaryWorkspace();
  const reads: ConversationId[] = [];
  const onList = async ({ id, ids = id === undefined ? [] : [id] }: ListPendingTurnsOptions) =>
    void reads.push(...ids);
  const desk = await open(quiet(store, { onList }), { clock });
  const check = async () => {
    while (clock.sleepers === 0) await yieldToEventLoop();
    clock.advance(30_000);
    do await yieldToEventLoop();
    while (clock.sleepers === 0);
  };
  return { store, clock, desk, reads, check };
}

interface Quieted {
  /** Gets the listener that is not told of changes. */
  readonly onWatch?: (listener: ChangeListener) => void;
  /** Called before turns are listed. */
  readonly onList?: (options: ListPendingTurnsOptions) => Promise<void>;
}

/** The same store, whose changes no one is told of. */
function quiet(store: ConversationStore, { onWatch, onList }: Quieted = {}): ConversationStore {
  const own: Partial<ConversationStore> = {
    watch: (listener) => {
      onWatch?.(listener);
      return { [Symbol.dispose]: () => undefined };
    },
    listPending: async (options = {}) => {
      await onList?.(options);
      return store.listPending(options);
    },
  };
  return new Proxy(store, {
    get: (target, name: keyof ConversationStore) => own[name] ?? target[name]?.bind(target),
  });
}

interface Shown {
  readonly desk: Desk;
  readonly events: Events;
  readonly conversation: ConversationId;
}

/** Follows the conversation like a client, which reads it again after a reset. */
async function untilShown(
  { desk, events, conversation }: Shown,
  count: number,
  state?: ConversationJson["state"],
): Promise<ConversationJson> {
  for (let last = 0; ;) {
    const event = await events.until(({ id }) => id > last);
    last = event.id;
    const data = await readShown({ desk, conversation }, event);
    if (data?.count === count && (state === undefined || data.state === state)) return data;
  }
}

async function readShown({ desk, conversation }: Omit<Shown, "events">, event: DeskEvent) {
  if (event.type === "reset") {
    const part = await desk.readConversation({ conversation });
    return part && { ...part.conversation, count: part.count };
  }
  if (event.type !== "conversation" || event.data.removed === true) return undefined;
  return event.data.id === conversation ? event.data : undefined;
}

function idsOf({ items }: Page<ConversationJson>): readonly string[] {
  return items.map(({ id }) => id);
}

function rootsOf(items: readonly (ConversationJson | DecisionJson)[]): readonly string[] {
  return items.map(({ workspace }) => workspace);
}
