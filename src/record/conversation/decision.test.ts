import { describe, expect, test } from "vitest";
import { booleanQuestion, secretQuestion, selectQuestion, textQuestion } from "../tool/index.ts";
import { at, inquiry } from "./events.fixture.ts";
import {
  type AnswerEvent,
  type Decidable,
  grantOf,
  isActing,
  questionAbout,
  type Reply,
  replyToEvent,
} from "./decision.ts";
import { fitReply } from "./judge.ts";
import type { InquiryId } from "./event.ts";

const USER = { kind: "user", channel: "desk", name: "Ada" } as const;
const FOR_THE_TURN = { ...USER, scope: "turn" } as const;
const RESULT = { content: "done", isError: true };

const question = (fields: Partial<Decidable> = {}): Decidable => ({
  kind: "question",
  id: "a.q.1" as InquiryId,
  tool: "write",
  toolCallId: "a",
  question: booleanQuestion("q", "Sure?"),
  digest: "d1",
  ...fields,
});

const decidable = (kind: "permission" | "delivery" | "in_doubt"): Decidable => ({
  kind,
  id: "a:run:1" as InquiryId,
  tool: "write",
  toolCallId: "a",
  question: questionAbout(kind, "write"),
  digest: "d1",
  ...(kind === "delivery" && { result: RESULT }),
});

function recorded(about: Decidable, reply: Reply | { readonly isCancelled: true }): AnswerEvent {
  return replyToEvent(about, reply, { by: USER, at: at(1) });
}

const CANCELLED = { isCancelled: true } as const;

describe("a reply to a question", () => {
  const response = { type: "inquiry_response", timestamp: at(1), id: "a.q.1", digest: "d1" };
  const choice = selectQuestion("q", "Which?", { options: ["a", "b"], allowsOther: true });

  test.each<[string, Decidable, Reply | { readonly isCancelled: true }, object]>([
    ["an answer", question(), { answer: true }, { answer: true, answeredBy: USER }],
    [
      "an answer for the whole turn, with a note",
      question(),
      { answer: false, isRemembered: true, note: "Not today." },
      { answer: false, note: "Not today.", answeredBy: FOR_THE_TURN },
    ],
    ["an empty note", question(), { answer: true, note: "" }, { answer: true, answeredBy: USER }],
    [
      "an option",
      question({ question: choice }),
      { answer: "a" },
      { answer: "a", answeredBy: USER },
    ],
    [
      "words instead of an option",
      question({ question: choice }),
      { answer: "c" },
      { answer: "c", isOther: true, answeredBy: USER },
    ],
  ])("is recorded with who gave it: %s", (_, about, reply, expected) => {
    expect(recorded(about, reply)).toEqual({ ...response, outcome: "answered", ...expected });
  });

  test("is recorded without the answer and the note if it is a secret", () => {
    const about = question({ question: secretQuestion("q", "Key?") });
    const event = recorded(about, { answer: "hunter2", note: "hunter2" });
    expect(event).toEqual({ ...response, outcome: "redacted", answeredBy: USER });
  });

  test("may be that there will be none", () => {
    expect(recorded(question(), CANCELLED)).toEqual({
      ...response,
      outcome: "cancelled",
      reason: "user",
    });
  });

  test("has no digest if the question has none, as in an older record", () => {
    const { digest: _digest, ...older } = response;
    expect(recorded(question({ digest: undefined }), { answer: true })).toEqual({
      ...older,
      outcome: "answered",
      answer: true,
      answeredBy: USER,
    });
  });

  test("holds for the turn only if a person gave it", () => {
    const by = { kind: "answers_file", entry: "answers[0]" } as const;
    const reply = { answer: true, isRemembered: true };
    expect(replyToEvent(question(), reply, { by, at: at(1) })).toMatchObject({ answeredBy: by });
  });
});

describe("a reply about a call", () => {
  test.each<[string, Decidable, Reply | { readonly isCancelled: true }, object]>([
    ["it may run", decidable("permission"), { answer: true }, { decision: "approved" }],
    [
      "it and later ones may run",
      decidable("permission"),
      { answer: true, isRemembered: true },
      { decision: "approved", decidedBy: FOR_THE_TURN },
    ],
    [
      "it may run with other arguments",
      decidable("permission"),
      { answer: true, arguments: { path: "b" } },
      { decision: "edited", arguments: { path: "b" } },
    ],
    [
      "it may not run, for a reason",
      decidable("permission"),
      { answer: false, note: "Use sed.", arguments: { path: "b" } },
      { decision: "denied", reason: "Use sed." },
    ],
    [
      "the prompt was closed",
      decidable("permission"),
      CANCELLED,
      { decision: "denied", cause: "closed" },
    ],
    ["its result is shown", decidable("delivery"), { answer: true }, { decision: "approved" }],
    [
      "its result is shown as it was in the editor",
      decidable("delivery"),
      { answer: true, content: "done" },
      { decision: "approved" },
    ],
    [
      "its result was edited, and still is an error",
      decidable("delivery"),
      { answer: true, content: "less" },
      { decision: "edited", result: { content: "less", isError: true } },
    ],
    ["its result is withheld", decidable("delivery"), { answer: false }, { decision: "denied" }],
    ["it runs again", decidable("in_doubt"), { answer: "run" }, { decision: "approved" }],
    ["it does not run again", decidable("in_doubt"), { answer: "skip" }, { decision: "denied" }],
    [
      "it has this result",
      decidable("in_doubt"),
      { answer: "It was done." },
      { decision: "edited", result: { content: "It was done.", isError: false } },
    ],
    [
      "the question was closed",
      decidable("in_doubt"),
      CANCELLED,
      { decision: "denied", cause: "closed" },
    ],
  ])("is recorded as a decision: %s", (_, about, reply, expected) => {
    const actions = { permission: "run", delivery: "deliver", in_doubt: "rerun" } as const;
    if (about.kind === "question") throw new Error("It is about a call.");
    expect(recorded(about, reply)).toEqual({
      type: "permission_decision",
      timestamp: at(1),
      id: "a:run:1",
      toolCallId: "a",
      tool: "write",
      action: actions[about.kind],
      decidedBy: USER,
      digest: "d1",
      ...expected,
    });
  });
});

test.each<[string, Decidable, Reply, string | undefined]>([
  ["a permission takes yes", decidable("permission"), { answer: true }, undefined],
  [
    "a permission takes no text",
    decidable("permission"),
    { answer: "yes" },
    "expected true or false, got string",
  ],
  ["a call in doubt takes any text", decidable("in_doubt"), { answer: "It was done." }, undefined],
  [
    "a call in doubt takes no number",
    decidable("in_doubt"),
    { answer: 3 },
    'expected one of "run", "skip"',
  ],
  [
    "a question takes its own type",
    question({ question: textQuestion("q", "Name?") }),
    { answer: false },
    "expected text, got boolean",
  ],
])("a reply is checked like an answer to a question: %s", (_, about, reply, problem) => {
  const misfit = problem === undefined ? undefined : { code: "misfit", problem };
  expect(fitReply(about, reply)).toEqual(misfit);
});

test("arguments come only with a permission, and a result only with a delivery", () => {
  const about = [question(), ...(["permission", "delivery", "in_doubt"] as const).map(decidable)];
  const edits = [{ arguments: { a: 1 } }, { content: "done" }];
  const codes = about.map(({ kind, ...rest }) => {
    const answer = kind === "in_doubt" ? "run" : true;
    return edits.map((edit) => fitReply({ kind, ...rest }, { answer, ...edit })?.code);
  });
  expect(codes).toEqual([
    ["not_editable", "no_result"],
    [undefined, "no_result"],
    ["not_editable", undefined],
    ["not_editable", "no_result"],
  ]);
});

test("a question acts if it is exclusive or says so, unless the assistant asks it", () => {
  const assistant = { source: { source: "assistant" } } as const;
  expect([
    isActing(inquiry("a")),
    isActing(inquiry("a", { exclusive: true })),
    isActing(inquiry("a", { acts: true })),
    isActing({ ...inquiry("a", { exclusive: true }), ...assistant }),
    isActing({ ...inquiry("a", { acts: true }), ...assistant }),
  ]).toEqual([false, true, true, false, true]);
});

describe("what a person adds to a yes", () => {
  const grant = {
    rule: { mode: "unattended", arg: "/path", prefix: "src" },
    until: "turn",
  } as const;
  const acting = question({ question: booleanQuestion("q", "Sure?", { exclusive: true }) });

  test.each<[string, Decidable]>([
    ["a permission", decidable("permission")],
    ["a question that acts", acting],
  ])("is on record with it: %s", (_, about) => {
    const event = recorded(about, { answer: true, grant });
    expect([event.grant, grantOf(event)]).toEqual([grant, grant]);
  });

  test.each<[string, Decidable, Reply]>([
    ["a no", decidable("permission"), { answer: false, grant }],
    ["other arguments", decidable("permission"), { answer: true, arguments: { a: 1 }, grant }],
    ["the delivery of a result", decidable("delivery"), { answer: true, grant }],
    ["a call in doubt", decidable("in_doubt"), { answer: "run", grant }],
    ["a question that does not act", question(), { answer: true, grant }],
  ])("is left out with anything else: %s", (_, about, reply) => {
    expect(recorded(about, reply)).not.toHaveProperty("grant");
  });

  test("is left out if no person said it", () => {
    const by = { kind: "answers_file", entry: "answers[0]" } as const;
    const event = replyToEvent(decidable("permission"), { answer: true, grant }, { by, at: at(1) });
    expect(event).not.toHaveProperty("grant");
  });

  test("counts for nothing if a newer version has recorded it in a way that is not known", () => {
    const event = { ...recorded(decidable("permission"), { answer: true }), grant: { unknown: 1 } };
    expect(grantOf(event)).toBeUndefined();
  });
});
