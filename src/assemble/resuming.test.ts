/** Services that leave questions, answer them later and are killed in between. */
import { describe, expect, test } from "vitest";
import { EVERY_STORE, type OpenedStore } from "../../test/storage/every-store.ts";
import { at, chatRequest, toolCall, turnStart } from "../record/conversation/events.fixture.ts";
import { type ConversationEvent, eventsOf } from "../record/conversation/index.ts";
import type { ConversationStore } from "../stores/index.ts";
import { codeOf } from "../stores/record-elements.fixture.ts";
import { FakeClock, MemoryConversationStore, ScriptedModel } from "../testing/index.ts";
import { booleanQuestion, defineTool, secretQuestion, type Tool } from "../record/tool/index.ts";
import {
  answerAndResume,
  answerInquiry,
  listPending,
  type PendingDecision,
  recover,
  type ResumeOptions,
  resumeTurn,
  runTurn,
} from "./index.ts";

const CALL = { type: "tool_call", id: "call_1", name: "pay", arguments: {} } as const;

function payTool(seen: unknown[] = []): Tool {
  return defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    async run(_args, { ask }) {
      const isSure = await ask(booleanQuestion("sure", "Pay?"));
      seen.push(isSure);
      return isSure ? "Paid." : "Not paid.";
    },
  });
}

function loginTool(seen: unknown[], text = "The PIN?"): Tool {
  return defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    async run(_args, { ask }) {
      seen.push(await ask(secretQuestion("pin", text)));
      return "Paid.";
    },
  });
}

/** Runs a turn that ends at a question of its tool. */
async function leaveQuestion(
  { store, clock }: OpenedStore,
  tool = payTool(),
  labels: Readonly<Record<string, string>> = {},
) {
  await using conversation = await store.create({ labels });
  const model = new ScriptedModel({ replies: [[CALL]] });
  const options = { conversation, model, tools: [tool], defer: true, clock };
  await runTurn(options, "Pay.");
  return conversation.id;
}

function goingOn({ clock }: OpenedStore, tool = payTool()): ResumeOptions {
  return { model: new ScriptedModel({ replies: ["Done."] }), tools: [tool], defer: true, clock };
}

async function firstPending(store: ConversationStore): Promise<PendingDecision> {
  const [item] = await listPending(store);
  if (item === undefined) throw new Error("nothing waits");
  return item;
}

async function eventsIn(store: ConversationStore, id: Parameters<ConversationStore["load"]>[0]) {
  return [...eventsOf((await store.load(id)).stream.entries)];
}

describe.each(EVERY_STORE)("in $name, answerAndResume", (each) => {
  test("records the answer and finishes the turn", async () => {
    const opened = await each.create();
    const id = await leaveQuestion(opened);
    const seen: unknown[] = [];
    const given = { answer: true, channel: "web", userName: "Ana", clock: opened.clock };
    const result = await answerAndResume(
      opened.store,
      "call_1",
      given,
      goingOn(opened, payTool(seen)),
    );
    expect(result).toMatchObject({ type: "recorded", turn: { type: "done", text: "Done." } });
    expect(seen).toEqual([true]);
    // The conversation is free again.
    await (await opened.store.open(id)).release();
  });

  test("finishes nothing if the answer does not count", async () => {
    const opened = await each.create();
    const id = await leaveQuestion(opened);
    const item = await firstPending(opened.store);
    const { store, clock } = opened;
    const wrong = { answer: true, digest: "0".repeat(64), clock };
    const changed = await answerAndResume(store, "call_1", wrong, goingOn(opened));
    await answerInquiry(store, "call_1", { answer: false, clock });
    const late = await answerAndResume(store, item, { answer: true, clock }, goingOn(opened));
    expect([changed.type, late.type]).toEqual(["changed", "taken"]);
    await (await store.open(id)).release();
  });

  test("leaves the turn to the process that has the conversation open", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    const id = await leaveQuestion(opened);
    await using conversation = await store.open(id);
    const asking = Promise.withResolvers<void>();
    const prompter = {
      channel: "chat",
      canAsk: () => true,
      ask: async (request: { readonly signal: AbortSignal }) => {
        asking.resolve();
        await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
        throw new Error("closed");
      },
    };
    const running = resumeTurn(conversation, { ...goingOn(opened), prompter });
    await asking.promise;
    const result = await answerAndResume(store, "call_1", { answer: true, clock }, goingOn(opened));
    expect([result, (await running).text]).toEqual([{ type: "recorded" }, "Done."]);
  });

  test("gives a secret to the tool, though no process was waiting for it", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    const id = await leaveQuestion(opened, loginTool([]));
    const seen: unknown[] = [];
    const given = { answer: "4711", channel: "web", userName: "Ana", clock };
    const result = await answerAndResume(store, "call_1", given, goingOn(opened, loginTool(seen)));
    expect(result).toMatchObject({ type: "recorded", turn: { type: "done" } });
    expect(seen).toEqual(["4711"]);
    const events = await eventsIn(store, id);
    expect(JSON.stringify(events)).not.toContain("4711");
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "inquiry_response",
        outcome: "redacted",
        answeredBy: { kind: "user", channel: "web", auth: "program", name: "Ana" },
      }),
    );
  });

  test("gives a secret to what its digest names, though the item was read before", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    await leaveQuestion(opened, loginTool([]));
    const item = await firstPending(store);
    const stale = { ...item, digest: "0".repeat(64) };
    const seen: unknown[] = [];
    const given = {
      answer: "4711",
      ...(item.digest !== undefined && { digest: item.digest }),
      clock,
    };
    const result = await answerAndResume(store, stale, given, goingOn(opened, loginTool(seen)));
    expect([result.type, seen]).toEqual(["recorded", ["4711"]]);
  });

  test("does not give a secret to a question that is not the one that was shown", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    await leaveQuestion(opened, loginTool([]));
    const seen: unknown[] = [];
    const given = { answer: "4711", digest: "0".repeat(64), clock };
    const tool = loginTool(seen, "The PIN of your other card?");
    const result = await answerAndResume(store, "call_1", given, goingOn(opened, tool));
    expect([result.type, seen]).toEqual(["changed", []]);
  });
});

describe.each(EVERY_STORE)("in $name, recover", (each) => {
  test("finishes what was answered or interrupted, and leaves alone what waits", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    const waiting = await leaveQuestion(opened);
    const answered = await leaveQuestion(opened);
    const item = (await listPending(store)).find(({ conversation }) => conversation === answered);
    if (item === undefined) throw new Error("nothing waits");
    await answerInquiry(store, item, { answer: true, clock });
    const unasked = await place(store, turnStart(), chatRequest("Hello."));
    const before = await eventsIn(store, waiting);
    const model = new ScriptedModel({ replies: ["One.", "Two."] });
    const options = { ...goingOn(opened), model, concurrency: 1 };
    const results = await recover(store, options);
    expect(new Set(results.map(({ conversation }) => conversation))).toEqual(
      new Set([answered, unasked]),
    );
    expect(results.map(({ type }) => type)).toEqual(["resumed", "resumed"]);
    expect(await eventsIn(store, waiting)).toEqual(before);
    expect(await recover(store, options)).toEqual([]);
  });

  test("reports a turn that fails, and goes on with the others", async () => {
    const opened = await each.create();
    const { store } = opened;
    const first = await place(store, turnStart(), chatRequest("One."));
    const second = await place(store, turnStart(), chatRequest("Two."));
    const model = new ScriptedModel({
      replies: [[{ type: "error", error: new Error("The model is gone.") }], "Done."],
    });
    const results = await recover(store, { ...goingOn(opened), model, concurrency: 1 });
    const ends = Object.fromEntries(results.map(({ conversation, type }) => [conversation, type]));
    expect(ends).toEqual({ [first]: "failed", [second]: "resumed" });
  });

  test("settles a question whose time is over", async () => {
    const opened = await each.create();
    const { store, clock } = opened;
    await using conversation = await store.create({});
    const toolConfig = { pay: { questions: { sure: { deadline: "1m" } } } };
    const model = new ScriptedModel({ replies: [[CALL]] });
    const options = { tools: [payTool()], toolConfig, defer: true, clock };
    await runTurn({ ...options, conversation, model }, "Pay.");
    await conversation.release();
    const again = { ...options, model: new ScriptedModel({ replies: ["Too late."] }) };
    expect(await recover(store, again)).toEqual([]);
    clock.advance(60_000);
    expect(await recover(store, again)).toMatchObject([{ turn: { text: "Too late." } }]);
  });

  test("takes only conversations with the given labels", async () => {
    const opened = await each.create();
    const { store } = opened;
    const mine = await place(store, turnStart(), chatRequest("Mine."), { tenant: "a" });
    await place(store, turnStart(), chatRequest("Theirs."), { tenant: "b" });
    const results = await recover(store, { ...goingOn(opened), labels: { tenant: "a" } });
    expect(results.map(({ conversation }) => conversation)).toEqual([mine]);
  });
});

async function place(
  store: ConversationStore,
  ...events: readonly (ConversationEvent | Readonly<Record<string, string>>)[]
) {
  const labels = events.find((event) => !("type" in event)) as Record<string, string> | undefined;
  await using writer = await store.create(labels === undefined ? {} : { labels });
  await writer.append(...(events.filter((event) => "type" in event) as ConversationEvent[]));
  return writer.id;
}

test("listPending says the labels, and can be limited by them or to a conversation", async () => {
  const clock = new FakeClock();
  const store = new MemoryConversationStore(clock);
  const opened = { store, clock } as unknown as OpenedStore;
  const id = await leaveQuestion(opened, payTool(), { tenant: "a", user: "ana" });
  const other = await leaveQuestion(opened, payTool(), { tenant: "b" });
  const all = await listPending(store);
  const one = await listPending(store, { labels: { tenant: "a" } });
  const two = await listPending(store, { conversation: other });
  expect([
    all.length,
    one.map(({ labels }) => labels),
    two.map((each) => each.conversation),
  ]).toEqual([2, [{ tenant: "a", user: "ana" }], [other]]);
  expect(one[0]?.conversation).toBe(id);
});

describe("a turn that still waits", () => {
  test.each(EVERY_STORE)("is resumed without a trace in $name", async (each) => {
    const opened = await each.create();
    const { store } = opened;
    const id = await leaveQuestion(opened);
    const before = await eventsIn(store, id);
    await using conversation = await store.open(id);
    const { type } = await resumeTurn(conversation, goingOn(opened));
    expect([type, await eventsIn(store, id)]).toEqual(["waiting", before]);
  });

  test("is not closed by another message, unless the program says so", async () => {
    const clock = new FakeClock();
    const opened = { store: new MemoryConversationStore(clock), clock } as unknown as OpenedStore;
    const id = await leaveQuestion(opened);
    const before = await eventsIn(opened.store, id);
    await using conversation = await opened.store.open(id);
    const options = { ...goingOn(opened), conversation };
    expect(await codeOf(runTurn(options, "And?"))).toBe("turn_waiting");
    expect(await eventsIn(opened.store, id)).toEqual(before);
    const { text } = await runTurn({ ...options, discardsPending: true }, "And?");
    expect([text, await listPending(opened.store)]).toEqual(["Done.", []]);
  });

  test("is not closed by another message if one of its calls is in doubt", async () => {
    const store = new MemoryConversationStore(new FakeClock());
    const started = { type: "attempt_start", timestamp: at(3), toolCallId: "call_1" } as const;
    const call = toolCall("call_1", "pay");
    const id = await place(store, turnStart(), chatRequest("Pay."), call, started);
    await using conversation = await store.open(id);
    const options = { conversation, model: new ScriptedModel({ replies: [] }), tools: [payTool()] };
    expect(await codeOf(runTurn(options, "And?"))).toBe("turn_waiting");
  });
});

async function runUnattended(toolConfig: Readonly<Record<string, { readonly detached: string }>>) {
  await using conversation = await new MemoryConversationStore(new FakeClock()).create({});
  const model = new ScriptedModel({ replies: [[CALL], "Done."] });
  const inquiryModel = new ScriptedModel({ replies: () => "I may." });
  const options = { conversation, model, inquiryModel, tools: [payTool()], toolConfig };
  const { denials } = await runTurn(options, "Pay.");
  return { denials: denials.length, isAsked: inquiryModel.requests.length > 0 };
}

test("a tool's question is not answered by the model unless the config says so", async () => {
  const results = [await runUnattended({}), await runUnattended({ pay: { detached: "auto" } })];
  expect(results).toEqual([
    { denials: 1, isAsked: false },
    { denials: 0, isAsked: true },
  ]);
});

test.each(EVERY_STORE)(
  "a conversation that is released while its turn runs ends the turn in good order, in $name",
  async (each) => {
    const { store, clock } = await each.create();
    const conversation = await store.create({});
    const started = Promise.withResolvers<void>();
    const tool = defineTool({
      name: "pay",
      description: "Pays.",
      parameters: { type: "object" },
      async run(_args, { signal }) {
        started.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "Stopped.";
      },
    });
    const model = new ScriptedModel({ replies: [[CALL]] });
    const ended = runTurn({ conversation, model, tools: [tool], clock }, "Pay.");
    await started.promise;
    await conversation.release();
    expect((await ended).type).toBe("interrupted");
    await (await store.open(conversation.id)).release();
  },
);
