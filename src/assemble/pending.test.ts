import { describe, expect, test } from "vitest";
import { EVERY_STORE, type OpenedStore } from "../../test/storage/every-store.ts";
import { at } from "../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  eventsOf,
  type ReplyOrCancel,
  StreamEntry,
} from "../record/conversation/index.ts";
import type { ConversationStore } from "../stores/index.ts";
import { WAITING, WAITING_FOR_SECRET } from "../stores/open-question.fixture.ts";
import { codeOf } from "../stores/record-elements.fixture.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  ScriptedModel,
  ScriptedPrompter,
} from "../testing/index.ts";
import { defineTool, secretQuestion, selectQuestion } from "../record/tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import { answerInquiry, listPending, type PendingDecision, resumeTurn, runTurn } from "./index.ts";

const CALL = { type: "tool_call", id: "call_1", name: "deploy", arguments: {} } as const;

function deployTool(runs: unknown[] = []) {
  return defineTool({
    name: "deploy",
    description: "Deploys.",
    parameters: { type: "object" },
    async run(_args, { ask }) {
      const options = { options: ["test", "live"], allowsOther: true };
      const where = await ask(selectQuestion("where", "Where to?", options));
      runs.push(where);
      return `It is on ${where}.`;
    },
  });
}

/** Runs a turn that the person leaves at one of its prompts. */
async function leave(
  { store, clock }: OpenedStore,
  toolConfig: JsonObject,
  script: PrompterScript = { answers: [{ isLater: true }] },
) {
  await using conversation = await store.create({});
  const tools = [deployTool()];
  const model = new ScriptedModel({ replies: [[CALL]] });
  const prompter = new ScriptedPrompter(script);
  const options = { conversation, model, tools, toolConfig: { deploy: toolConfig }, clock };
  return { id: conversation.id, end: await runTurn({ ...options, prompter }, "Deploy.") };
}

async function place(store: ConversationStore, ...events: readonly ConversationEvent[]) {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

describe.each(EVERY_STORE)("a question that a prompter leaves for later, in $name", (each) => {
  test("is listed, answered by a program, and its turn goes on where it stopped", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    const { id, end } = await leave(opened, {});
    const pending = await listPending(store);
    const by = { channel: "web", userName: "Ana", clock };
    const result = await answerInquiry(store, "call_1", { answer: "test", ...by });
    const runs: unknown[] = [];
    await using conversation = await store.open(id);
    const model = new ScriptedModel({ replies: ["It is done."] });
    const resumed = await resumeTurn(conversation, { model, tools: [deployTool(runs)], clock });
    expect([end.type, result, resumed.type, resumed.text, runs]).toEqual([
      "waiting",
      { type: "recorded" },
      "done",
      "It is done.",
      ["test"],
    ]);
    expect(pending).toEqual([
      expect.objectContaining({
        conversation: id,
        id: "call_1.where.1",
        kind: "question",
        tool: "deploy",
        question: expect.objectContaining({ text: "Where to?" }) as object,
      }),
    ]);
    expect(resumed.events).toContainEqual(
      expect.objectContaining({
        type: "inquiry_response",
        answer: "test",
        answeredBy: { kind: "user", channel: "web", auth: "program", name: "Ana" },
      }),
    );
    expect(await listPending(store)).toEqual([]);
  });

  test("can be answered so that the conversation stays open for its turn", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    const { id } = await leave(opened, {});
    const wrong = { answer: 1, keepsOpen: true, clock };
    const refused = await answerInquiry(store, "call_1", wrong);
    const tooLate = { ...(await listPending(store))[0], askedAt: at(-1000) } as PendingDecision;
    const other = await answerInquiry(store, tooLate, { answer: "test", keepsOpen: true, clock });
    const result = await answerInquiry(store, "call_1", { answer: "test", keepsOpen: true, clock });
    if (result.type !== "recorded" || result.conversation === undefined)
      throw new Error("it is not open");
    await using conversation = result.conversation;
    const second = await codeOf(store.open(id));
    const model = new ScriptedModel({ replies: ["It is done."] });
    const resumed = await resumeTurn(conversation, { model, tools: [deployTool()], clock });
    expect([refused.type, other.type, second, resumed.text]).toEqual([
      "refused",
      "not_pending",
      "conversation_locked",
      "It is done.",
    ]);
  });
});

describe.each(EVERY_STORE)("in $name", ({ create }) => {
  test("what waits comes with everything that is decided", async () => {
    const opened = await create();
    await leave(opened, { run: "ask" }, { permissions: [{ type: "later" }] });
    expect(await listPending(opened.store)).toEqual([
      expect.objectContaining({
        id: "call_1:run:1",
        kind: "permission",
        tool: "deploy",
        origin: { type: "program" },
        arguments: {},
        acts: true,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      }),
    ]);
  });

  test("an answer that does not fit, is for a secret or comes too late is not recorded", async () => {
    const { store, clock } = await create();
    const question = WAITING.at(-1) as ConversationEvent & { type: "inquiry_request" };
    const ids = [
      await place(store, ...WAITING),
      await place(store, ...WAITING_FOR_SECRET),
      await place(store, ...WAITING.slice(0, -1), { ...question, deadline: at(0) }),
    ];
    const [text, secret, late] = ids.map((id) => `${id}/a.q.1`);
    expect([
      await answerInquiry(store, text ?? "", { answer: "s3cret", clock }),
      await answerInquiry(store, secret ?? "", { answer: "s3cret", clock }),
      await answerInquiry(store, late ?? "", { answer: true, clock }),
      (await listPending(store)).length,
    ]).toEqual([
      { type: "refused", code: "misfit", reason: "expected true or false, got string" },
      {
        type: "refused",
        code: "secret_not_asked",
        reason:
          "the secret is not being asked for right now; continue the turn and answer it there",
      },
      { type: "overdue", deadline: at(0) },
      3,
    ]);
  });

  test("an id has to name one thing that waits", async () => {
    const { store, clock } = await create();
    const first = await place(store, ...WAITING);
    await place(store, ...WAITING);
    const answer = { answer: true, clock };
    const codes = [
      await codeOf(answerInquiry(store, "a.q.1", answer)),
      await codeOf(answerInquiry(store, "b", answer)),
      await codeOf(answerInquiry(store, "", answer)),
    ];
    const named = await answerInquiry(store, `${first}/a`, answer);
    const left = await answerInquiry(store, "a", answer);
    expect([codes, named, left]).toEqual([
      ["ambiguous_id", "inquiry_not_found", "inquiry_not_found"],
      { type: "recorded" },
      { type: "recorded" },
    ]);
  });
});

describe.each(EVERY_STORE)("a secret that a turn asks for, in $name", ({ create }) => {
  test("can be given by another program, and only its tool gets it", async () => {
    const { store, other = store, clock } = await create();
    await using conversation = await store.create({});
    const keys: unknown[] = [];
    const tool = defineTool({
      name: "deploy",
      description: "Deploys.",
      parameters: { type: "object" },
      async run(_args, { ask }) {
        keys.push(await ask(secretQuestion("key", "Which key?")));
        return "It is deployed.";
      },
    });
    const asked = Promise.withResolvers<AbortSignal>();
    const prompter = new ScriptedPrompter({
      answers: ({ signal }) => {
        asked.resolve(signal);
        return new Promise<never>(() => undefined);
      },
    });
    const model = new ScriptedModel({ replies: [[CALL], "It is done."] });
    const options = { conversation, model, tools: [tool], prompter, clock };
    const turn = runTurn(options, "Deploy.");
    const signal = await asked.promise;
    const [item] = await listPending(other);
    if (item === undefined) throw new Error("nothing waits");
    const by = { channel: "desk", clock };
    const misfit = await answerInquiry(other, "call_1", { answer: 1, userName: "Ana", ...by });
    const results = await Promise.all(
      ["Ana", "Ben"].map((userName) =>
        answerInquiry(other, item, { answer: "s3cret", userName, ...by }),
      ),
    );
    const { type, events } = await turn;
    const ends = events.filter((event) => event.type === "inquiry_response");
    expect({ isLive: item.isLive, type, keys, isClosed: signal.aborted, misfit }).toEqual({
      isLive: true,
      type: "done",
      keys: ["s3cret"],
      isClosed: true,
      misfit: { type: "refused", code: "misfit", reason: "expected text, got number" },
    });
    expect(results.map((result) => result.type).toSorted()).toEqual(["recorded", "taken"]);
    expect(ends).toEqual([
      expect.objectContaining({
        outcome: "redacted",
        answeredBy: {
          kind: "user",
          channel: "desk",
          name: expect.stringMatching(/^(Ana|Ben)$/),
          auth: "program",
        },
      }),
    ]);
    expect(JSON.stringify([events, model.requests, results])).not.toContain("s3cret");
  });
});

test("a question that a model has left to a person is listed with the model's words", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const [id] = WAITING.flatMap((event) => (event.type === "inquiry_request" ? [event.id] : []));
  if (id === undefined) throw new Error("nothing is asked");
  const escalation = {
    type: "inquiry_escalation",
    timestamp: at(1),
    id,
    outcome: "cancelled",
    reason: "timed_out",
  } as const;
  await place(store, ...WAITING, escalation);
  expect(await listPending(store)).toMatchObject([
    { id, escalation, question: { context: "The assistant did not answer in time." } },
  ]);
});

test.each([
  ["a question", {}, undefined],
  ["a permission", { run: "ask" }, { permissions: [{ type: "later" }] }],
] as const)(
  "an old request does not stay open after it was asked anew, and its answer does not count: %s",
  async (_what, toolConfig, script) => {
    const clock = new FakeClock();
    const first = new MemoryConversationStore(clock);
    const { id } = await leave({ store: first, clock }, toolConfig, script);
    const { stream } = await first.load(id);
    // Something else was asked about, as if the tool had been another one then.
    const entries = stream.entries.map((entry) => {
      const { event } = entry;
      if (event === undefined || !("subject" in event) || event.subject === undefined) return entry;
      const subject = { ...event.subject, digest: "0".repeat(64) };
      return StreamEntry.fromEvent({ ...event, subject });
    });
    const store = new MemoryConversationStore(clock);
    const resume = async () => {
      await using conversation = await store.open(id);
      const model = new ScriptedModel({ replies: [] });
      const options = { model, tools: [deployTool()], toolConfig: { deploy: toolConfig }, clock };
      return await resumeTurn(conversation, { ...options, defer: true });
    };
    await (await store.create({ entries, isOwnTurn: true })).release();
    const [old] = await listPending(store);
    if (old === undefined) throw new Error("nothing waits");
    expect([old.conversation, (await resume()).type]).toEqual([id, "waiting"]);
    const pending = await listPending(store);
    expect(pending.map((each) => each.request?.replaces)).toEqual([old.id]);
    const answer = { answer: old.kind === "permission" ? true : "test", clock };
    expect(await answerInquiry(store, old, answer)).toEqual({ type: "changed" });
    expect(await listPending(store)).toEqual(pending);
  },
);

test("an id that would break the lines of a message is quoted", async () => {
  const store = new MemoryConversationStore();
  await expect(answerInquiry(store, "a\nb", { answer: true })).rejects.toThrow(
    String.raw`Nothing with the ID "a\nb" is waiting.`,
  );
});

test("resuming a turn that is complete ends at once", async () => {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: ["Hello."] });
  await runTurn({ conversation, model, clock }, "Hi.");
  const end = await resumeTurn(conversation, { model, clock });
  expect([end.type, end.text, model.requests.length]).toEqual(["done", "Hello.", 1]);
});

describe("a turn that is given up after someone has answered", () => {
  const answered: PrompterScript = { answers: [{ answer: "test" }] };
  const asked: PrompterScript = { answers: [{ isLater: true }] };
  test.each<[string, JsonObject, PrompterScript, ReplyOrCancel, string]>([
    [
      "that the call may not run",
      { run: "ask" },
      { permissions: [{ type: "later" }] },
      { answer: false },
      "The tool did not run. The user rejected the call.",
    ],
    [
      "that the result must not be seen",
      { result: "ask" },
      { ...answered, deliveries: [{ type: "later" }] },
      { answer: false },
      "The tool ran, and the user decided that you may not see its result. The call was interrupted there.",
    ],
    [
      "that the result may be seen",
      { result: "ask" },
      { ...answered, deliveries: [{ type: "later" }] },
      { answer: true },
      "The tool ran, and the user agreed that you see its result, but the call was interrupted before you got it.",
    ],
    [
      "by cancelling",
      {},
      asked,
      { isCancelled: true },
      "The user cancelled the question of this call. It was interrupted there.",
    ],
    [
      "the question",
      {},
      asked,
      { answer: "test" },
      "The call was interrupted after its question was answered, before the tool ran again. The user did " +
        "not reject it.",
    ],
  ])("tells the model so: %s", async (_, toolConfig, script, reply, told) => {
    const clock = new FakeClock();
    const store = new MemoryConversationStore(clock);
    const { id } = await leave({ store, clock }, toolConfig, script);
    await answerInquiry(store, "call_1", { ...reply, clock });
    await using conversation = await store.open(id);
    await runTurn(
      { conversation, model: new ScriptedModel({ replies: ["Hello."] }), clock },
      "Hi.",
    );
    const results = [...eventsOf(conversation.stream.entries)].flatMap((event) =>
      event.type === "tool_call_response" ? [event.content] : [],
    );
    expect(results).toEqual([told]);
  });
});
