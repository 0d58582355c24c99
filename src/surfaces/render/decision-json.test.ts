import { describe, expect, test } from "vitest";
import {
  answered,
  at,
  attemptStart,
  cancelled,
  closed,
  entriesOf,
  inquiry,
  permission,
  toolCall,
  toolStep,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type Decider,
  InquiryLog,
  type InquiryId,
  type InquiryRequest,
  type PermissionDecision,
  type PermissionRequestEvent,
} from "../../record/conversation/index.ts";
import { decisionToJson } from "./decision-json.ts";
import type { DecisionJson } from "./decision-json-types.ts";

const PLACE = { workspace: "/project", conversation: "jp-c17673230450" };
const person: Decider = { kind: "user", channel: "terminal" };
const DIGEST = "5".repeat(64);

/** The decisions that the record has after these events. */
function allOf(...events: readonly ConversationEvent[]): readonly DecisionJson[] {
  const log = new InquiryLog();
  const logged = [...log.read(entriesOf(turnStart(), ...events)), ...log.end()];
  return logged.map((each) => decisionToJson(each, PLACE));
}

function jsonOf(...events: readonly ConversationEvent[]): DecisionJson | undefined {
  return allOf(...events)[0];
}

const CALL = toolCall("call_1", "deploy", { where: "live" });
const SUBJECT = {
  subject: { digest: DIGEST, version: 1, parts: {} },
  origin: { type: "local", command: "sh  deploy.sh" },
  folder: "tools",
} as const;
const QUESTION = inquiry("call_1.go.1");
const REQUEST: PermissionRequestEvent = {
  type: "permission_request",
  timestamp: at(1),
  id: "call_1:run:1" as InquiryId, // As a turn makes them.
  toolCallId: "call_1",
  tool: "deploy",
  action: "run",
  arguments: { where: "live" },
  ...SUBJECT,
};
const APPROVED: PermissionDecision = {
  ...permission("call_1"),
  id: REQUEST.id,
  timestamp: at(2),
  tool: "deploy",
  digest: DIGEST,
};

describe("a question", () => {
  test("has everything that the record has, under the record's names", () => {
    const request: InquiryRequest = {
      ...inquiry("call_1.go.1", {
        text: "Which?",
        context: "a diff",
        answerType: { type: "select", options: [{ value: "a", description: "first" }] },
        default: "a",
        exclusive: true,
        persistence: "none",
      }),
      toolCallId: "call_1",
      questionId: "go",
      for: "ada",
      personIds: { ada: "p_1" },
      takes: { turn: { code: "label", label: "all edits" }, note: "any" },
      deadline: at(60),
      ...SUBJECT,
    };
    const answeredBy = { ...person, name: "ada", personId: "p_1", onBehalfOf: "bo" } as const;
    const response = {
      ...closed("call_1.go.1", { outcome: "answered", answer: "a", answeredBy }),
      timestamp: at(9),
      digest: DIGEST,
    } as const;
    expect(jsonOf(CALL, request, response)).toEqual({
      ...PLACE,
      id: "call_1.go.1",
      kind: "question",
      tool: "deploy",
      tool_call_id: "call_1",
      question_id: "go",
      label: "a_tool",
      source: { source: "tool", name: "a_tool" },
      origin: { type: "local", command: "sh  deploy.sh" },
      folder: "tools",
      arguments: { where: "live" },
      question: {
        text: "Which?",
        context: "a diff",
        answer_type: { type: "select", options: [{ value: "a", description: "first" }] },
        default: "a",
        exclusive: true,
        persistence: "none",
      },
      acts: true,
      digest: DIGEST,
      asked_at: at(0),
      deadline: at(60),
      for: "ada",
      person_ids: { ada: "p_1" },
      takes: { turn: { code: "label", label: "all edits" }, note: "any" },
      turn: 1,
      outcome: "answered",
      answer: "a",
      answered_by: {
        kind: "user",
        channel: "terminal",
        name: "ada",
        person_id: "p_1",
        on_behalf_of: "bo",
      },
      answered_at: at(9),
      answered_digest: DIGEST,
    });
  });

  const common = {
    ...PLACE,
    id: "call_1.go.1",
    kind: "question",
    tool: "a_tool",
    label: "a_tool",
    source: { source: "tool", name: "a_tool" },
    question: { text: "Go on?", answer_type: { type: "boolean" } },
    acts: false,
    asked_at: at(0),
    turn: 1,
  };

  test("has neither an answer nor an answerer if it is unanswered", () => {
    expect(jsonOf(QUESTION)).toEqual({ ...common, outcome: "unanswered" });
  });

  test("has the reason if it was cancelled", () => {
    expect(jsonOf(QUESTION, cancelled("call_1.go.1", { unknown: "solar_flare" }))).toEqual({
      ...common,
      outcome: "cancelled",
      reason: "solar_flare",
      answered_at: at(0),
    });
  });

  test("says who answered, but not what, if the answer is redacted", () => {
    const response = closed("call_1.go.1", { outcome: "redacted", answeredBy: person });
    expect(jsonOf(QUESTION, response)).toEqual({
      ...common,
      outcome: "redacted",
      answered_by: { kind: "user", channel: "terminal" },
      answered_at: at(0),
    });
  });

  test("keeps an answer of null, and an answerer of an unknown kind", () => {
    const raw = { kind: "committee", size: 3 };
    const response = closed("call_1.go.1", {
      outcome: "answered",
      answer: null,
      answeredBy: { kind: "unknown", raw },
    });
    expect(jsonOf(QUESTION, response)).toEqual({
      ...common,
      outcome: "answered",
      answer: null,
      answered_by: raw,
      answered_at: at(0),
    });
  });

  test("has the model's outcome apart from the question, whether it waits or has ended", () => {
    const request = { ...QUESTION, toolCallId: "call_1" };
    const escalation = {
      type: "inquiry_escalation",
      timestamp: at(1),
      id: request.id,
      outcome: "answered",
      answer: false,
      answerReason: "Too risky.",
      answeredBy: { kind: "assistant", model: "ollama/qwen3" },
      deadline: at(60),
    } as const;
    const asked = {
      question: { text: "Go on?", answer_type: { type: "boolean" } },
      deadline: at(60),
      escalation: {
        outcome: "answered",
        answer: false,
        answer_reason: "Too risky.",
        answered_by: { kind: "assistant", model: "ollama/qwen3" },
      },
    };
    const turn = [CALL, attemptStart("call_1"), request, escalation];
    expect([jsonOf(...turn), jsonOf(...turn, answered(request.id))]).toMatchObject([
      { ...asked, is_live: false },
      { ...asked, outcome: "answered" },
    ]);
  });
});

describe("a decision about a call", () => {
  const common = {
    ...PLACE,
    id: REQUEST.id,
    kind: "permission",
    tool: "deploy",
    tool_call_id: "call_1",
    label: "deploy",
    origin: { type: "local", command: "sh  deploy.sh" },
    folder: "tools",
    arguments: { where: "live" },
    question: {
      text: "Run deploy?",
      answer_type: { type: "boolean" },
      exclusive: true,
      persistence: "none",
      acts: true,
    },
    acts: true,
    digest: DIGEST,
    asked_at: at(1),
  };
  const decided = {
    turn: 1,
    answered_by: { kind: "user", channel: "tty" },
    answered_at: at(2),
    answered_digest: DIGEST,
  };

  test("says what was decided, by whom and why, in codes", () => {
    const response: PermissionDecision = {
      ...APPROVED,
      decision: "denied",
      cause: "unavailable",
      problem: "no key",
      reason: "no",
    };
    expect(jsonOf(CALL, REQUEST, response)).toEqual({
      ...common,
      ...decided,
      outcome: "denied",
      reason: "no",
      cause: "unavailable",
      problem: "no key",
    });
  });

  test("has the edited arguments, and the digest that was decided with them", () => {
    const digest = "6".repeat(64);
    const edited = { decision: "edited", arguments: { where: "test" }, digest } as const;
    expect(jsonOf(CALL, REQUEST, { ...APPROVED, ...edited })).toEqual({
      ...common,
      ...decided,
      outcome: "edited",
      edited_arguments: { where: "test" },
      answered_digest: digest,
    });
  });

  test("says what was decided, and since when and why it is void", () => {
    const again = { ...REQUEST, id: "call_1:run:2" as InquiryId, replaces: REQUEST.id };
    const madeVoid = {
      type: "decision_void",
      timestamp: at(3),
      id: REQUEST.id,
      changed: ["file"],
    } as const;
    expect(allOf(CALL, REQUEST, APPROVED, madeVoid, again)).toEqual([
      { ...common, ...decided, outcome: "approved", void: ["file"], void_at: at(3) },
      { ...common, id: again.id, replaces: REQUEST.id, changed: ["file"], is_live: false },
    ]);
  });

  test("has the result that waited, and the one that was given instead", () => {
    const { arguments: _, ...request } = REQUEST;
    const waiting = {
      ...request,
      action: "deliver",
      result: { content: "a page", isError: true },
    } as const;
    const edited: PermissionDecision = {
      ...APPROVED,
      action: "deliver",
      decision: "edited",
      result: { content: "a line", isError: true },
    };
    expect(jsonOf(CALL, waiting, edited)).toMatchObject({
      kind: "delivery",
      acts: false,
      result: { content: "a page", is_error: true },
      edited_content: "a line",
    });
  });

  test("has what the tool's own check said, and the steps that were finished", () => {
    const request = { ...REQUEST, action: "rerun", check: "unknown" } as const;
    const decision: PermissionDecision = { ...permission("call_1"), action: "rerun" };
    const found = { ...decision, check: "not_done", decidedBy: { kind: "tool" } } as const;
    const turn = [CALL, attemptStart("call_1"), toolStep("call_1", "pay")];
    expect([
      jsonOf(...turn, request, { ...decision, id: request.id }),
      jsonOf(...turn, found),
    ]).toMatchObject([
      {
        kind: "in_doubt",
        check: "unknown",
        answered_by: { kind: "user" },
        question: { context: expect.stringContaining('not run again: "pay"') as string },
      },
      { kind: "in_doubt", check: "not_done", answered_by: { kind: "tool" } },
    ]);
  });
});
