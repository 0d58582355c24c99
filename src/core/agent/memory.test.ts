import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import {
  answered,
  at,
  cancelled,
  closed,
  inquiry,
  permission,
  permissionRequest,
  subjectOf,
  toolCall,
  toolResult,
} from "../../record/conversation/events.fixture.ts";
import { ToolTurn } from "./tool-turn.fixture.ts";
import { asker } from "./turn-tools.fixture.ts";
import type {
  ConversationEvent,
  ConversationId,
  Decider,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  PermissionAction,
  PermissionDecision,
  PermissionRequestEvent,
  SubjectDigest,
} from "../../record/conversation/index.ts";
import { booleanQuestion, defineTool, type InquiryQuestion } from "../../record/tool/index.ts";
import { TurnState } from "./memory.ts";

const FOR_THE_TURN: Decider = { kind: "user", channel: "tty", scope: "turn" };

const DECIDERS: readonly Decider[] = [
  { kind: "user", channel: "tty" },
  { kind: "assistant", model: "test/model" },
  { kind: "config", key: "a.key" },
  { kind: "remembered", from: "call_1.q.1" },
  { kind: "policy", key: "a.key" },
  { kind: "default" },
  { kind: "tool" },
  { kind: "unknown", raw: { kind: "committee", scope: "turn" } },
];

const REQUEST = permissionFor("call_1");
const SANDBOXED = { type: "builtin", confinement: "sandbox" } as const;

type Asked = readonly [tool: string, request: InquiryRequest];

/** The parts of what is decided that say which tool it is. */
const TOOL_PARTS = ["source", "program", "file", "definition"];

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
    state.remember("tool", asked("call_1", "sure", 2), cancelled("call_1.sure.2", "user"));
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
      { kind: "user", channel: "scripted", auth: "program", scope: "turn" },
      { kind: "remembered", from: "call_1.sure.1" },
      { kind: "user", channel: "scripted", auth: "program", scope: "turn" },
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

/** Remembers a yes to the request, and tells for which of the others it counts. */
function covered(request: InquiryRequest, others: readonly Asked[]): readonly boolean[] {
  const state = new TurnState();
  state.remember("tool", request, closed(request.id, answeredBy(FOR_THE_TURN)));
  return others.map(([tool, other]) => state.find(tool, other) !== undefined);
}

describe("an answer", () => {
  test("is found by tool and question if a person gave it for the turn, whichever call asked", () => {
    verifies(
      "082/remember/answers-keyed-by-tool-and-question",
      "082/id/not-the-key-of-remembered-answers",
    );
    const state = new TurnState();
    const request = asked("call_1", "sure", 1);
    state.remember("tool", request, closed("call_1.sure.1", answeredBy(FOR_THE_TURN)));
    expect([
      state.find("tool", asked("call_2", "sure", 1)),
      state.find("tool", asked("call_1", "other", 1)),
      state.find("other", asked("call_1", "sure", 1)),
      state.find("call_1", asked("call_1", "sure", 1)),
    ]).toEqual([
      { answer: true, from: "call_1.sure.1", by: FOR_THE_TURN },
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("says who gave it", () => {
    const state = new TurnState();
    const request = asked("call_1", "sure", 1);
    const by = { ...FOR_THE_TURN, name: "Ada" };
    state.remember("tool", request, closed("call_1.sure.1", answeredBy(by)));
    expect(state.find("tool", request)).toEqual({
      answer: true,
      from: "call_1.sure.1",
      by,
    });
  });

  test("counts for questions with the same id and the same words only", () => {
    const request = asked("call_1", "sure", 1, { text: "Delete a?" });
    expect(
      covered(request, [
        ["tool", asked("call_2", "sure", 1, { text: "Delete a?", context: "another diff" })],
        ["tool", asked("call_2", "sure", 1, { text: "Delete b?" })],
        ["tool", asked("call_2", "other", 1, { text: "Delete a?" })],
        ["tool", asked("call_2", "sure", 1, { text: "Delete a?", rememberAs: "Delete a?" })],
      ]),
    ).toEqual([true, false, false, false]);
  });

  test("counts for all questions with the same id that the label of the question covers", () => {
    const question = { text: "Edit a?", rememberAs: "all edits this turn" };
    const request = asked("call_1", "apply", 1, question);
    expect(
      covered(request, [
        ["tool", asked("call_2", "apply", 1, { ...question, text: "Edit b?" })],
        ["tool", asked("call_2", "other", 1, question)],
        ["tool", asked("call_2", "apply", 1, { ...question, rememberAs: "all deletions" })],
        ["tool", asked("call_2", "apply", 1, { text: "Edit a?" })],
        ["another", asked("call_2", "apply", 1, question)],
      ]),
    ).toEqual([true, false, false, false, false]);
  });

  test("counts for every tool that ships with jp and has the same label", () => {
    const question = { text: "Edit a?", rememberAs: "all edits this turn" };
    const builtin = { origin: { type: "builtin" } } as const;
    const of = (text: string, fields: Partial<InquiryRequest>) => ({
      ...asked("call_2", "other", 1, { ...question, text }),
      subject: subjectWith({ source: "another" }),
      ...fields,
    });
    const request = { ...asked("call_1", "apply", 1, question), ...builtin };
    expect(
      covered(request, [
        ["another", of("Create b?", builtin)],
        ["another", of("Create b?", { origin: { type: "program" } })],
        ["another", of("Create b?", { origin: { type: "local", command: "create" } })],
        ["another", of("Create b?", {})],
      ]),
    ).toEqual([true, false, false, false]);
  });

  test("is not shared by other tools with the same label", () => {
    const question = { text: "Edit a?", rememberAs: "all edits this turn" };
    const origin = { type: "local", command: "edit" } as const;
    const request = { ...asked("call_1", "apply", 1, question), origin };
    const other = { ...asked("call_2", "apply", 1, question), origin };
    const shipped = { ...other, origin: { type: "builtin" } } as const;
    expect(
      covered(request, [
        ["tool", other],
        ["another", other],
        ["tool", shipped],
      ]),
    ).toEqual([true, false, false]);
  });

  test.each(TOOL_PARTS)("does not count for another %s of the tool", (part) => {
    const request = asked("call_1", "sure", 1);
    const other = { ...request, subject: subjectWith({ [part]: "another" }) };
    expect(covered(request, [["tool", other]])).toEqual([false]);
  });

  test("counts for other arguments", () => {
    const request = asked("call_1", "sure", 1);
    const subject = subjectWith({ arguments: "another", binding: "another" });
    expect(covered(request, [["tool", { ...request, subject }]])).toEqual([true]);
  });

  test("does not count for a call in another folder, or with more files outside the workspace", () => {
    const request = { ...asked("call_1", "sure", 1), folder: "src", outside: ["/etc/hosts"] };
    expect(
      covered(request, [
        ["tool", request],
        ["tool", { ...request, folder: "src/agent", outside: [] }],
        ["tool", { ...request, folder: "test" }],
        ["tool", { ...request, outside: ["/etc/hosts", "/etc/passwd"] }],
      ]),
    ).toEqual([true, true, false, false]);
  });

  test("given later replaces an earlier one", () => {
    const state = new TurnState();
    const [first, second] = [asked("a", "sure", 1), asked("b", "sure", 1)];
    state.remember("tool", first, closed("a.sure.1", answeredBy(FOR_THE_TURN)));
    const later = { ...answeredBy(FOR_THE_TURN), answer: false };
    state.remember("tool", second, closed("b.sure.1", later));
    expect(state.find("tool", first)).toEqual({
      answer: false,
      from: "b.sure.1",
      by: FOR_THE_TURN,
    });
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
      const request = asked("call_1", "sure", 1);
      const response = closed("call_1.sure.1", outcome);
      state.remember("tool", request, response);
      const rebuilt = TurnState.fromEvents([toolCall("call_1", "tool"), request, response]);
      return [state, rebuilt].map((each) => each.find("tool", request));
    });
    expect(kept).toEqual(outcomes.map(() => [undefined, undefined]));
  });

  test("to a question of an older record, which has no digest, is neither kept nor used", () => {
    const { subject: _subject, ...older } = asked("call_1", "sure", 1);
    const response = closed("call_1.sure.1", answeredBy(FOR_THE_TURN));
    const rebuilt = TurnState.fromEvents([toolCall("call_1", "tool"), older, response]);
    const now = asked("call_2", "sure", 1);
    expect([rebuilt.find("tool", now), covered(now, [["tool", older]])]).toEqual([
      undefined,
      [false],
    ]);
  });

  test("is not used after the Rust original has dropped the parts of what was asked", () => {
    const request = asked("call_1", "sure", 1);
    const saved = { ...request, subject: { ...subjectWith({}), version: 0, parts: {} } };
    expect(covered(saved, [["tool", request]])).toEqual([false]);
  });
});

describe("a permission", () => {
  test("is kept for the tool, yes or no, if the person wants that", () => {
    verifies("082/remember/permissions-keyed-by-tool", "082/remember/permission-only-on-request");
    const found = (["approved", "edited", "denied"] as const).map((made) => {
      const state = new TurnState();
      state.remember("tool", REQUEST, decision({ decision: made, decidedBy: FOR_THE_TURN }));
      return [state.find("tool", permissionFor("call_2")), state.find("other", REQUEST)];
    });
    expect(found).toEqual([
      [{ answer: true, from: "call_1:run:1", by: FOR_THE_TURN }, undefined],
      [{ answer: true, from: "call_1:run:1", by: FOR_THE_TURN }, undefined],
      [{ answer: false, from: "call_1:run:1", by: FOR_THE_TURN }, undefined],
    ]);
  });

  test.each(TOOL_PARTS)("does not count for another %s of the tool", (part) => {
    const state = new TurnState();
    state.remember("tool", REQUEST, decision({ decidedBy: FOR_THE_TURN }));
    const other = { ...permissionFor("call_2"), subject: subjectWith({ [part]: "another" }) };
    expect([state.find("tool", permissionFor("call_2")), state.find("tool", other)]).toEqual([
      { answer: true, from: "call_1:run:1", by: FOR_THE_TURN },
      undefined,
    ]);
  });

  test("counts for other arguments", () => {
    const state = new TurnState();
    state.remember("tool", REQUEST, decision({ decidedBy: FOR_THE_TURN }));
    const subject = subjectWith({ arguments: "another" });
    expect(state.find("tool", { ...permissionFor("call_2"), subject })).toBeDefined();
  });

  test.each<[string, Partial<PermissionRequestEvent>]>([
    ["a network", { origin: { ...SANDBOXED, network: true } }],
    ["no sandbox", { origin: { ...SANDBOXED, confinement: "none" } }],
    ["the folder above", { folder: "." }],
    ["a folder beside it", { folder: "test" }],
    ["a file outside the workspace", { outside: ["/etc/hosts"] }],
  ])("counts, yes or no, only for calls that can do no more than was shown: %s", (_, more) => {
    counters("T-SAVED-6");
    const request = { ...REQUEST, origin: SANDBOXED, folder: "src" };
    const found = (["approved", "denied"] as const).map((made) => {
      const state = new TurnState();
      state.remember("tool", request, decision({ decision: made, decidedBy: FOR_THE_TURN }));
      const other = { ...permissionFor("call_2"), origin: SANDBOXED, folder: "src/agent" };
      const asks = [other, { ...other, ...more }];
      return asks.map((each) => state.find("tool", each)?.answer);
    });
    expect(found).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
  });

  test("for a call that can do more is kept beside the earlier one, and the later one decides about both", () => {
    const state = new TurnState();
    const [inSource, inTests] = [
      { ...REQUEST, folder: "src" },
      { ...REQUEST, folder: "test" },
    ];
    state.remember("tool", inSource, decision({ decidedBy: FOR_THE_TURN }));
    state.remember("tool", inTests, decision({ decidedBy: FOR_THE_TURN, decision: "denied" }));
    const before = [inSource, inTests].map((each) => state.find("tool", each)?.answer);
    state.remember("tool", REQUEST, decision({ decidedBy: FOR_THE_TURN, decision: "denied" }));
    const after = [inSource, inTests].map((each) => state.find("tool", each)?.answer);
    expect([before, after]).toEqual([
      [true, false],
      [false, false],
    ]);
  });

  test("is not kept if it was for one call, by another decider, for a result, or for a call in doubt", () => {
    verifies("082/remember/permission-only-on-request");
    const decisions = [
      ...DECIDERS.map((decidedBy) => [REQUEST, decision({ decidedBy })] as const),
      ...(["deliver", "rerun"] as const).map((action) => {
        const request = permissionFor("call_1", action);
        return [request, decision({ id: request.id, decidedBy: FOR_THE_TURN, action })] as const;
      }),
    ];
    const found = decisions.map(([request, made]) => {
      const state = new TurnState();
      state.remember("tool", request, made);
      const rebuilt = TurnState.fromEvents([request, made]);
      return [state, rebuilt].flatMap((each) => [
        each.find("tool", request),
        each.find("tool", REQUEST),
      ]);
    });
    expect(found).toEqual(decisions.map(() => Array.from({ length: 4 })));
  });

  test("of an older record, which has neither id nor digest, is not kept", () => {
    const made = { ...permission("call_1"), tool: "tool", decidedBy: FOR_THE_TURN };
    const { subject: _subject, ...older } = REQUEST;
    const states = [
      TurnState.fromEvents([made]),
      TurnState.fromEvents([older, made]),
      TurnState.fromEvents([REQUEST, made]),
    ];
    expect(states.map((state) => state.find("tool", REQUEST))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("is kept apart from answers, whatever the question's id is", () => {
    verifies("082/remember/permissions-kept-apart");
    const answers = new TurnState();
    const permissions = new TurnState();
    const requests = ["__permission__", "tool", "run", ""].map((name) => asked("c", name, 1));
    for (const request of requests) {
      answers.remember("tool", request, closed(request.id, answeredBy(FOR_THE_TURN)));
    }
    permissions.remember("tool", REQUEST, decision({ decidedBy: FOR_THE_TURN }));
    expect([
      answers.find("tool", REQUEST),
      ...requests.map((request) => permissions.find("tool", request)),
    ]).toEqual(Array.from({ length: 5 }));
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
    const request = asked("call_2", "sure", 1);
    expect([state.find("a", request), state.find("b", request)]).toEqual([
      { answer: true, from: "call_1.sure.1", by: FOR_THE_TURN },
      undefined,
    ]);
  });

  test("remembers nothing that was said in the conversation that it is a copy of", async () => {
    const turn = await ToolTurn.start({
      tools: [asker],
      config: { asker: { run: "ask" } },
      script: {
        answers: alwaysRemembered,
        permissions: () => ({ type: "run", isRemembered: true }),
      },
    });
    await turn.run(toolCall("call_1", "asker"));
    const requests = [...turn.recorded("inquiry_request"), ...turn.recorded("permission_request")];
    const { id } = turn.conversation;
    const states = [id, "jp-c1" as ConversationId].map((conversation) =>
      TurnState.fromEvents(turn.events, conversation),
    );
    expect(
      states.map((state) => requests.map((request) => state.find("asker", request)?.answer)),
    ).toEqual([
      [true, true],
      [undefined, undefined],
    ]);
  });

  test("does not use an id again that a decision had, though no one was asked", () => {
    const decided = { ...permission("call_1"), action: "rerun", id: "call_1:rerun:1" as InquiryId };
    const state = TurnState.fromEvents([decided as PermissionDecision]);
    expect(state.nextPermissionId("call_1", "rerun")).toBe("call_1:rerun:2");
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
      const request = { ...asked("call_1", question, 1), id, source, toolCallId: call };
      const events = [toolCall(call, toolOf(call)), request];
      if (outcome === undefined) return events;
      const response = closed(id, outcome);
      live.remember(toolOf(call), request, response);
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
      const id = live.nextPermissionId(call, fields.action);
      const tool = toolOf(call);
      const request = { ...permissionFor(call, fields.action), id, tool };
      const event = { ...permission(call), id, tool, ...fields };
      live.remember(tool, request, event);
      return [request, event];
    }),
  fc.constant<Step>(() => [answered("of.another.time")]),
);

function knowledgeOf(state: TurnState) {
  return {
    answers: TOOLS.map((tool) =>
      QUESTIONS.map((question) => state.find(tool, asked("call_1", question, 1))),
    ),
    permissions: TOOLS.map((tool) => state.find(tool, permissionFor("call_1"))),
    permissionIds: CALLS.map((call) => state.nextPermissionId(call, "run")),
    ids: CALLS.map((call) => QUESTIONS.map((question) => state.nextInquiryId(call, question))),
  };
}

function decision(fields: Partial<PermissionDecision>): PermissionDecision {
  return { ...permission("call_1"), id: REQUEST.id, tool: "tool", ...fields };
}

function permissionFor(
  toolCallId: string,
  action: PermissionAction = "run",
): PermissionRequestEvent {
  return { ...permissionRequest(toolCallId, action), tool: "tool", subject: subjectWith({}) };
}

/** Of something about a tool whose parts are these. */
function subjectWith(parts: Readonly<Record<string, string>>): SubjectDigest {
  const all = { source: "s", program: "p", file: "f", definition: "d", arguments: "a", ...parts };
  return subjectOf(JSON.stringify(all), all);
}

function answeredBy(by: Decider): Extract<InquiryOutcome, { outcome: "answered" }> {
  return { outcome: "answered", answer: true, answeredBy: by };
}

function asked(
  toolCallId: string,
  questionId: string,
  attempt: number,
  question: Partial<InquiryQuestion> = {},
): InquiryRequest {
  const id = `${toolCallId}.${questionId}.${attempt}` as InquiryId;
  const source = { source: "tool", name: "tool" } as const;
  const request = { ...inquiry(id, question), source, toolCallId, questionId };
  return { ...request, timestamp: at(attempt), subject: subjectWith({}) };
}

const alwaysYes = () => ({ answer: true });
const alwaysRemembered = () => ({ answer: true, isRemembered: true });

function idsOf(turn: ToolTurn, type: "inquiry_request" | "inquiry_response"): string[] {
  return turn.recorded(type).map(({ id }) => id);
}

function deciderOf(event: InquiryOutcome): Decider | undefined {
  return "answeredBy" in event ? event.answeredBy : undefined;
}
