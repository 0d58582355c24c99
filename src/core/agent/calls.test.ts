import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { type PermissionDecision, readTurnProgress } from "../../record/conversation/index.ts";
import { ToolCycle } from "./calls.ts";
import { settle, until } from "./model-turn.fixture.ts";
import { questioner } from "./questioner.fixture.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import { echo, SlowTool } from "./turn-tools.fixture.ts";
import { INVALID_ARGUMENTS } from "../../reach/provider/index.ts";
import type { ScriptedAnswer } from "../../testing/index.ts";
import {
  booleanQuestion,
  defineTool,
  secretQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import { abortable } from "../../util/index.ts";

const OPEN = { type: "object" };

const asker = defineTool({
  name: "asker",
  description: "",
  parameters: OPEN,
  run: async (_args, { ask }) => `got ${await ask(booleanQuestion("sure", "Are you sure?"))}`,
});

describe("a question that a person answers", () => {
  test("is recorded with who asked and who answered, between the call and its result", async () => {
    const turn = await ToolTurn.start({ tools: [asker], script: { answers: [{ answer: true }] } });
    const response = await turn.call("asker");
    expect(response).toMatchObject({ id: "call_1", content: "got true", isError: false });
    expect(turn.events.map(({ type }) => type)).toEqual([
      "turn_start",
      "tool_call_request",
      "permission_decision",
      "attempt_start",
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
    ]);
    expect([turn.recorded("inquiry_request"), turn.recorded("inquiry_response")]).toMatchObject([
      [
        {
          id: "call_1.sure.1",
          source: { source: "tool", name: "asker" },
          question: { text: "Are you sure?", answerType: { type: "boolean" } },
          toolCallId: "call_1",
          questionId: "sure",
        },
      ],
      [
        {
          id: "call_1.sure.1",
          outcome: "answered",
          answer: true,
          answeredBy: { kind: "user", channel: "scripted", auth: "program" },
        },
      ],
    ]);
  });

  test("is remembered for the turn if the person wants that, for every call of the tool", async () => {
    const turn = await ToolTurn.start({
      tools: [asker],
      script: { answers: [{ answer: true, isRemembered: true }] },
    });
    const responses = await turn.run(toolCall("a", "asker"), toolCall("b", "asker"));
    expect({
      contents: responses.map(({ content }) => content),
      asked: turn.prompter.questions.length,
      by: turn
        .recorded("inquiry_response")
        .map((event) => "answeredBy" in event && event.answeredBy),
    }).toEqual({
      contents: ["got true", "got true"],
      asked: 1,
      by: [
        { kind: "user", channel: "scripted", auth: "program", scope: "turn" },
        { kind: "remembered", from: "a.sure.1" },
      ],
    });
  });

  test("can be cancelled by the person, which the model learns", async () => {
    const turn = await ToolTurn.start({
      tools: [asker],
      script: { answers: [{ isCancelled: true }] },
    });
    expect(await turn.call("asker")).toMatchObject({
      content: "Tool input cancelled by user.",
      isError: false,
    });
    expect(turn.recorded("inquiry_response")).toMatchObject([
      { id: "call_1.sure.1", outcome: "cancelled", reason: "user" },
    ]);
  });
});

test("a secret reaches only the tool", async () => {
  const tool = defineTool({
    name: "login",
    description: "",
    parameters: OPEN,
    run: async (_args, { ask }) =>
      `${(await ask(secretQuestion("password", "Password?"))).length} characters`,
  });
  const turn = await ToolTurn.start({
    tools: [tool],
    script: { answers: [{ answer: "hunter2", isRemembered: true }] },
  });
  expect(await turn.call("login")).toMatchObject({ content: "7 characters" });
  expect(turn.recorded("inquiry_response")).toMatchObject([
    { outcome: "redacted", answeredBy: { kind: "user", channel: "scripted", auth: "program" } },
  ]);
  expect(JSON.stringify(turn.events)).not.toContain("hunter2");
});

test("a hundred calls ask at once, and every answer reaches its own question", async () => {
  const tool = defineTool({
    name: "echo",
    description: "",
    parameters: OPEN,
    run: async (args: { readonly number?: number }, { ask }) =>
      `${args.number}: ${await ask(textQuestion("word", `Word ${args.number}?`))}`,
  });
  const turn = await ToolTurn.start({
    tools: [tool],
    script: { answers: ({ question }) => ({ answer: question.text.replace("Word", "answer") }) },
  });
  const numbers = Array.from({ length: 100 }, (_, number) => number);
  const responses = await turn.run(
    ...numbers.map((number) => toolCall(`call_${number}`, "echo", { number })),
  );
  expect(responses.map(({ id, content }) => `${id} ${content}`)).toEqual(
    numbers.map((number) => `call_${number} ${number}: answer ${number}?`),
  );
});

describe("several calls", () => {
  test("return results in call order, and record them as they end", async () => {
    verifies("005/record/inside-the-tool-call", "005/record/parallel-calls-may-interleave");
    const slow = new SlowTool();
    const turn = await ToolTurn.start({
      tools: [slow, asker, echo],
      script: { answers: [{ answer: true }] },
    });
    const cycle = await turn.begin(
      toolCall("a", "slow"),
      toolCall("b", "asker"),
      toolCall("c", "echo", { text: "hi" }),
    );
    const responses = cycle.run();
    await until(() => turn.recorded("tool_call_response").length === 2);
    slow.release();
    expect((await responses).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(transcript(turn.events).filter((line) => !/ starts$|\(run\)$/.test(line))).toEqual([
      "turn",
      "a calls slow",
      "b calls asker",
      "c calls echo",
      "b.sure.1 asks: Are you sure?",
      "c gives: hi",
      "b.sure.1 answered: true",
      "b gives: got true",
      "a gives: slow is done",
    ]);
  });

  test("continue while a person thinks about a question, and so do inquiries of a model", async () => {
    verifies("028/goal/parallel-inquiries");
    const typed = Promise.withResolvers<ScriptedAnswer>();
    const turn = await ToolTurn.start({
      tools: [asker, echo, questioner("modest", booleanQuestion("q", "?"))],
      config: { modest: { questions: { q: { target: "assistant" } } } },
      script: { answers: () => typed.promise },
      answers: () => ({ type: "answered", answer: true, model: "test/model" }),
    });
    turn.inquiries.hold("d.q.1");
    const calls = [
      toolCall("a", "asker"),
      toolCall("b", "echo"),
      toolCall("c", "modest"),
      toolCall("d", "modest"),
    ];
    const responses = (await turn.begin(...calls)).run();
    await until(() => turn.recorded("tool_call_response").length === 2);
    expect({
      ended: turn.recorded("tool_call_response").map(({ id }) => id),
      open: turn.prompter.questions.map(({ inquiryId }) => inquiryId),
      inquired: turn.inquiries.calls.map(({ inquiryId }) => inquiryId),
    }).toEqual({ ended: ["b", "c"], open: ["a.sure.1"], inquired: ["c.q.1", "d.q.1"] });
    typed.resolve({ answer: false });
    turn.inquiries.release("d.q.1");
    expect((await responses).map(({ content }) => content)).toEqual([
      "got false",
      "nothing",
      "[true]",
      "[true]",
    ]);
  });

  test("ask one at a time, in order, each with its own ids", async () => {
    verifies("082/prompt/queued-prompt-carries-the-id", "082/prompt/answer-carries-the-id");
    const open: PromiseWithResolvers<ScriptedAnswer>[] = [];
    const turn = await ToolTurn.start({
      tools: [asker],
      script: {
        answers: () => {
          open.push(Promise.withResolvers());
          return open.at(-1)?.promise ?? { isCancelled: true };
        },
      },
    });
    const ids = ["a", "b", "c", "d"];
    const responses = (await turn.begin(...ids.map((id) => toolCall(id, "asker")))).run();
    for (const [index, answer] of [true, false, "cancel", true].entries()) {
      await until(() => open.length === index + 1);
      expect(turn.recorded("inquiry_request")).toHaveLength(4);
      open[index]?.resolve(answer === "cancel" ? { isCancelled: true } : { answer });
    }
    expect((await responses).map(({ content }) => content)).toEqual([
      "got true",
      "got false",
      "Tool input cancelled by user.",
      "got true",
    ]);
    expect(turn.prompter.questions.map(({ inquiryId }) => inquiryId)).toEqual(
      ids.map((id) => `${id}.sure.1`),
    );
  });

  test("reuse an answer that a person gives for the turn while they wait, unless they are of other tools", async () => {
    verifies(
      "082/record/remembered-answer",
      "082/remember/answers-keyed-by-tool-and-question",
      "082/secret/other-types-still-answered-and-remembered",
    );
    const other = questioner("other", booleanQuestion("sure", "And you?"));
    const answers = [{ answer: false, isRemembered: true }, { answer: true }];
    const turn = await ToolTurn.start({ tools: [asker, other], script: { answers } });
    const responses = await turn.run(
      toolCall("a", "asker"),
      toolCall("b", "asker"),
      toolCall("c", "other"),
      toolCall("d", "asker"),
    );
    expect({
      contents: responses.map(({ content }) => content),
      asked: turn.prompter.questions.map(({ inquiryId }) => inquiryId),
    }).toEqual({
      contents: ["got false", "got false", "[true]", "got false"],
      asked: ["a.sure.1", "c.sure.1"],
    });
  });

  test("go to a model if they wait until the person has left, and block no one else", async () => {
    const turn = await ToolTurn.start({
      tools: [asker],
      script: {
        answers: ({ inquiryId }) => {
          turn.prompter.isAvailable = inquiryId !== "a.sure.1";
          return { answer: true };
        },
      },
      answers: { "b.sure.1": true },
    });
    turn.inquiries.hold("b.sure.1");
    const first = (await turn.begin(toolCall("a", "asker"), toolCall("b", "asker"))).run();
    await until(() => turn.inquiries.calls.length === 1);
    const isAnythingOpen = turn.parts.prompts.cancelOpen();
    turn.prompter.isAvailable = true;
    const second = turn.run(toolCall("c", "asker"));
    const isAsked = await until(() => turn.prompter.questions.length === 2).then(
      () => true,
      () => false,
    );
    turn.inquiries.release("b.sure.1");
    const responses = [...(await first), ...(await second)];
    expect({
      isAnythingOpen,
      isAsked,
      contents: responses.map(({ content }) => content),
    }).toEqual({
      isAnythingOpen: false,
      isAsked: true,
      contents: ["got true", "got true", "got true"],
    });
  });
});

describe("what several calls ask first", () => {
  const SURE = booleanQuestion("sure", "Are you sure?", { persistence: "none" });
  const ASKS = { run: "ask" };

  /** Calls `a` of the tool `late`, which is not found yet, and `b` of `early`, which has asked by then. */
  async function start(options: Partial<Parameters<typeof ToolTurn.start>[0]> = {}) {
    const shown: string[] = [];
    const turn = await ToolTurn.start({
      tools: [questioner("late", SURE), questioner("early", SURE)],
      config: { late: ASKS, early: ASKS },
      script: {
        permissions: ({ toolCallId }) => {
          shown.push(toolCallId);
          return { type: "run" };
        },
        answers: ({ inquiryId }) => {
          shown.push(inquiryId);
          return { answer: true };
        },
      },
      ...options,
    });
    const found = Promise.withResolvers<void>();
    const { tools } = turn.parts;
    const find: typeof tools.find = async (name, signal) => {
      if (name === "late") await abortable(found.promise, signal);
      return tools.find(name, signal);
    };
    turn.parts = { ...turn.parts, tools: { ...tools, find } };
    const cycle = await turn.begin(toolCall("a", "late"), toolCall("b", "early"));
    const responses = cycle.run();
    await until(() => turn.recorded("permission_request").length === 1);
    await settle();
    return { turn, cycle, responses, shown, found };
  }

  test("comes in the order of the calls, however long it takes to find a tool", async () => {
    const { responses, shown, found } = await start();
    expect(shown).toEqual([]);
    found.resolve();
    await responses;
    expect(shown.slice(0, 2)).toEqual(["a", "b"]);
  });

  test("does not wait for a call that cannot be made", async () => {
    const { responses, shown, found } = await start();
    found.reject(new Error("no server"));
    expect((await responses).map(({ isError }) => isError)).toEqual([true, false]);
    expect(shown).toEqual(["b", "b.sure.1"]);
  });

  test("does not wait for a call that the config skips", async () => {
    const config = { late: { run: "skip" }, early: ASKS };
    const { responses, shown, found } = await start({ config });
    found.resolve();
    await responses;
    expect(shown).toEqual(["b", "b.sure.1"]);
  });

  test("does not wait for a call that needs no permission, once it runs", async () => {
    const slow = new SlowTool("late");
    const { turn, responses, shown, found } = await start({
      tools: [slow, questioner("early", SURE)],
      config: { early: ASKS },
    });
    expect([shown, slow.starts]).toEqual([[], 0]);
    found.resolve();
    await until(() => turn.recorded("tool_call_response").length === 1);
    expect([shown, slow.starts]).toEqual([["b", "b.sure.1"], 1]);
    slow.release();
    await responses;
  });

  test("is never asked if the calls are stopped while it waits", async () => {
    const { cycle, responses, shown } = await start();
    cycle.stop("user");
    const results = await responses;
    expect([results.map(({ id }) => id), shown]).toEqual([["a", "b"], []]);
  });

  test("can be answered elsewhere while it waits, and the call goes on", async () => {
    const { turn, responses, shown, found } = await start();
    const { journal, state } = turn.parts;
    const [request] = turn.recorded("permission_request");
    if (request === undefined) throw new Error("Nothing was asked.");
    const event: PermissionDecision = {
      type: "permission_decision",
      timestamp: request.timestamp,
      toolCallId: "b",
      tool: "early",
      action: "run",
      decision: "approved",
      decidedBy: { kind: "user", channel: "web" },
      ...(request.subject && { digest: request.subject.digest }),
    };
    expect(await state.waiting.take({ event }, { journal })).toEqual({ type: "recorded" });
    await until(() => turn.recorded("inquiry_request").length === 1);
    await settle();
    expect(shown).toEqual([]); // What `b` asks while it runs comes after `a`, too.
    found.resolve();
    await responses;
    expect([shown[0], shown.toSorted()]).toEqual(["a", ["a", "a.sure.1", "b.sure.1"]]);
  });

  test("comes in their order, too, if an earlier process has left it open", async () => {
    const shown: string[] = [];
    let isLater = true;
    const { turn, responses, found } = await start({
      config: { early: ASKS },
      script: {
        permissions: [{ type: "run" }],
        answers: ({ inquiryId }) => {
          if (isLater) return { isLater };
          shown.push(inquiryId);
          return { answer: true };
        },
      },
    });
    found.resolve();
    expect(await responses).toEqual([]);
    isLater = false;
    const { tools } = turn.parts;
    const foundAgain = Promise.withResolvers<void>();
    const find: typeof tools.find = async (name, signal) => {
      if (name === "late") await foundAgain.promise;
      return tools.find(name, signal);
    };
    const { calls } = readTurnProgress(turn.events);
    const resumed = new ToolCycle({ ...turn.parts, tools: { ...tools, find } }, calls);
    const ended = resumed.run();
    await settle();
    expect(shown).toEqual([]);
    foundAgain.resolve();
    await ended;
    expect(shown).toEqual(["a.sure.1", "b.sure.1"]);
  });
});

test("a call with unreadable arguments does not run, and no permission is asked", async () => {
  const slow = new SlowTool();
  const turn = await ToolTurn.start({ tools: [slow], config: { slow: { run: "ask" } } });
  expect(await turn.call("slow", { [INVALID_ARGUMENTS]: '{"path": ' })).toMatchObject({
    content: "Invalid arguments for tool 'slow'. It was not run: the arguments are not valid JSON.",
    isError: true,
  });
  expect([slow.starts, turn.prompter.permissions]).toEqual([0, []]);
});

describe("a call of an unavailable tool", () => {
  test("ends in an error that says so if its name is unknown", async () => {
    const turn = await ToolTurn.start({ tools: [] });
    expect(await turn.call("gone")).toMatchObject({
      content:
        "Tool 'gone' is not available. It may have been available earlier in this conversation " +
        "but is no longer enabled. Do not retry this tool until it is available again.",
      isError: true,
    });
    expect(transcript(turn.events).slice(2)).toHaveLength(1);
  });

  test("ends in an error that says why, and other calls continue", async () => {
    const turn = await ToolTurn.start({ tools: [echo] });
    const { tools } = turn.parts;
    const find: typeof tools.find = (name, signal) =>
      name === "remote" ? Promise.reject(new Error("no server")) : tools.find(name, signal);
    turn.parts = { ...turn.parts, tools: { ...tools, find } };
    const responses = await turn.run(toolCall("a", "remote"), toolCall("b", "echo"));
    expect(responses.map(({ content, isError }) => [content, isError])).toEqual([
      ["Tool 'remote' is currently unavailable: no server", true],
      ["nothing", false],
    ]);
  });
});
