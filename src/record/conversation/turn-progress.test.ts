import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import type {
  ConversationEvent,
  InquiryId,
  InquiryRequest,
  PermissionAction,
  PermissionDecision,
  PermissionRequestEvent,
} from "./event.ts";
import {
  answered,
  at,
  attemptStart,
  cancelled,
  chatRequest,
  decisionVoid,
  inquiry,
  message,
  permission,
  permissionRequest,
  reasoning,
  replyFailure,
  subjectOf,
  toolCall,
  toolResult,
  toolStep,
  turnEnd,
  turnStart,
} from "./events.fixture.ts";
import { canGoOn, describeOpenTurn, pendingOf, readTurnProgress } from "./turn-progress.ts";

const CHECKED = { ...chatRequest("Hi", {}), isChecked: true };
const CORRECTION = { ...chatRequest("Again"), correction: "not JSON" };
const RESULT = { content: "done", isError: false };
const POLICY = { kind: "policy", key: "conversation.tools.a_tool.run" } as const;
const OLDER_START = { ...permission("a"), decidedBy: POLICY };

const asks = (id: string, fields: Partial<InquiryRequest> = {}): InquiryRequest => ({
  ...inquiry(id),
  toolCallId: id.split(".")[0] ?? "",
  questionId: id.split(".")[1] ?? "",
  ...fields,
});

const waiting = { ...permissionRequest("a", "deliver"), result: RESULT };

/** How far call `a` has come after these events. */
function progressOf(...events: readonly ConversationEvent[]) {
  const { calls } = readTurnProgress([turnStart(), chatRequest("Hi"), toolCall("a"), ...events]);
  const [call] = calls;
  if (call === undefined) throw new Error("The call is not open.");
  return call;
}

function pendingAfter(...events: readonly ConversationEvent[]) {
  const progress = readTurnProgress([turnStart(), chatRequest("Hi"), toolCall("a"), ...events]);
  return pendingOf(progress).map(({ kind, id }) => [kind, id]);
}

describe("what a turn needs next", () => {
  test.each<[string, string, readonly ConversationEvent[]]>([
    ["a reply, after the request", "request", [chatRequest("Hi")]],
    ["a reply, after a thought", "request", [chatRequest("Hi"), reasoning("Hm")]],
    ["nothing, after a reply", "done", [chatRequest("Hi"), message("Hello")]],
    ["nothing, after a reply that no one checks", "done", [chatRequest("Hi", {}), message("1")]],
    ["a check of its answer", "check", [CHECKED, message("1")]],
    ["nothing, after the check", "done", [CHECKED, message("1"), turnEnd()]],
    ["a reply, after a correction", "request", [CHECKED, message("1"), CORRECTION]],
    [
      "a check, after the second answer",
      "check",
      [CHECKED, message("1"), CORRECTION, message("2")],
    ],
    ["its calls, while one is open", "calls", [chatRequest("Hi"), message("So"), toolCall("a")]],
    [
      "its calls, while one of two is open",
      "calls",
      [chatRequest("Hi"), toolCall("a"), toolCall("b"), toolResult("a")],
    ],
    [
      "a reply, after the last result",
      "request",
      [chatRequest("Hi"), toolCall("a"), toolResult("a")],
    ],
    [
      "a reply, after a message that the user added",
      "request",
      [chatRequest("Hi"), message("So"), chatRequest("Rather not")],
    ],
    ["nothing, after its end", "done", [chatRequest("Hi"), toolCall("a"), turnEnd("discarded")]],
    ["nothing, if no one has asked a model", "done", [toolCall("a"), toolResult("a")]],
    ["nothing, if it is empty", "done", []],
  ])("is read from what is missing: %s", (_, next, events) => {
    verifies("023/detect/by-what-is-missing");
    expect(readTurnProgress([turnStart(), ...events]).next).toBe(next);
  });
});

describe("a turn without a reply", () => {
  const HI = [turnStart(), chatRequest("Hi")];
  const RESUMED = { type: "turn_resume", timestamp: at(0) } as const;

  test.each<[string, boolean, readonly ConversationEvent[]]>([
    ["after the error", true, [...HI, replyFailure()]],
    ["after a thought and the error", true, [...HI, reasoning("Hm"), replyFailure()]],
    ["after a result and the error", true, [...HI, toolCall("a"), toolResult("a"), replyFailure()]],
    ["after the next error", true, [...HI, replyFailure(), RESUMED, replyFailure()]],
    ["without an error", false, HI],
    ["once another process goes on with it", false, [...HI, replyFailure(), RESUMED]],
    ["once it has another message", false, [...HI, replyFailure(), chatRequest("So?")]],
    ["once there is a result", false, [...HI, replyFailure(), toolCall("a"), toolResult("a")]],
  ])("has failed only as long as nothing has happened since: %s", (_, hasFailed, events) => {
    expect(readTurnProgress(events)).toMatchObject({ next: "request", hasFailed });
  });
});

describe("a call", () => {
  test.each<[string, readonly ConversationEvent[]]>([
    ["once it has started", [attemptStart("a")]],
    [
      "once it has started with an answer",
      [attemptStart("a"), asks("a.q.1"), answered("a.q.1"), attemptStart("a")],
    ],
    [
      "if its question is bound to the process",
      [attemptStart("a"), asks("a.q.1", { isBound: true })],
    ],
    ["while a person is asked about it", [attemptStart("a"), permissionRequest("a", "rerun")]],
    ["if an older version let it run", [OLDER_START]],
    ["if an older version gave it its answer", [permission("a"), asks("a.q.1"), answered("a.q.1")]],
  ])("is in doubt if its tool may have run: %s", (_, events) => {
    expect(progressOf(...events).isInDoubt).toBe(true);
  });

  test("is in doubt with each call that shares its id", () => {
    const { calls } = readTurnProgress([toolCall("a"), toolCall("a"), attemptStart("a")]);
    expect(calls.map(({ isInDoubt }) => isInDoubt)).toEqual([true, true]);
  });
});

describe("a call", () => {
  test.each<[string, readonly ConversationEvent[]]>([
    ["before it has started", [permissionRequest("a"), permission("a")]],
    ["while its question is open", [attemptStart("a"), asks("a.q.1")]],
    [
      "once its question is answered elsewhere",
      [attemptStart("a"), asks("a.q.1"), answered("a.q.1")],
    ],
    ["once its result waits", [attemptStart("a"), waiting]],
    ["if its question was open in an older version", [permission("a"), asks("a.q.1")]],
  ])("is not in doubt if its tool cannot be running: %s", (_, events) => {
    expect(progressOf(...events).isInDoubt).toBe(false);
  });
});

describe("what waits for a person", () => {
  test.each<[string, readonly ConversationEvent[], readonly (readonly string[])[]]>([
    ["a permission", [permissionRequest("a")], [["permission", "a:run:1"]]],
    ["no permission that is given", [permissionRequest("a"), permission("a")], []],
    [
      "each open question of the last attempt",
      [attemptStart("a"), asks("a.q.1"), asks("a.r.1"), answered("a.q.1")],
      [["question", "a.r.1"]],
    ],
    [
      "no question that was cancelled",
      [attemptStart("a"), asks("a.q.1"), cancelled("a.q.1", "user")],
      [],
    ],
    ["a delivery", [attemptStart("a"), waiting], [["delivery", "a:deliver:1"]]],
    [
      "no delivery that is decided",
      [attemptStart("a"), waiting, { ...permission("a"), action: "deliver" }],
      [],
    ],
    ["a doubt, under the id that it will get", [attemptStart("a")], [["in_doubt", "a:rerun:1"]]],
    [
      "a doubt that a person was asked about, once",
      [attemptStart("a"), permissionRequest("a", "rerun")],
      [["in_doubt", "a:rerun:1"]],
    ],
    [
      "no doubt that is decided",
      [attemptStart("a"), permissionRequest("a", "rerun"), { ...permission("a"), action: "rerun" }],
      [],
    ],
    [
      "no doubt that is decided about a call that an older version let run",
      [OLDER_START, permissionRequest("a", "rerun"), { ...permission("a"), action: "rerun" }],
      [],
    ],
    [
      "a new doubt about a call that was run again",
      [
        attemptStart("a"),
        permissionRequest("a", "rerun"),
        { ...permission("a"), action: "rerun" },
        attemptStart("a"),
      ],
      [["in_doubt", "a:rerun:2"]],
    ],
    ["nothing of a call that has ended", [permissionRequest("a"), toolResult("a")], []],
    ["nothing of a turn that has ended", [permissionRequest("a"), turnEnd("discarded")], []],
    [
      "nothing of a call that is gone",
      [permissionRequest("b"), attemptStart("b"), asks("b.q.1")],
      [],
    ],
  ])("is read from the events of the turn: %s", (_, events, pending) => {
    expect(pendingAfter(...events)).toEqual(pending);
  });
});

test("a call keeps the answers of all attempts, and knows what the last one asked", () => {
  const call = progressOf(
    attemptStart("a"),
    asks("a.q.1"),
    answered("a.q.1"),
    attemptStart("a"),
    asks("a.r.1"),
  );
  expect({
    attempts: call.attempts,
    questions: call.questions.map(({ request, response }) => [request.id, response?.outcome]),
    asked: call.asked.map(({ request }) => request.id),
  }).toEqual({
    attempts: 2,
    questions: [
      ["a.q.1", "answered"],
      ["a.r.1", undefined],
    ],
    asked: ["a.r.1"],
  });
});

/** The request about call `a` that was made for the nth time. */
function asksAgain(
  action: PermissionAction,
  count: number,
  fields: Partial<PermissionRequestEvent> = {},
): PermissionRequestEvent {
  const replaces = `a:${action}:${count - 1}` as InquiryId;
  const id = `a:${action}:${count}` as InquiryId;
  return { ...permissionRequest("a", action), id, replaces, ...fields };
}

const REPLACING = "a.q.1" as InquiryId;

describe("something that waits", () => {
  test("says what is decided, by its digest, and whether a yes makes a tool act", () => {
    const subject = subjectOf("this");
    const { digest } = subject;
    const question = asks("a.q.1", { for: "Ada", deadline: at(9), subject });
    const acting = asks("a.r.1", { question: { ...question.question, exclusive: true } });
    const run = { ...permissionRequest("a"), subject };
    const deliver = { ...waiting, subject };
    const rerun = { ...permissionRequest("a", "rerun"), subject };
    const pending = [
      [run],
      [attemptStart("a"), question, acting],
      [attemptStart("a"), deliver],
      [attemptStart("a"), rerun],
    ].map((events) =>
      pendingOf(readTurnProgress([turnStart(), chatRequest("Hi"), toolCall("a"), ...events])),
    );
    const of = { tool: "a_tool", toolCallId: "a", askedAt: at(0) };
    expect(pending).toEqual([
      [{ ...of, kind: "permission", id: "a:run:1", acts: true, digest, request: run }],
      [
        {
          ...of,
          kind: "question",
          id: "a.q.1",
          acts: false,
          digest,
          deadline: at(9),
          for: "Ada",
          request: question,
        },
        { ...of, kind: "question", id: "a.r.1", acts: true, request: acting },
      ],
      [{ ...of, kind: "delivery", id: "a:deliver:1", acts: false, digest, request: deliver }],
      [{ ...of, kind: "in_doubt", id: "a:rerun:1", acts: true, digest, request: rerun }],
    ]);
  });

  test("is about what was permitted, if it is a doubt that no one was asked about", () => {
    const edited: PermissionDecision = {
      ...permission("a"),
      decision: "edited",
      arguments: { path: "b" },
      digest: "d1",
    };
    const events = [permissionRequest("a"), edited, attemptStart("a")];
    const progress = readTurnProgress([turnStart(), toolCall("a"), ...events]);
    expect([pendingOf(progress), pendingOf(progress, true)]).toEqual([
      [
        {
          kind: "in_doubt",
          tool: "a_tool",
          toolCallId: "a",
          id: "a:rerun:1",
          askedAt: at(0),
          acts: true,
          arguments: { path: "b" },
          digest: "d1",
        },
      ],
      [],
    ]);
  });
});

describe("a call that its tool declared safe to run twice", () => {
  const start = { ...attemptStart("a"), isIdempotent: true };
  const ran = [permission("a"), start];

  test.each<[string, readonly ConversationEvent[], readonly unknown[]]>([
    ["runs again unasked", ran, []],
    ["runs again unasked, whatever it had finished", [...ran, toolStep("a", "pay")], []],
    [
      "waits once someone has been asked",
      [...ran, permissionRequest("a", "rerun")],
      [["in_doubt", "a:rerun:1"]],
    ],
    ["waits if no one had permitted it", [start], [["in_doubt", "a:rerun:1"]]],
    [
      "waits if its permission no longer counts",
      [
        { ...permission("a"), id: permissionRequest("a").id },
        start,
        decisionVoid("a:run:1", "file"),
      ],
      [["in_doubt", "a:rerun:1"]],
    ],
    [
      "waits if another version had permitted it, by means that are not known",
      [{ ...permission("a"), decidedBy: { kind: "unknown", raw: {} } }, start],
      [["in_doubt", "a:rerun:1"]],
    ],
    [
      "waits if it was not when it last started",
      [...ran, asks("a.q.1"), answered("a.q.1"), attemptStart("a")],
      [["in_doubt", "a:rerun:1"]],
    ],
  ])("is in doubt, and %s", (_, events, pending) => {
    const call = progressOf(...events);
    expect([call.isInDoubt, pendingAfter(...events)]).toEqual([true, pending]);
    expect(canGoOn(call)).toBe(false);
  });

  test("leaves its turn with open calls, not waiting for input", () => {
    const turn = [turnStart(), chatRequest("Hi"), toolCall("a"), ...ran];
    expect(describeOpenTurn(turn, false)).toEqual({ type: "pending_calls" });
  });
});

describe("the finished steps of a call", () => {
  test("are kept over its attempts, and leave it in doubt", () => {
    const [pay, mail] = [toolStep("a", "pay"), toolStep("a", "mail")];
    const asked = [attemptStart("a"), pay, asks("a.q.1"), answered("a.q.1")];
    const inDoubt = progressOf(...asked, attemptStart("a"), mail);
    expect([progressOf(...asked), inDoubt]).toMatchObject([
      { isInDoubt: false, steps: [pay] },
      { isInDoubt: true, steps: [pay, mail] },
    ]);
  });

  test("belong to one of several calls with the same id, even after another one has ended", () => {
    const [first, second] = [toolStep("a", "pay"), { ...toolStep("a", "pay"), callIndex: 1 }];
    const calls = [toolCall("a"), toolCall("a"), toolCall("b")];
    const events = [turnStart(), ...calls, attemptStart("a"), first, second, toolResult("a")];
    expect(readTurnProgress(events).calls).toMatchObject([
      { callIndex: 1, steps: [second] },
      { callIndex: 0, steps: [] },
    ]);
  });
});

describe("a decision that no longer counts", () => {
  const [madeVoid, again] = [decisionVoid("a:run:1", "arguments"), asksAgain("run", 2)];
  const permitted = [permissionRequest("a"), { ...permission("a"), id: permissionRequest("a").id }];
  const answeredOnce = [attemptStart("a"), asks("a.q.1"), answered("a.q.1")];

  test("leaves a call as one that no one has permitted, and nothing waits until it is asked again", () => {
    const call = progressOf(...permitted, madeVoid);
    expect([
      call.permissions,
      call.voids,
      call.isInDoubt,
      pendingAfter(...permitted, madeVoid),
    ]).toEqual([
      { run: { madeVoid, voided: permissionRequest("a"), isForPerson: true } },
      [madeVoid],
      false,
      [],
    ]);
  });

  test("is replaced by the next request, which says what has changed", () => {
    const events = [...permitted, madeVoid, again];
    const progress = readTurnProgress([turnStart(), toolCall("a"), ...events]);
    expect(progress.calls[0]?.permissions).toEqual({ run: { request: again } });
    expect(pendingOf(progress)).toMatchObject([
      { kind: "permission", id: "a:run:2", changed: ["arguments"], request: again },
    ]);
  });

  test("does not keep the next one from counting", () => {
    const decision = { ...permission("a"), id: again.id };
    const call = progressOf(...permitted, madeVoid, again, decision);
    expect(call.permissions).toEqual({ run: { request: again, decision } });
  });

  test("may be one of several, and only the last one is what has changed for what waits now", () => {
    const second = decisionVoid("a:run:2", "file", "program");
    const events = [...permitted, madeVoid, again, second, asksAgain("run", 3)];
    const progress = readTurnProgress([turnStart(), toolCall("a"), ...events]);
    expect([progress.calls[0]?.voids, pendingOf(progress)]).toMatchObject([
      [madeVoid, second],
      [{ id: "a:run:3", changed: ["file", "program"] }],
    ]);
  });

  test("takes a request with it that was still waiting", () => {
    const events = [permissionRequest("a"), madeVoid];
    expect([pendingAfter(...events), pendingAfter(...events, again)]).toEqual([
      [],
      [["permission", "a:run:2"]],
    ]);
  });

  test("leaves a doubt open, under the id that it will get", () => {
    const doubt = [attemptStart("a"), permissionRequest("a", "rerun")];
    const decided = { ...permission("a"), action: "rerun" as const };
    const voided = [...doubt, decided, decisionVoid("a:rerun:1", "file")];
    const progress = readTurnProgress([
      turnStart(),
      toolCall("a"),
      ...voided,
      asksAgain("rerun", 2),
    ]);
    expect(pendingAfter(...voided)).toEqual([["in_doubt", "a:rerun:2"]]);
    expect(pendingOf(progress)).toMatchObject([
      { kind: "in_doubt", id: "a:rerun:2", changed: ["file"] },
    ]);
  });

  test("makes its question one that the next attempt needs an answer to, though it does not wait yet", () => {
    const questionVoid = decisionVoid("a.q.1", "binding");
    const events = [...answeredOnce, questionVoid];
    const { asked, voids } = progressOf(...events);
    expect([asked, voids, pendingAfter(...events)]).toEqual([
      [{ request: asks("a.q.1"), response: answered("a.q.1"), madeVoid: questionVoid }],
      [questionVoid],
      [],
    ]);
  });

  test("may be the answer to a question of an earlier attempt, which the next one needs too", () => {
    const events = [
      ...answeredOnce,
      attemptStart("a"),
      asks("a.r.1"),
      decisionVoid("a.q.1", "file"),
    ];
    const { asked } = progressOf(...events);
    expect(asked.map(({ request }) => request.id)).toEqual(["a.q.1", "a.r.1"]);
    expect(pendingAfter(...events)).toEqual([["question", "a.r.1"]]);
  });

  test("gives way to the question that was asked again, which says what has changed", () => {
    const request = asks("a.q.2", { questionId: "q", replaces: REPLACING, isForPerson: true });
    const events = [...answeredOnce, decisionVoid("a.q.1", "file"), request];
    const progress = readTurnProgress([turnStart(), toolCall("a"), ...events]);
    expect(progress.calls[0]).toMatchObject({
      questions: [{ request }],
      asked: [{ request }],
    });
    expect(pendingOf(progress)).toMatchObject([
      { kind: "question", id: "a.q.2", changed: ["file"], request },
    ]);
  });
});

test("an answer that still counts stays when its question is asked again", () => {
  const { questions, voids } = progressOf(
    attemptStart("a"),
    asks("a.q.1"),
    answered("a.q.1"),
    attemptStart("a"),
    asks("a.q.2", { questionId: "q" }),
  );
  expect([questions.map(({ request }) => request.id), voids]).toEqual([["a.q.1", "a.q.2"], []]);
});
