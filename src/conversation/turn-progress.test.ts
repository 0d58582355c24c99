import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import type { ConversationEvent, InquiryRequest } from "./event.ts";
import {
  answered,
  attemptStart,
  cancelled,
  chatRequest,
  inquiry,
  message,
  permission,
  permissionRequest,
  reasoning,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
} from "./events.fixture.ts";
import { pendingOf, readTurnProgress } from "./turn-progress.ts";

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
    ["a permission", [permissionRequest("a")], [["permission", "a.run.1"]]],
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
    ["a delivery", [attemptStart("a"), waiting], [["delivery", "a.deliver.1"]]],
    [
      "no delivery that is decided",
      [attemptStart("a"), waiting, { ...permission("a"), action: "deliver" }],
      [],
    ],
    ["a doubt, under the id that it will get", [attemptStart("a")], [["in_doubt", "a.rerun.1"]]],
    [
      "a doubt that a person was asked about, once",
      [attemptStart("a"), permissionRequest("a", "rerun")],
      [["in_doubt", "a.rerun.1"]],
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
      [["in_doubt", "a.rerun.2"]],
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
