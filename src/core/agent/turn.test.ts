import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  chatRequest,
  inquiry,
  rawOf,
  toolCall,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import { problemsOf } from "../../record/conversation/record-rules.fixture.ts";
import { ModelTurn, unfinished, until } from "./model-turn.fixture.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";
import { eventsOf } from "../../record/conversation/index.ts";
import { FakeClock, MemoryConversationStore } from "../../testing/index.ts";

const call = (id: string, name = "echo", text = `text of ${id}`) =>
  ({ type: "tool_call", id, name, arguments: { text } }) as const;

describe("a turn without tools", () => {
  test("is recorded from its start to its answer", async () => {
    const turn = await ModelTurn.create({ replies: ["Hi there"] });
    const end = await turn.run({ content: "Hello", author: "Ann" });
    expect({ end, record: turn.record, shown: turn.shown, second: turn.events[1] }).toEqual({
      end: { type: "done", reason: "stop" },
      record: ["turn", "person: Hello", "message: Hi there"],
      shown: [["person: Hello"]],
      second: {
        type: "chat_request",
        timestamp: "2026-01-02 03:04:05.678",
        content: "Hello",
        author: "Ann",
      },
    });
  });

  test("passes everything to the model that it needs", async () => {
    const turn = await ModelTurn.create({
      replies: [""],
      tools: [echo],
      attachments: [{ source: "notes", content: "Milk" }],
      schemas: async () => [{ name: "echo", description: "Says it again.", parameters: {} }],
      assistant: {
        systemPrompt: "Be brief.",
        sections: [{ title: "House", content: "Rules" }],
        parameters: { temperature: 0.5, other: { seed: 1 } },
        toolChoice: { tool: "echo" },
        cache: "long",
      },
    });
    await turn.run();
    const { parts, signal: _signal, observe: _observe, ...request } = turn.model.requests[0] ?? {};
    expect({ ...parts, ...request }).toEqual({
      systemParts: [
        { tag: "prompt", text: "Be brief." },
        { tag: "section", text: "# House\n\nRules" },
      ],
      events: [
        expect.objectContaining({ content: expect.stringContaining("Milk") }),
        expect.objectContaining({ content: "Hello" }),
      ],
      tools: [{ name: "echo", description: "Says it again.", parameters: {} }],
      toolChoice: { tool: "echo" },
      parameters: { temperature: 0.5, other: { seed: 1 } },
      cache: "long",
    });
  });

  test("ends for the reason that the model reports", async () => {
    const turn = await ModelTurn.create({ replies: [[{ type: "end", reason: "refused" }]] });
    expect([await turn.run(), turn.record]).toEqual([
      { type: "done", reason: "refused" },
      ["turn", "person: Hello", "turn done"],
    ]);
  });
});

describe("a turn with tools", () => {
  test("continues until the model makes no more calls, with results in call order", async () => {
    const slow = new SlowTool();
    const turn = await ModelTurn.create({
      tools: [echo, slow],
      replies: [
        [{ type: "text", text: "Looking" }, call("a", "slow"), call("b"), call("c")],
        [call("d")],
        "All done",
      ],
    });
    const end = turn.run();
    await until(() => turn.record.filter((line) => line.includes("gives")).length === 2);
    slow.release();
    expect(await end).toEqual({ type: "done", reason: "stop" });
    const asked = ["person: Hello", "message: Looking"];
    const calls = ["a calls slow", "b calls echo", "c calls echo"];
    const results = ["a gives: slow is done", "b gives: text of b", "c gives: text of c"];
    const second = ["d calls echo", "d gives: text of d"];
    expect({
      shown: turn.shown,
      results: turn.record.filter((line) => line.includes("gives")),
    }).toEqual({
      shown: [
        ["person: Hello"],
        [...asked, ...calls, ...results],
        [...asked, ...calls, ...results, ...second],
      ],
      results: [results[1], results[2], results[0], second[1]],
    });
  });

  test("runs no call of a reply if another program has changed the record meanwhile", async () => {
    const conversation = await new MemoryConversationStore(new FakeClock()).create({});
    let isOwnTurn = true;
    Object.defineProperty(conversation, "isOwnTurn", { get: () => isOwnTurn });
    const turn = await ModelTurn.create({
      tools: [echo],
      conversation,
      replies: () => {
        isOwnTurn = false;
        return [call("a")];
      },
    });
    await expect(turn.run()).rejects.toMatchObject({ code: "foreign_turn" });
    expect(turn.record.filter((line) => line.includes("gives"))).toEqual([]);
  });

  test("runs parallel calls side by side", async () => {
    const [first, second] = [new SlowTool("first"), new SlowTool("second")];
    const turn = await ModelTurn.create({
      tools: [first, second],
      replies: [[call("a", "first"), call("b", "second")], "ok"],
    });
    const end = turn.run();
    await until(() => first.starts + second.starts === 2);
    second.release();
    await turn.saw("event", "tool_call_response");
    first.release();
    await end;
    expect(turn.record.slice(-3)).toEqual([
      "b gives: second is done",
      "a gives: first is done",
      "message: ok",
    ]);
  });

  test("asks for permission and runs a tool only once the reply has ended", async () => {
    const rest = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      tools: [echo],
      config: { echo: { run: "ask" } },
      script: { permissions: [{ type: "run", isRemembered: false }] },
      replies: [
        [call("a"), unfinished("mo"), { type: "wait", until: rest.promise }, unfinished("re")],
        "ok",
      ],
    });
    const end = turn.run();
    await turn.saw("message_delta");
    const before = { record: turn.record, asked: turn.prompter.permissions.length };
    rest.resolve();
    await end;
    expect({ before, record: turn.record.slice(0, -2) }).toEqual({
      before: { record: ["turn", "person: Hello"], asked: 0 },
      record: [
        "turn",
        "person: Hello",
        "a calls echo",
        "message: more",
        "a waits for permission (run)",
        "a approved (run)",
        "a starts",
      ],
    });
  });

  test("requires a tool only until one was called", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      assistant: { toolChoice: "required" },
      replies: [[call("a")], [call("b")], "ok"],
    });
    await turn.run();
    expect(turn.model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      "required",
      "auto",
      "auto",
    ]);
  });

  test("ends at the cycle limit, with the last results recorded", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      maxCycles: 2,
      replies: (_request, index) => [call(`call_${index}`)],
    });
    expect([await turn.run(), turn.record.at(-1), turn.model.requests.length]).toEqual([
      { type: "cycle_limit", cycles: 2 },
      "call_1 gives: text of call_1",
      2,
    ]);
  });

  test("tells the model about unknown tools and invalid arguments", async () => {
    const turn = await ModelTurn.create({
      tools: [{ ...echo, parameters: { type: "object", required: ["other"] } }],
      replies: [[call("a", "gone"), call("b")], "ok"],
    });
    await turn.run();
    const results = turn.events.filter((event) => event.type === "tool_call_response");
    expect(results.map(({ id, isError }) => ({ id, isError }))).toEqual([
      { id: "a", isError: true },
      { id: "b", isError: true },
    ]);
  });

  test("does not treat a reply as broken off if it continues after a call that ended at once", async () => {
    const turn = await ModelTurn.create({
      tools: [echo],
      config: { echo: { run: "skip" } },
      replies: [[call("a"), { type: "text", text: "I have called it." }], "ok"],
    });
    await turn.run();
    expect(turn.shown[1]).toEqual([
      "person: Hello",
      "a calls echo",
      "message: I have called it.",
      "a gives: Tool skipped by configuration.",
    ]);
  });
});

describe("inquiries", () => {
  const CANARY = "canary in the mine";
  const nosy = { ...asker, name: "nosy" };

  /** Two cycles of tool calls, and the outcome of the loop. */
  const cyclesOf = async (name: string) => {
    const turn = await ModelTurn.create({
      tools: [nosy, echo],
      config: { nosy: { questions: { sure: { target: "assistant" } } } },
      answers: { "a.sure.1": true, "b.sure.1": false },
      replies: [[call("a", name)], [call("b", name)], "ok"],
    });
    const end = await turn.run();
    const kinds = turn.shown.map((lines) => lines.map((line) => line.split(" ")[1]));
    const cycles = turn.updates.filter(({ type }) => type === "cycle_start");
    return { asked: turn.inquiries.calls.map(({ inquiryId }) => inquiryId), end, kinds, cycles };
  };

  test("are recorded inside their call and never reach the model", async () => {
    verifies(
      "005/visibility/inquiry-events-hidden",
      "005/visibility/turn-markers-hidden",
      "005/goal/complete-audit-trail",
      "005/goal/provider-contract-intact",
      "005/record/inside-the-tool-call",
      "005/record/into-the-real-conversation",
      "005/record/request-when-the-inquiry-starts",
      "005/record/response-when-the-answer-arrives",
      "028/goal/arguments-sent-once",
      "028/inquiry/no-second-call-by-the-model",
    );
    const whenAsked: object[] = [];
    const turn: ModelTurn = await ModelTurn.create({
      tools: [asker, nosy],
      config: { nosy: { questions: { sure: { target: "assistant" } } } },
      script: { answers: [{ answer: true }] },
      answers: () => {
        whenAsked.push(turn.record.filter((line) => line.startsWith("b.")));
        return { type: "answered", answer: true, model: CANARY };
      },
      replies: [[call("a", "asker"), call("b", "nosy")], [call("c", "echo")], "ok"],
    });
    await turn.run();
    const pairs = ["a", "b"].map((id) => turn.record.filter((line) => line.startsWith(id)));
    expect(pairs).toEqual([
      [
        "a calls asker",
        "a approved (run)",
        "a starts",
        "a.sure.1 asks: Are you sure?",
        "a.sure.1 answered: true",
        "a starts",
        "a gives: got true",
      ],
      [
        "b calls nosy",
        "b approved (run)",
        "b starts",
        "b.sure.1 asks: Are you sure?",
        "b.sure.1 answered: true",
        "b starts",
        "b gives: got true",
      ],
    ]);
    expect(whenAsked).toEqual([["b.sure.1 asks: Are you sure?"]]);
    expect(turn.shown[1]).toEqual([
      "person: Hello",
      "a calls asker",
      "b calls nosy",
      "a gives: got true",
      "b gives: got true",
    ]);
    const everything = JSON.stringify(turn.model.requests.map(({ parts }) => parts));
    expect(
      [CANARY, "Are you sure?", "inquiry", "permission", "turn_start"].filter((hidden) =>
        everything.includes(hidden),
      ),
    ).toEqual([]);
  });

  test("go to one inquiry model in all cycles, and do not count as cycles", async () => {
    verifies("028/backend/one-backend-serves-the-turn", "028/goal/invisible-to-the-turn-loop");
    const { asked, ...asking } = await cyclesOf("nosy");
    expect([asked, asking]).toEqual([
      ["a.sure.1", "b.sure.1"],
      { ...(await cyclesOf("echo")), asked: undefined },
    ]);
  });

  test("are counted within a turn if their calls share an id, and a new turn starts over", async () => {
    verifies(
      "082/id/three-segments",
      "082/id/first-attempt-is-one",
      "082/id/later-cycle-continues-the-count",
      "082/id/count-starts-over-in-each-turn",
      "082/remember/ends-with-the-turn",
    );
    const options = {
      tools: [asker],
      config: { asker: { run: "ask" } },
      replies: [[call("a", "asker")], [call("a", "asker")], "ok"],
      script: {
        answers: [{ answer: true, isRemembered: true }],
        permissions: [{ type: "run", isRemembered: true }],
      },
    } as const;
    const first = await ModelTurn.create(options);
    await first.run();
    const second = await ModelTurn.create({ ...options, conversation: first.conversation });
    await second.run("Again");
    const inquiries = [
      "a.sure.1 asks: Are you sure?",
      "a.sure.1 answered: true",
      "a.sure.2 asks: Are you sure?",
      "a.sure.2 answered: true",
    ];
    expect({
      inquiries: second.record.filter((line) => line.includes("sure.")),
      asked: [first, second].map(({ prompter }) => [
        prompter.questions.length,
        prompter.permissions.length,
      ]),
    }).toEqual({
      inquiries: [...inquiries, ...inquiries],
      asked: [
        [1, 1],
        [1, 1],
      ],
    });
  });
});

test("a second turn of a conversation shows the model the first, with its own schema only", async () => {
  const first = await ModelTurn.create({
    tools: [echo],
    replies: [[call("a")], [{ type: "structured", data: { n: 1 } }]],
  });
  await first.run({ content: "Count", schema: { type: "object" } });
  const second = await ModelTurn.create({
    replies: ["You are welcome"],
    conversation: first.conversation,
  });
  await second.run("Thanks");
  expect({
    schemas: [...first.model.requests, ...second.model.requests].map(({ parts }) => parts.schema),
    shown: second.shown,
  }).toEqual({
    schemas: [{ type: "object" }, { type: "object" }, undefined],
    shown: [
      [
        "person: Count",
        "a calls echo",
        "a gives: text of a",
        'structured: {"n":1}',
        "person: Thanks",
      ],
    ],
  });
});

test("a turn after an incomplete one closes it, and shows the model how far it came", async () => {
  const store = new MemoryConversationStore(new FakeClock());
  const conversation = await store.create({});
  await conversation.append(
    turnStart(),
    chatRequest("First"),
    toolCall("a", "echo"),
    toolCall("b", "asker"),
    { ...inquiry("b.sure.1"), toolCallId: "b", questionId: "sure" },
  );
  const before = structuredClone(rawOf(conversation.stream));
  const turn = await ModelTurn.create({
    conversation,
    tools: [echo],
    replies: [[call("a")], "ok"],
  });
  await turn.run("Second");
  const crashed = [
    "person: First",
    "a calls echo",
    "b calls asker",
    "a fails: The call was interrupted before the tool ran. The user did not reject it.",
    "b fails: The call was interrupted before its question was answered. The user did not reject it.",
    "person: Second",
  ];
  expect(turn.shown).toEqual([crashed, [...crashed, "a calls echo", "a gives: text of a"]]);
  expect(rawOf(conversation.stream).slice(0, before.length)).toEqual(before);
  expect([turn.record.slice(5, 9), problemsOf(turn.events)]).toEqual([
    [
      expect.stringContaining("a fails"),
      'b.sure.1 cancelled: "interrupted"',
      expect.stringContaining("b fails"),
      "turn discarded",
    ],
    [],
  ]);
});

describe("an observer of a turn", () => {
  test("gets every event once, after it is recorded, and all deltas in order", async () => {
    const early: string[] = [];
    const turn: ModelTurn = await ModelTurn.create({
      tools: [asker, echo],
      script: { answers: [{ answer: true }] },
      beforeAppend: async (events) => {
        // Not observed yet.
        for (const event of events) {
          if (turn.updates.some((update) => update.type === "event" && update.event === event)) {
            early.push(event.type);
          }
        }
        await Promise.resolve();
      },
      replies: [
        [
          { type: "reasoning", text: "Let me think" },
          { type: "text", text: "One moment" },
          call("a", "asker"),
          call("b"),
        ],
        "It is done",
      ],
    });
    await turn.run();
    const observed = turn.updates.flatMap((update) =>
      update.type === "event" ? [update.event] : [],
    );
    const others = turn.updates.flatMap((update) => {
      if (update.type === "event") return [];
      return "text" in update ? [`${update.type} ${update.text}`] : [update.type];
    });
    expect({ observed, early, others }).toEqual({
      observed: [...eventsOf(turn.conversation.stream.entries)],
      early: [],
      others: [
        "cycle_start",
        "context_use",
        ...["Let ", "me ", "think"].map((text) => `reasoning_delta ${text}`),
        ...["One ", "moment"].map((text) => `message_delta ${text}`),
        "tool_call_start",
        "tool_call_start",
        "response_end",
        "cycle_start",
        "context_use",
        ...["It ", "is ", "done"].map((text) => `message_delta ${text}`),
        "response_end",
      ],
    });
  });

  test("gets a message only after its deltas, and only if it is recorded", async () => {
    const turn = await ModelTurn.create({
      replies: ["One two"],
      beforeAppend: (events) => {
        if (events.some(({ type }) => type === "chat_response")) throw new Error("no");
      },
    });
    await expect(turn.run()).rejects.toThrow("no");
    expect(turn.updates.map(({ type }) => type)).toEqual([
      "event",
      "event",
      "cycle_start",
      "context_use",
      "message_delta",
      "message_delta",
    ]);
  });
});
