import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import {
  answered,
  at,
  cancelled,
  closed,
  inquiry,
  REASONS,
} from "../conversation/events.fixture.ts";
import {
  type ConversationId,
  type Decider,
  describeDecider,
  timestampToMilliseconds,
} from "../conversation/index.ts";
import type { InquirySource } from "../tool/index.ts";
import {
  describeAnswer,
  describeEnd,
  describeEscalation,
  describeOutcome,
  describeSource,
  type InquiryRow,
  inquiryState,
  inquiryToJson,
} from "./inquiry.ts";

const CONVERSATION = "jp-c17673230450" as ConversationId;
const person: Decider = { kind: "user", channel: "terminal" };

function row(fields: Partial<InquiryRow>): InquiryRow {
  return { conversation: CONVERSATION, turn: 0, request: inquiry("call_1.go.1"), ...fields };
}

describe("the outcome of a question in words", () => {
  test.each([
    ["a yes", true, "Answer: true"],
    ["a text, which keeps its quotes", "next", 'Answer: "next"'],
    ["a list", ["a", 1, null], 'Answer: ["a",1,null]'],
    ["nothing", null, "Answer: null"],
    ["an escape sequence", "\x1b[2J\u202e", String.raw`Answer: "\u001b[2J\u202e"`],
  ])("is the answer in JSON if it was %s", (_what, answer, words) => {
    expect(describeOutcome(answered("a", answer))).toBe(words);
  });

  test("is a placeholder if the answer is redacted", () => {
    expect(describeOutcome(closed("a", { outcome: "redacted" }))).toBe("Answer: <redacted>");
  });

  test.each(REASONS)("is the tag of the reason %s if there is no answer", (reason) => {
    expect(describeOutcome(cancelled("a", reason))).toBe(`Cancelled (${reason})`);
  });

  test("is the recorded tag if the reason is unknown", () => {
    expect(describeOutcome(cancelled("a", { unknown: "solar_flare" }))).toBe(
      "Cancelled (solar_flare)",
    );
  });
});

test("a model's reason stands with its answer, on one line", () => {
  const outcome = {
    outcome: "answered",
    answer: false,
    answerReason: "It drops\na table.",
    answeredBy: { kind: "assistant", model: "test/judge" },
  } as const;
  expect([describeOutcome(outcome), describeAnswer(outcome)]).toEqual([
    String.raw`Answer: false, reason: "It drops\na table."`,
    String.raw`no, reason: "It drops\na table." (assistant, via test/judge)`,
  ]);
});

describe("an open question with a deadline", () => {
  const request = { ...inquiry("call_1.go.1"), deadline: at(60) };
  const escalation = {
    type: "inquiry_escalation",
    timestamp: at(1),
    id: request.id,
    outcome: "cancelled",
    reason: "backend_error",
    problem: "no key",
  } as const;

  function endAt(seconds: number, fields: Partial<InquiryRow> = {}): string {
    const now = new Date(timestampToMilliseconds(at(seconds)));
    return describeEnd(row({ request, ...fields }), now);
  }

  test("is overdue from then on, unless it was answered", () => {
    const response = answered("call_1.go.1");
    expect([endAt(59), endAt(60), endAt(60, { response })]).toEqual([
      "unanswered",
      "unanswered, overdue",
      "yes",
    ]);
  });

  test("that was the model's is not overdue once a person has to answer", () => {
    expect([endAt(60, { escalation }), describeEscalation(escalation)]).toEqual([
      "unanswered",
      'cancelled (backend_error): "no key"',
    ]);
  });

  test("has both in JSON", () => {
    expect(inquiryToJson(row({ request }))).toMatchObject({ deadline: at(60) });
    expect(inquiryToJson(row({ request, escalation }))).toMatchObject({
      escalation: { outcome: "cancelled", reason: "backend_error", problem: "no key" },
    });
  });
});

test.each<[InquirySource, string]>([
  [{ source: "tool", name: "fs_modify_file" }, "fs_modify_file"],
  [{ source: "other", name: "a plugin" }, "a plugin"],
  [{ source: "assistant" }, "assistant"],
  [{ source: "user" }, "user"],
])("who asked is described by name, otherwise by kind: %j", (source, words) => {
  expect(describeSource(source)).toBe(words);
});

test.each<[Decider, string]>([
  [person, "user (terminal)"],
  [{ kind: "assistant", model: "ollama/qwen3" }, "assistant (ollama/qwen3)"],
  [{ kind: "config", key: "a.b.answer" }, "config (a.b.answer)"],
  [{ kind: "policy", key: "a.b.run" }, "policy (a.b.run)"],
  [{ kind: "remembered", from: "call_1.go.1" }, "remembered (call_1.go.1)"],
  [{ kind: "default" }, "default"],
  [{ kind: "answers_file", entry: "answers[3]" }, "answers file (answers[3])"],
  [{ kind: "unknown", raw: { kind: "committee", size: 3 } }, "committee"],
  [{ kind: "unknown", raw: { size: 3 } }, "unknown"],
])("who answered is described with the channel: %j", (decider, words) => {
  expect(describeDecider(decider)).toBe(words);
});

test.each<[Parameters<typeof describeAnswer>[0], string]>([
  [
    closed("a", { outcome: "answered", answer: true, answeredBy: person }),
    "yes (you, via terminal)",
  ],
  [closed("a", { outcome: "answered", answer: false }), "no"],
  [answered("a", "next"), '"next"'],
  [
    closed("a", {
      outcome: "answered",
      answer: true,
      answeredBy: { kind: "remembered", from: "call_1.go.1" },
    }),
    "yes (you said so earlier in this turn)",
  ],
  [
    closed("a", { outcome: "redacted", answeredBy: { kind: "config", key: "a.b.answer" } }),
    "<redacted> (config: a.b.answer)",
  ],
  [cancelled("a", "user"), "cancelled (user)"],
])("an answer is described for people: %j", (response, words) => {
  expect(describeAnswer(response)).toBe(words);
});

test("a question without a response is unanswered", () => {
  verifies("082/reader/every-reader-handles-all-outcomes");
  expect([
    inquiryState(row({})),
    inquiryState(row({ response: answered("a") })),
    inquiryState(row({ response: closed("a", { outcome: "redacted" }) })),
    inquiryState(row({ response: cancelled("a", "user") })),
  ]).toEqual(["unanswered", "answered", "redacted", "cancelled"]);
});

describe("a question as JSON", () => {
  test("has everything the record has, under the record's names", () => {
    const request = {
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
    };
    const response = {
      ...closed("call_1.go.1", { outcome: "answered", answer: "a", answeredBy: person }),
      timestamp: at(9),
    };
    expect(inquiryToJson(row({ turn: 2, request, response }))).toEqual({
      conversation: CONVERSATION,
      turn: 3,
      id: "call_1.go.1",
      tool_call_id: "call_1",
      question_id: "go",
      source: { source: "tool", name: "a_tool" },
      question: {
        text: "Which?",
        context: "a diff",
        answer_type: { type: "select", options: [{ value: "a", description: "first" }] },
        default: "a",
        exclusive: true,
        persistence: "none",
      },
      outcome: "answered",
      answer: "a",
      answered_by: { kind: "user", channel: "terminal" },
      asked_at: at(0),
      answered_at: at(9),
    });
  });

  const common = {
    conversation: CONVERSATION,
    turn: 1,
    id: "call_1.go.1",
    source: { source: "tool", name: "a_tool" },
    question: { text: "Go on?", answer_type: { type: "boolean" } },
    asked_at: at(0),
  };

  test("has neither answer nor answerer if it is unanswered", () => {
    expect(inquiryToJson(row({}))).toEqual({ ...common, outcome: "unanswered" });
  });

  test("has the reason if it was cancelled", () => {
    const response = cancelled("call_1.go.1", { unknown: "solar_flare" });
    expect(inquiryToJson(row({ response }))).toEqual({
      ...common,
      outcome: "cancelled",
      reason: "solar_flare",
      answered_at: at(0),
    });
  });

  test("says who answered, but not what, if the answer is redacted", () => {
    const response = closed("call_1.go.1", { outcome: "redacted", answeredBy: person });
    expect(inquiryToJson(row({ response }))).toEqual({
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
    expect(inquiryToJson(row({ response }))).toEqual({
      ...common,
      outcome: "answered",
      answer: null,
      answered_by: raw,
      answered_at: at(0),
    });
  });
});
