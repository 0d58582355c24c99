import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import {
  answered,
  at,
  cancelled,
  closed,
  inquiry,
  permission,
  toolCall,
  toolResult,
} from "../conversation/events.fixture.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";
import { asker } from "./turn-tools.fixture.ts";
import type {
  ConversationEvent,
  Decider,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  PermissionDecision,
} from "../conversation/index.ts";
import { booleanQuestion, defineTool } from "../tool/index.ts";
import { TurnState } from "./memory.ts";

const FOR_THE_TURN: Decider = { kind: "user", channel: "tty", scope: "turn" };

const DECIDERS: readonly Decider[] = [
  { kind: "user", channel: "tty" },
  { kind: "assistant", model: "test/model" },
  { kind: "config", key: "a.key" },
  { kind: "remembered", from: "call_1.q.1" },
  { kind: "policy", key: "a.key" },
  { kind: "default" },
  { kind: "unknown", raw: { kind: "committee", scope: "turn" } },
];

describe("the id of an inquiry", () => {
  test("consists of call, question and attempt, counted from 1 for each pair", () => {
    verifies(
      "082/id/three-segments",
      "082/id/first-attempt-is-one",
      "082/id/asking-again-counts-up",
      "082/prompt/cancelling-does-not-count",
    );
    const state = new TurnState();
    const ids = [
      state.nextInquiryId("call_1", "sure"),
      state.nextInquiryId("call_1", "sure"),
      state.nextInquiryId("call_2", "sure"),
      state.nextInquiryId("call_1", "other"),
    ];
    state.rememberAnswer("tool", "sure", cancelled("call_1.sure.2", "user"));
    ids.push(state.nextInquiryId("call_1", "sure"));
    expect(ids).toEqual([
      "call_1.sure.1",
      "call_1.sure.2",
      "call_2.sure.1",
      "call_1.other.1",
      "call_1.sure.3",
    ]);
  });

  test("continues counting if a later cycle reuses the call id", async () => {
    verifies("082/id/later-cycle-continues-the-count");
    const turn = await ToolTurn.start({ tools: [asker], script: { answers: alwaysYes } });
    await turn.run(toolCall("call_1", "asker"));
    await turn.run(toolCall("call_1", "asker"), toolCall("call_2", "asker"));
    expect(idsOf(turn, "inquiry_request").toSorted()).toEqual([
      "call_1.sure.1",
      "call_1.sure.2",
      "call_2.sure.1",
    ]);
    expect(idsOf(turn, "inquiry_response").toSorted()).toEqual(
      idsOf(turn, "inquiry_request").toSorted(),
    );
  });

  test("starts over at 1 in every turn", async () => {
    verifies("082/id/count-starts-over-in-each-turn", "082/remember/ends-with-the-turn");
    const turn = await ToolTurn.start({ tools: [asker], script: { answers: alwaysRemembered } });
    await turn.run(toolCall("call_1", "asker"));
    await turn.run(toolCall("call_1", "asker"));
    await turn.nextTurn();
    await turn.run(toolCall("call_1", "asker"));
    expect(idsOf(turn, "inquiry_request")).toEqual([
      "call_1.sure.1",
      "call_1.sure.2",
      "call_1.sure.1",
    ]);
    expect(turn.recorded("inquiry_response").map(deciderOf)).toEqual([
      { kind: "user", channel: "scripted", scope: "turn" },
      { kind: "remembered", from: "call_1.sure.1" },
      { kind: "user", channel: "scripted", scope: "turn" },
    ]);
  });

  test("is not parsed: a resumed turn continues counting from the requests", () => {
    verifies("082/id/count-not-stored");
    const state = TurnState.fromEvents([
      toolCall("call_1", "x"),
      asked("call_1", "q", 1),
      cancelled("call_1.q.1", "user"),
      asked("call_1", "q", 2),
    ]);
    expect([state.nextInquiryId("call_1", "q"), state.nextInquiryId("call_2", "q")]).toEqual([
      "call_1.q.3",
      "call_2.q.1",
    ]);
  });

  test("is unique in the turn, even if call and question ids contain dots", () => {
    verifies("082/id/unique-within-the-turn");
    const state = new TurnState();
    const ids = [
      state.nextInquiryId("a.b", "c"),
      state.nextInquiryId("a", "b.c"),
      state.nextInquiryId("a", "b.c"),
      state.nextInquiryId("a.b", "c"),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  test("is never an id that the turn already has, even if its request does not say who asked", () => {
    verifies("082/id/unique-within-the-turn");
    const state = TurnState.fromEvents([inquiry("call_1.q.1"), cancelled("call_1.q.1", "user")]);
    expect(state.nextInquiryId("call_1", "q")).not.toBe("call_1.q.1");
  });
});

describe("an answer", () => {
  test("is found by tool and question if a person gave it for the turn, whichever call asked", () => {
    verifies(
      "082/remember/answers-keyed-by-tool-and-question",
      "082/id/not-the-key-of-remembered-answers",
    );
    const state = new TurnState();
    const response = closed("call_1.sure.1", answeredBy(FOR_THE_TURN));
    state.rememberAnswer("tool", "sure", response);
    expect([
      state.findAnswer("tool", "sure"),
      state.findAnswer("tool", "other"),
      state.findAnswer("other", "sure"),
      state.findAnswer("call_1", "sure"),
      state.findAnswer("tool.sure", ""),
    ]).toEqual([
      { answer: true, from: "call_1.sure.1" },
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("given later replaces an earlier one", () => {
    const state = new TurnState();
    state.rememberAnswer("tool", "sure", closed("a.sure.1", answeredBy(FOR_THE_TURN)));
    const later = { ...answeredBy(FOR_THE_TURN), answer: false };
    state.rememberAnswer("tool", "sure", closed("b.sure.1", later));
    expect(state.findAnswer("tool", "sure")).toEqual({ answer: false, from: "b.sure.1" });
  });

  test("is not kept if no person gave it, if it is a secret, or if it is for one question only", () => {
    verifies("082/remember/never-a-non-answer", "082/secret/not-remembered");
    const outcomes: readonly InquiryOutcome[] = [
      { outcome: "cancelled", reason: "user" },
      { outcome: "cancelled", reason: { unknown: "turn" } },
      { outcome: "redacted" },
      { outcome: "redacted", answeredBy: FOR_THE_TURN },
      { outcome: "answered", answer: true },
      ...DECIDERS.map(answeredBy),
    ];
    const kept = outcomes.map((outcome) => {
      const state = new TurnState();
      const response = closed("call_1.sure.1", outcome);
      state.rememberAnswer("tool", "sure", response);
      const events = [toolCall("call_1", "tool"), asked("call_1", "sure", 1), response];
      const rebuilt = TurnState.fromEvents(events);
      return [state, rebuilt].map((each) => each.findAnswer("tool", "sure"));
    });
    expect(kept).toEqual(outcomes.map(() => [undefined, undefined]));
  });
});

describe("a permission", () => {
  test("is kept for the tool, yes or no, if the person wants that", () => {
    verifies("082/remember/permissions-keyed-by-tool", "082/remember/permission-only-on-request");
    const found = (["approved", "edited", "denied"] as const).map((made) => {
      const state = new TurnState();
      state.rememberPermission(decision({ decision: made, decidedBy: FOR_THE_TURN }));
      return [state.findPermission("tool"), state.findPermission("other")];
    });
    expect(found).toEqual([
      [{ isApproved: true, from: "call_1" }, undefined],
      [{ isApproved: true, from: "call_1" }, undefined],
      [{ isApproved: false, from: "call_1" }, undefined],
    ]);
  });

  test("is not kept if it was for one call, by another decider, or for a result", () => {
    verifies("082/remember/permission-only-on-request");
    const decisions = [
      ...DECIDERS.map((decidedBy) => decision({ decidedBy })),
      decision({ decidedBy: FOR_THE_TURN, action: "deliver" }),
    ];
    const found = decisions.map((made) => {
      const state = new TurnState();
      state.rememberPermission(made);
      return [state, TurnState.fromEvents([made])].map((each) => each.findPermission("tool"));
    });
    expect(found).toEqual(decisions.map(() => [undefined, undefined]));
  });

  test("is kept apart from answers, whatever the question's id is", () => {
    verifies("082/remember/permissions-kept-apart");
    const answers = new TurnState();
    const permissions = new TurnState();
    const names = ["__permission__", "tool", "run", ""];
    for (const name of names) {
      answers.rememberAnswer("tool", name, closed(`c.${name}.1`, answeredBy(FOR_THE_TURN)));
    }
    permissions.rememberPermission(decision({ decidedBy: FOR_THE_TURN }));
    const inAnswers = names.map((name) => answers.findPermission(name));
    const inPermissions = names.map((name) => permissions.findAnswer("tool", name));
    expect([...inAnswers, ...inPermissions]).toEqual(Array.from({ length: 8 }));
  });
});

describe("a resumed turn", () => {
  test("has the same state, whether built live or from the record", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
        const live = new TurnState();
        const events = steps.flatMap((step) => step(live));
        expect(knowledgeOf(TurnState.fromEvents(events))).toEqual(knowledgeOf(live));
      }),
      { numRuns: 300 },
    );
  });

  test("returns an answer to the tool that asked, even if another had a call with the same id", () => {
    const events = [
      toolCall("call_1", "a"),
      toolCall("call_1", "b"),
      { ...asked("call_1", "sure", 1), source: { source: "tool", name: "a" } as const },
      closed("call_1.sure.1", answeredBy(FOR_THE_TURN)),
    ];
    const state = TurnState.fromEvents(events);
    expect([state.findAnswer("a", "sure"), state.findAnswer("b", "sure")]).toEqual([
      { answer: true, from: "call_1.sure.1" },
      undefined,
    ]);
  });

  test("continues from its own record: a remembered answer is not asked again", async () => {
    const tool = defineTool({
      name: "two_questions",
      description: "",
      parameters: { type: "object" },
      run: async (_args, { ask }) =>
        `${await ask(booleanQuestion("first", "1?"))} ${await ask(booleanQuestion("second", "2?"))}`,
    });
    const turn = await ToolTurn.start({ tools: [tool], script: { answers: alwaysRemembered } });
    await turn.run(toolCall("call_1", "two_questions"));
    turn.parts = { ...turn.parts, state: TurnState.fromEvents(turn.events) };
    await turn.run(toolCall("call_1", "two_questions"));
    expect({
      asked: turn.prompter.questions.map(({ inquiryId }) => inquiryId),
      recorded: idsOf(turn, "inquiry_request"),
    }).toEqual({
      asked: ["call_1.first.1", "call_1.second.1"],
      recorded: ["call_1.first.1", "call_1.second.1", "call_1.first.2", "call_1.second.2"],
    });
  });
});

/** What the agent does to the state, and the events that it records. */
type Step = (live: TurnState) => readonly ConversationEvent[];

const TOOLS = ["x", "y"] as const;
const CALLS = ["call_1", "call_2", "call_3"] as const;
const QUESTIONS = ["q", "__permission__"] as const;

/** A provider that reuses a call id means the same tool. */
const toolOf = (call: (typeof CALLS)[number]) => (call === "call_3" ? "y" : "x");

const anyDecider = fc.constantFrom(...DECIDERS, FOR_THE_TURN, FOR_THE_TURN);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({
      call: fc.constantFrom(...CALLS),
      question: fc.constantFrom(...QUESTIONS),
      outcome: fc.oneof(
        fc.constant(undefined),
        fc.constant<InquiryOutcome>({ outcome: "cancelled", reason: "user" }),
        anyDecider.map((by): InquiryOutcome => ({ outcome: "redacted", answeredBy: by })),
        fc
          .tuple(anyDecider, fc.boolean())
          .map(([by, answer]): InquiryOutcome => ({ outcome: "answered", answer, answeredBy: by })),
      ),
    })
    .map(({ call, question, outcome }): Step => (live) => {
      const id = live.nextInquiryId(call, question);
      const source = { source: "tool", name: toolOf(call) } as const;
      const request = { ...inquiry(id), source, toolCallId: call, questionId: question };
      const events = [toolCall(call, toolOf(call)), request];
      if (outcome === undefined) return events;
      const response = closed(id, outcome);
      live.rememberAnswer(toolOf(call), question, response);
      return [...events, response, toolResult(call)];
    }),
  fc
    .record({
      call: fc.constantFrom(...CALLS),
      action: fc.constantFrom("run" as const, "deliver" as const),
      decision: fc.constantFrom("approved" as const, "denied" as const, "edited" as const),
      decidedBy: anyDecider,
    })
    .map(({ call, ...fields }): Step => (live) => {
      const event = { ...permission(call), tool: toolOf(call), ...fields };
      live.rememberPermission(event);
      return [event];
    }),
  fc.constant<Step>(() => [answered("of.another.time")]),
);

function knowledgeOf(state: TurnState) {
  return {
    answers: TOOLS.map((tool) => QUESTIONS.map((question) => state.findAnswer(tool, question))),
    permissions: TOOLS.map((tool) => state.findPermission(tool)),
    ids: CALLS.map((call) => QUESTIONS.map((question) => state.nextInquiryId(call, question))),
  };
}

function decision(fields: Partial<PermissionDecision>): PermissionDecision {
  return { ...permission("call_1"), tool: "tool", ...fields };
}

function answeredBy(by: Decider): Extract<InquiryOutcome, { outcome: "answered" }> {
  return { outcome: "answered", answer: true, answeredBy: by };
}

function asked(toolCallId: string, questionId: string, attempt: number): InquiryRequest {
  const id = `${toolCallId}.${questionId}.${attempt}` as InquiryId;
  const source = { source: "tool", name: "tool" } as const;
  return { ...inquiry(id), timestamp: at(attempt), source, toolCallId, questionId };
}

const alwaysYes = () => ({ answer: true });
const alwaysRemembered = () => ({ answer: true, isRemembered: true });

function idsOf(turn: ToolTurn, type: "inquiry_request" | "inquiry_response"): string[] {
  return turn.recorded(type).map(({ id }) => id);
}

function deciderOf(event: InquiryOutcome): Decider | undefined {
  return "answeredBy" in event ? event.answeredBy : undefined;
}
