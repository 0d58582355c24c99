/** Who may answer, and which of several questions an answer is for. */
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { at, chatRequest, message, turnStart } from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventsOf,
  type InquiryId,
} from "../../record/conversation/index.ts";
import { REST, WAITING } from "../../stores/open-question.fixture.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";
import type { InquiryQuestion } from "../../record/tool/index.ts";
import type { Person } from "../../settings/people/index.ts";
import { createDesk, type Desk } from "./index.ts";
import { bearer, ServedDesk } from "./served.fixture.ts";

const ADA: Person = { name: "Ada", rights: ["see", "answer", "approve"] };
const BEN: Person = { name: "Ben", rights: ["see", "answer", "approve"] };
const OLGA: Person = { name: "Olga", rights: ["see", "answer", "approve", "administer"] };
const YES = { answer: true };
const YES_BODY = { answer: true };
const CANCEL = { isCancelled: true } as const;
const id = "a.q.1" as InquiryId; // As in the fixture.

const LATER = at(5);

const FOR_ADA = WAITING.map((event) =>
  event.type === "inquiry_request" ? { ...event, for: "ada" } : event,
);

/** The same, asked otherwise. */
function asking(question: Partial<InquiryQuestion>): readonly ConversationEvent[] {
  return WAITING.map((event) =>
    event.type === "inquiry_request"
      ? { ...event, question: { ...event.question, ...question } }
      : event,
  );
}

function long(length: number) {
  return message("x".repeat(length));
}

async function place(store: MemoryConversationStore, events: readonly ConversationEvent[]) {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

async function open(...stores: readonly MemoryConversationStore[]): Promise<Desk> {
  const workspaces = stores.map((conversations, index) => ({ root: `/${index}`, conversations }));
  // After everything that was asked.
  const desk = await createDesk(workspaces, { clock: new FakeClock("2026-01-02T03:04:15Z") });
  onTestFinished(() => desk[Symbol.asyncDispose]());
  return desk;
}

test("a question for someone is answered and cancelled by no one else, but an administrator can cancel it", async () => {
  counters("T-DESK-7");
  const store = new MemoryConversationStore(new FakeClock());
  const first = { conversation: await place(store, FOR_ADA), id };
  const second = { conversation: await place(store, FOR_ADA), id };
  const desk = await open(store);
  const refused = {
    type: "forbidden",
    code: "not_for_you",
    reason: "wrong_person",
    message: "Only ada can answer this.",
  };
  expect(await desk.answer(first, YES, BEN)).toEqual(refused);
  expect(await desk.answer(first, CANCEL, BEN)).toEqual(refused);
  expect(await desk.answer(first, YES, OLGA)).toEqual(refused);
  expect(await desk.answer(first, CANCEL, ADA)).toEqual({ type: "recorded" });
  expect(await desk.answer(second, CANCEL, OLGA)).toEqual({ type: "recorded" });
});

test("what is for a role is decided by those who have it, and by the owner only if their OS user is one of them", async () => {
  counters("T-PEOPLE-1");
  const [request, ...others] = FOR_ADA.toReversed();
  if (request?.type !== "inquiry_request") throw new Error("nothing is asked");
  const { for: _person, ...asked } = request;
  const forAny = [{ role: "finance" }];
  const events = [...others.toReversed(), { ...asked, forAny }];
  const answered = async (person: Person, here: string) => {
    const store = new MemoryConversationStore(new FakeClock());
    const conversation = await place(store, events);
    const people = [
      { name: "Ada", roles: ["Finance"] },
      { name: "finance", roles: [] },
    ];
    const directory = {
      list: () => people,
      findHere: () => people.find((each) => each.name === here),
    };
    const workspaces = [{ root: "/0", conversations: store }];
    await using desk = await createDesk(workspaces, { clock: new FakeClock(), directory });
    const result = await desk.answer({ conversation, id }, YES, person);
    const { stream } = await store.load(conversation);
    const last = [...eventsOf(stream.entries)].at(-1);
    const by = last?.type === "inquiry_response" && last.outcome === "answered" && last.answeredBy;
    return result.type === "forbidden" ? result.code : by;
  };
  const owner: Person = { ...OLGA, isOwner: true };
  const by = { kind: "user", channel: "desk", name: "Ada", role: "Finance" };
  expect([
    await answered(ADA, ""),
    await answered(BEN, ""),
    await answered({ ...BEN, name: "finance" }, ""),
    await answered(owner, "Ada"),
    await answered({ ...owner, name: "Ada" }, "finance"),
  ]).toEqual([
    { ...by, auth: "token" },
    "not_for_you",
    "not_for_you",
    { ...by, auth: "os_user" },
    "not_for_you",
  ]);
});

test("whoever may only answer does not approve what a tool does, however the tool asks", async () => {
  counters("T-DESK-11");
  const store = new MemoryConversationStore(new FakeClock());
  const places = {
    question: await place(store, asking({})),
    exclusive: await place(store, asking({ exclusive: true })),
    acting: await place(store, asking({ acts: true })),
  };
  const desk = await open(store);
  const eve: Person = { name: "Eve", rights: ["see", "answer"] };
  const results = async (person: Person) => {
    const given = Object.entries(places).map(
      async ([name, conversation]) =>
        [name, (await desk.answer({ conversation, id }, YES, person)).type] as const,
    );
    return Object.fromEntries(await Promise.all(given));
  };
  const refused = { exclusive: "forbidden", acting: "forbidden" };
  expect(await results(eve)).toEqual({ question: "recorded", ...refused });
  expect(await results(ADA)).toEqual({
    question: "answered",
    exclusive: "recorded",
    acting: "recorded",
  });
});

test("a no with the next message is recorded as such, and needs the right to approve", async () => {
  counters("T-DESK-11");
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await place(store, asking({ allowsNote: true }));
  const desk = await open(store);
  const eve: Person = { name: "Eve", rights: ["see", "answer"] };
  const no = { answer: false, note: "Use sed.", redirects: true };
  const refused = {
    type: "forbidden",
    code: "forbidden",
    message: "This needs the right to approve.",
  };
  expect(await desk.answer({ conversation, id }, no, eve)).toEqual(refused);
  expect(await desk.answer({ conversation, id }, no, ADA)).toEqual({ type: "recorded" });
  const events = await store.open(conversation).then(({ stream }) => [...eventsOf(stream.entries)]);
  expect(events.at(-1)).toMatchObject({ answer: false, note: "Use sed.", redirects: true });
});

test("an answer to what was asked before is not used for a later question with the same id", async () => {
  counters("T-DESK-9");
  const store = new MemoryConversationStore(new FakeClock());
  const later = (event: ConversationEvent) => ({ ...event, timestamp: LATER });
  const conversation = await place(store, [...WAITING, ...REST, ...WAITING.map(later)]);
  const desk = await open(store);
  const served = await ServedDesk.start({ desk });
  const headers = bearer(await served.addPerson("ada"));
  const send = async (action: string, body: object) => {
    const path = `/conversations/${conversation}/inquiries/${id}/${action}`;
    return (await served.send(path, { method: "POST", headers, body })).status;
  };
  const [pending] = (await desk.listPending()).items;
  const earlier = WAITING.at(-1)?.timestamp;
  expect(pending?.asked_at).toBe(LATER);
  expect(await send("answer", { answer: true, asked_at: earlier })).toBe(409);
  expect(await send("cancel", { asked_at: earlier })).toBe(409);
  expect((await desk.listPending()).items).toEqual([pending]);
  expect(await send("answer", { answer: true, asked_at: LATER })).toBe(200);
});

test("a conversation that several workspaces have needs a workspace in the answer, unless it waits in only one", async () => {
  counters("T-DESK-9");
  const clock = new FakeClock();
  const stores = [new MemoryConversationStore(clock), new MemoryConversationStore(clock)] as const;
  const ids = [await place(stores[0], WAITING), await place(stores[1], WAITING)] as const;
  const [conversation] = ids;
  expect(ids[1]).toBe(conversation);
  const desk = await open(...stores);
  const served = await ServedDesk.start({ desk });
  const headers = bearer(await served.addPerson("ada"));
  const path = `/conversations/${conversation}/inquiries/${id}`;
  const answer = async (query: string) =>
    (await served.send(`${path}/answer${query}`, { method: "POST", headers, body: YES_BODY }))
      .status;
  expect(await answer("")).toBe(400);
  expect((await served.send(path, { headers })).status).toBe(400);
  expect(await answer("?workspace=/1")).toBe(200);
  expect(await answer("")).toBe(200);
  expect((await desk.listPending()).items).toEqual([]);
  await expect(desk.resume({ conversation }, ADA)).rejects.toMatchObject({
    code: "ambiguous_conversation",
  });
  expect(served.problems).toEqual([]);
});

describe("several answers in one request", () => {
  const READ = { digest: "d".repeat(64) };

  /** Leaves questions with the same id in conversations of their own, with these changes. */
  async function start(...changes: readonly object[]) {
    const store = new MemoryConversationStore(new FakeClock());
    const subject = { ...READ, version: 1, parts: {} };
    const conversations = [];
    for (const change of changes) {
      const asked = { ...WAITING.at(-1), subject, ...change } as ConversationEvent;
      conversations.push(await place(store, [...WAITING.slice(0, -1), asked]));
    }
    const desk = await open(store);
    const served = await ServedDesk.start({ desk });
    const headers = bearer(await served.addPerson("ada"));
    const send = (answers: readonly object[], more: Record<string, string> = {}) => {
      const options = { method: "POST", headers: { ...headers, ...more }, body: { answers } };
      return served.send("/inquiries/answers", options);
    };
    const given = conversations.map((conversation) => ({
      conversation,
      id,
      ...READ,
      answer: true,
    }));
    return { served, desk, store, given, send };
  }

  test("are judged alone, and the reply names those that were refused with the reason", async () => {
    counters("T-DESK-9");
    const { desk, given, send } = await start({}, {}, {}, {});
    const [one, two, three, four] = given as [object, object, object, object];
    const { status, json } = await send([
      one,
      { ...two, digest: "0".repeat(64) },
      { ...three, answer: "maybe" },
      { ...four, digest: undefined },
      { ...one, conversation: "no such" },
    ]);
    const about = given.map(({ conversation }) => ({ conversation, id }));
    expect([status, json["items"]]).toEqual([
      200,
      [
        { ...about[0], status: 200, type: "recorded" },
        {
          ...about[1],
          status: 409,
          error: expect.objectContaining({ code: "changed" }) as object,
          changed: [],
        },
        {
          ...about[2],
          status: 422,
          error: expect.objectContaining({ code: "does_not_fit", reason: "misfit" }) as object,
        },
        {
          ...about[3],
          status: 428,
          error: expect.objectContaining({ code: "digest_required" }) as object,
        },
        {
          conversation: "no such",
          id,
          status: 404,
          error: expect.objectContaining({ code: "not_found" }) as object,
        },
      ],
    ]);
    expect((await desk.listPending()).items.length).toBe(3);
  });

  test("leave out what takes several people or a signature, and what is for other people", async () => {
    const { given, send } = await start(
      {},
      { terms: { quorum: 2 } },
      { terms: { isSigned: true } },
      { for: "ada" },
    );
    const { json } = await send(given);
    const items = json["items"] as { status: number; error?: { code: string } }[];
    expect(items.map(({ status, error }) => [status, error?.code])).toEqual([
      [200, undefined],
      [422, "decided_alone"],
      [422, "decided_alone"],
      [422, "decided_alone"],
    ]);
  });

  test("that are sent again with the same key have the same result, unless none was recorded", async () => {
    const { given, send } = await start({}, {});
    const [one, two] = given as [object, object];
    const key = { "idempotency-key": "k" };
    const first = await send([one, { ...two, digest: "0" }], key);
    expect((await send([one, { ...two, digest: "0" }], key)).text).toBe(first.text);
    const other = { "idempotency-key": "l" };
    const refused = await send([one], other);
    expect(refused.json["items"]).toMatchObject([{ status: 409 }]);
    expect((await send([{ ...one, note: "x" }], other)).status).toBe(422);
  });

  test("are at least one and at most twenty, without fields that need an answer of their own", async () => {
    const { given, send } = await start({});
    const [one = {}] = given;
    const statuses = [];
    for (const answers of [[], Array.from({ length: 21 }, () => one), [{ ...one, content: "x" }]]) {
      statuses.push((await send(answers)).status);
    }
    expect(statuses).toEqual([400, 400, 400]);
  });

  test("stay recorded if a later one fails, and the failure is reported to the user", async () => {
    const { served, given, send, store } = await start({}, {});
    const answer = store.answer.bind(store);
    let count = 0;
    store.answer = async (...words) => {
      count += 1;
      if (count === 2) throw new Error("the disk is gone");
      return answer(...words);
    };
    const { json } = await send(given);
    expect(json["items"]).toMatchObject([
      { status: 200, type: "recorded" },
      { status: 500, error: { code: "internal" } },
    ]);
    expect(served.problems).toEqual(["the disk is gone"]);
  });
});

test("lists can be limited to one workspace", async () => {
  const stores = [1, 2].map(() => new MemoryConversationStore(new FakeClock()));
  for (const store of stores) await place(store, WAITING);
  const served = await ServedDesk.start({ desk: await open(...stores) });
  const headers = bearer(await served.addPerson("ada"));
  for (const list of ["inquiries?state=pending&", "inquiries?", "conversations?"]) {
    const { json } = await served.send(`/${list}workspace=/1`, { headers });
    expect(json["items"]).toEqual([expect.objectContaining({ workspace: "/1" })]);
  }
});

test("a cursor that is not one is the client's fault, and is not reported to the user", async () => {
  const served = await ServedDesk.start({ desk: await open() });
  const headers = bearer(await served.addPerson("ada"));
  expect((await served.send("/conversations?cursor=x", { headers })).status).toBe(400);
  expect(served.problems).toEqual([]);
});

test("a conversation with long texts comes in parts of a bounded size", async () => {
  counters("T-DESK-5");
  const store = new MemoryConversationStore(new FakeClock());
  const events = [turnStart(), chatRequest("Go."), long(3e6), long(6e6), long(1e6), long(1e6)];
  const conversation = await place(store, events);
  const desk = await open(store);
  const sizes: number[] = [];
  for (let first = 0; first < events.length; first += sizes.at(-1) ?? 1) {
    const part = await desk.readConversation({ conversation }, first);
    expect(part).toMatchObject({ first, count: events.length });
    sizes.push(part?.events.length ?? 0);
  }
  expect(sizes).toEqual([3, 1, 2]);
});
