/** The four kinds of decisions: how they are listed and read, and that an answer counts only for what was read. */
import { expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import {
  answered,
  at,
  attemptStart,
  chatRequest,
  entriesOf,
  inquiry,
  message,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  type DecisionSubject,
  type InquiryId,
  StreamEntry,
} from "../../record/conversation/index.ts";
import type { ConversationStore } from "../../stores/index.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";
import { createDesk, type Desk } from "./index.ts";
import { bearer, ServedDesk } from "./served.fixture.ts";

const YES = { answer: true };
const BY_ADA = { kind: "user", channel: "desk", name: "Ada" };
const ARGUMENTS = { path: "a.txt" };

function subject(digest: string): DecisionSubject {
  return {
    subject: { digest, version: 1, parts: {} },
    origin: { type: "local", command: "sh write.sh" },
    folder: "sub",
  };
}

const CALL = [turnStart(), chatRequest("Go."), toolCall("a", "a_tool", ARGUMENTS)];
const RESULT = { content: "the text", isError: false };
const PERMISSION = { ...permissionRequest("a"), arguments: ARGUMENTS, ...subject("d1") };
const QUESTION = {
  ...inquiry("a.q.1", { exclusive: true, context: "Two lines." }),
  toolCallId: "a",
  questionId: "q",
  ...subject("d2"),
};

/** Turns that wait for each kind. */
const WAITING = {
  permission: [...CALL, PERMISSION],
  question: [...CALL, permission("a"), attemptStart("a"), QUESTION],
  delivery: [
    ...CALL,
    permission("a"),
    attemptStart("a"),
    { ...permissionRequest("a", "deliver"), result: RESULT, ...subject("d3") },
  ],
  in_doubt: [
    ...CALL,
    { ...permission("a"), digest: "d4" },
    attemptStart("a"),
    { ...permissionRequest("a", "rerun"), arguments: ARGUMENTS, ...subject("d4") },
  ],
} as const satisfies Record<string, readonly ConversationEvent[]>;

/** The permission was given, and asked for again because something else would run. */
const ASKED_AGAIN = [
  ...WAITING.permission,
  { ...permission("a"), id: PERMISSION.id, digest: "d1" },
  { type: "decision_void", timestamp: at(1), id: PERMISSION.id, changed: ["arguments", "file"] },
  {
    ...PERMISSION,
    id: "a:run:2" as InquiryId,
    timestamp: at(2),
    ...subject("d5"),
    replaces: PERMISSION.id,
    arguments: { path: "b.txt" },
  },
] as const satisfies readonly ConversationEvent[];

async function place(store: ConversationStore, events: readonly ConversationEvent[]) {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

async function open(conversations: ConversationStore): Promise<Desk> {
  const clock = new FakeClock("2026-01-02T03:04:15Z"); // After everything that was asked.
  const desk = await createDesk([{ root: "/w", conversations }], { clock });
  onTestFinished(() => desk[Symbol.asyncDispose]());
  return desk;
}

/** Answers over HTTP, as someone with all rights. */
async function serve(desk: Desk) {
  const served = await ServedDesk.start({ desk });
  const headers = bearer(await served.addPerson("Ada"));
  return async (conversation: ConversationId, id: string, body: object) => {
    const path = `/conversations/${conversation}/inquiries/${id}/answer`;
    const { status, json } = await served.send(path, { method: "POST", headers, body });
    return [status, json];
  };
}

test("one list has all four kinds, each with all that has to be read", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  for (const events of Object.values(WAITING)) await place(store, events);
  const desk = await open(store);
  const asked = {
    workspace: "/w",
    tool: "a_tool",
    tool_call_id: "a",
    label: "a_tool",
    origin: { type: "local", command: "sh write.sh" },
    folder: "sub",
    arguments: ARGUMENTS,
    asked_at: at(0),
    is_live: false,
  };
  const listed = (await desk.listPending()).items.map(
    ({ conversation: _id, question, ...rest }) => ({
      ...rest,
      text: question.text,
    }),
  );
  expect(listed).toEqual([
    {
      ...asked,
      kind: "permission",
      id: "a:run:1",
      text: "Run a_tool?",
      acts: true,
      digest: "d1",
    },
    {
      ...asked,
      kind: "question",
      id: "a.q.1",
      text: "Go on?",
      source: { source: "tool", name: "a_tool" },
      question_id: "q",
      acts: true,
      digest: "d2",
    },
    {
      ...asked,
      kind: "delivery",
      id: "a:deliver:1",
      text: "Show the model the result of a_tool?",
      acts: false,
      digest: "d3",
      result: { content: "the text", is_error: false },
    },
    {
      ...asked,
      kind: "in_doubt",
      id: "a:rerun:1",
      text: expect.stringContaining("was cut off") as string,
      acts: true,
      digest: "d4",
    },
  ]);
});

test.each(Object.keys(WAITING) as (keyof typeof WAITING)[])(
  "an answer needs the digest of what was read, and no other (%s)",
  async (kind) => {
    counters("T-DESK-9");
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await place(store, WAITING[kind]);
    const desk = await open(store);
    const [waiting] = (await desk.listPending()).items;
    const answer = await serve(desk);
    const send = async (body: object) => {
      const given = { answer: kind === "in_doubt" ? "run" : true, ...body };
      const [status, json] = await answer(conversation, waiting?.id ?? "", given);
      return [status, json];
    };
    expect(await send({})).toMatchObject([428, { error: { code: "digest_required" } }]);
    expect(await send({ digest: "d0" })).toMatchObject([
      409,
      { error: { code: "changed" }, changed: [] },
    ]);
    expect((await desk.listPending()).items).toEqual([waiting]);
    expect(await send({ digest: waiting?.digest })).toEqual([200, { type: "recorded" }]);
    const { stream } = await store.load(conversation);
    expect(stream.entries.at(-1)?.event).toMatchObject({ digest: waiting?.digest });
  },
);

test("what an older version has asked can be answered without a digest, but not with one", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, [...CALL, permissionRequest("a")]);
  const answer = await serve(await open(store));
  expect((await answer(conversation, "a:run:1", { ...YES, digest: "d1" }))[0]).toBe(409);
  expect((await answer(conversation, "a:run:1", YES))[0]).toBe(200);
});

test("an answer to what was asked again gets the codes of what has changed, and the new one lists them", async () => {
  counters("T-DESK-9");
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, ASKED_AGAIN);
  const desk = await open(store);
  const answer = await serve(desk);
  expect((await desk.listPending()).items).toMatchObject([
    { id: "a:run:2", digest: "d5", replaces: "a:run:1", changed: ["arguments", "file"] },
  ]);
  expect(await answer(conversation, "a:run:1", { ...YES, digest: "d1" })).toEqual([
    409,
    {
      error: { code: "changed", message: expect.any(String) as string },
      changed: ["arguments", "file"],
    },
  ]);
  expect((await answer(conversation, "a:run:2", { ...YES, digest: "d1" }))[0]).toBe(409);
  expect((await answer(conversation, "a:run:2", { ...YES, digest: "d5" }))[0]).toBe(200);
});

test("listeners are told that a decision that waited is void", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  await using writer = await store.create({});
  await writer.append(...WAITING.permission);
  const desk = await open(store);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const listening = desk.subscribe(({ type, data }) => type === "answered" && resolve(data));
  onTestFinished(() => listening[Symbol.dispose]());
  await writer.append(...ASKED_AGAIN.slice(-2));
  expect(await promise).toEqual({
    workspace: "/w",
    conversation: writer.id,
    id: "a:run:1",
    void: ["arguments", "file"],
  });
});

test("a store's own reason to refuse an answer is a conflict with its code", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, WAITING.permission);
  const refusing = new Proxy<ConversationStore>(store, {
    get: (target, name: keyof ConversationStore) =>
      name === "answer" ? async () => ({ type: "other_workspace" }) : target[name]?.bind(target),
  });
  const answer = await serve(await open(refusing));
  expect(await answer(conversation, "a:run:1", { ...YES, digest: "d1" })).toMatchObject([
    409,
    { error: { code: "other_workspace" } },
  ]);
});

test("the record lists every kind, with who decided what and when, and what became void", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const turn = [
    ...WAITING.permission,
    { ...permission("a"), id: PERMISSION.id, digest: "d1", timestamp: at(1) },
    attemptStart("a"),
    QUESTION,
    { ...answered("a.q.1"), digest: "d2", timestamp: at(3) },
    { type: "decision_void", timestamp: at(4), id: QUESTION.id, changed: ["binding"] },
    { ...permissionRequest("a", "deliver"), result: RESULT, ...subject("d3") },
    {
      ...permission("a"),
      id: "a:deliver:1" as InquiryId,
      action: "deliver",
      decision: "denied",
      reason: "Not this.",
      decidedBy: { kind: "user", channel: "desk", name: "Ada" },
    },
    toolResult("a"),
    toolCall("b"),
    { ...permission("b"), decidedBy: { kind: "config", key: "run" } },
    toolResult("b"),
    message("Done."),
  ] as const satisfies readonly ConversationEvent[];
  const conversation = await place(store, turn);
  const desk = await open(store);
  const list = async (query: Parameters<Desk["listInquiries"]>[0]) => {
    const { items } = await desk.listInquiries(query);
    return items.map((item) => {
      const { kind, id, tool, outcome, answered_by: by, answered_at: when, digest } = item;
      return { kind, id, tool, outcome, by: by?.kind, when, digest, void: item.void };
    });
  };
  const unasked = { kind: "permission", id: "b:run:1", tool: "a_tool", outcome: "approved" };
  const delivery = { kind: "delivery", id: "a:deliver:1", tool: "a_tool", outcome: "denied" };
  const question = { kind: "question", id: "a.q.1", tool: "a_tool", outcome: "answered" };
  const first = { kind: "permission", id: "a:run:1", tool: "a_tool", outcome: "approved" };
  const expected = [
    { ...unasked, by: "config", when: at(0), digest: undefined, void: undefined },
    { ...delivery, by: "user", when: at(0), digest: "d3", void: undefined },
    { ...question, by: undefined, when: at(3), digest: "d2", void: ["binding"] },
    { ...first, by: "user", when: at(1), digest: "d1", void: undefined },
  ];
  expect(await list({})).toEqual(expected);
  expect(await list({ kind: "delivery" })).toEqual(expected.slice(1, 2));
  expect(await list({ by: "config" })).toEqual(expected.slice(0, 1));
  expect(await list({ outcome: "approved", text: "a_tool" })).toEqual([expected[0], expected[3]]);
  expect(await list({ outcome: "void" })).toEqual(expected.slice(2, 3));
  expect(await list({ outcome: "answered" })).toEqual([expected[0], expected[1], expected[3]]);
  expect(await desk.findInquiry({ conversation, id: "a:deliver:1" as InquiryId })).toMatchObject({
    reason: "Not this.",
    answered_by: BY_ADA,
    origin: { type: "local", command: "sh write.sh" },
    turn: 1,
  });
});

test("the record tells what is pending from what its turn went on without", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  await place(store, [
    ...WAITING.permission,
    turnStart(),
    chatRequest("And?"),
    ...CALL.slice(2),
    PERMISSION,
  ]);
  const desk = await open(store);
  const { items } = await desk.listInquiries({});
  const [pending, unanswered] = await Promise.all([
    desk.listInquiries({ outcome: "pending" }),
    desk.listInquiries({ outcome: "unanswered" }),
  ]);
  expect(items.map(({ turn, outcome }) => [turn, outcome])).toEqual([
    [undefined, undefined],
    [1, "unanswered"],
  ]);
  expect([pending.items, unanswered.items]).toEqual([items.slice(0, 1), items.slice(1)]);
});

test("calls that the config lets run unasked are listed only if policies are asked for", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const decidedBy = { kind: "policy", key: "conversation.tools.a_tool.run" } as const;
  await place(store, [...CALL, { ...permission("a"), decidedBy }, toolResult("a")]);
  const desk = await open(store);
  const [all, policies] = [
    await desk.listInquiries({}),
    await desk.listInquiries({ by: "policy" }),
  ];
  expect([all.items, policies.items.map(({ id }) => id)]).toEqual([[], ["a:run:1"]]);
});

test("a decision that cannot be read is reported, and the others are listed", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const broken = StreamEntry.fromJson({ type: "permission_request", timestamp: at(0) });
  const entries = [...entriesOf(...WAITING.permission), broken];
  await using writer = await store.create({ entries });
  const problems: string[] = [];
  const desk = await createDesk([{ root: "/w", conversations: store }], {
    clock: new FakeClock(),
    onProblem: (problem) => problems.push(problem),
  });
  onTestFinished(() => desk[Symbol.asyncDispose]());
  const { items } = await desk.listInquiries({});
  expect([items.map(({ id }) => id), problems]).toEqual([
    ["a:run:1"],
    [expect.stringContaining(`${writer.id}: cannot read an inquiry: `)],
  ]);
});

test("a page of decisions goes on where the one before it ended", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  await place(store, ASKED_AGAIN);
  const desk = await open(store);
  const first = await desk.listInquiries({ limit: 1 });
  const second = await desk.listInquiries({ limit: 1, cursor: first.next ?? "" });
  expect([first, second].map(({ items }) => items.map(({ id }) => id))).toEqual([
    ["a:run:2"],
    ["a:run:1"],
  ]);
});
