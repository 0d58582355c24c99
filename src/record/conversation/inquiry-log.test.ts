import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import { questionAbout } from "./decision.ts";
import { StreamEntry } from "./entry.ts";
import type {
  ConversationEvent,
  DecisionVoid,
  InquiryId,
  InquiryRequest,
  PermissionDecision,
  PermissionRequestEvent,
} from "./event.ts";
import {
  answered,
  anyDamagedStream,
  at,
  attemptStart,
  cancelled,
  chatRequest,
  decisionVoid,
  entriesOf,
  inquiry,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "./events.fixture.ts";
import { InquiryLog, type LoggedInquiry } from "./inquiry-log.ts";
import { pairInquiries, turnsOf } from "./turns.ts";

/** The decisions in these events, without what every one of them has. */
function logOf(...events: readonly ConversationEvent[]): readonly LoggedInquiry[] {
  const log = new InquiryLog();
  return [...log.read(entriesOf(...events)), ...log.end()];
}

/** A question of a tool, as it is logged. */
function logged(request: InquiryRequest, turn = 0): LoggedInquiry {
  const { id, source, question, toolCallId, timestamp: askedAt } = request;
  const call = toolCallId === undefined ? {} : { toolCallId };
  const about = { kind: "question", tool: "a_tool", acts: false, ...call } as const;
  return { turn, ...about, id, source, question, askedAt, request };
}

test("the inquiries of a turn are returned when the next turn starts, or at the end", () => {
  const log = new InquiryLog();
  const request = inquiry("c.ok.1");
  const responses = [answered("c.ok.1"), cancelled("c.ok.1", "user")] as const;
  const results = [
    log.read(entriesOf(turnStart(), request)),
    log.read(entriesOf(responses[0])),
    log.read(entriesOf(turnStart(), chatRequest("Hi"), request, responses[1])),
    log.end(),
    log.end(),
  ];
  expect(results).toStrictEqual([
    [],
    [],
    [{ ...logged(request), response: responses[0] }],
    [{ ...logged(request, 1), response: responses[1] }],
    [],
  ]);
});

test("an inquiry that is not closed in its turn has no response", () => {
  verifies("082/pairing/never-across-turns");
  const request = inquiry("c.ok.1");
  const events = [turnStart(), request, turnStart(), answered("c.ok.1")];
  expect(logOf(...events)).toStrictEqual([logged(request)]);
});

test("an inquiry whose answer no longer counts says so", () => {
  const [request, again] = [inquiry("c.ok.1"), inquiry("c.ok.2")];
  const madeVoid = decisionVoid("c.ok.1", "file");
  const [response, second] = [answered("c.ok.1"), answered("c.ok.2", false)];
  const events = [turnStart(), request, response, madeVoid, again, second];
  expect(logOf(...events)).toStrictEqual([
    { ...logged(request), response, madeVoid },
    { ...logged(again), response: second },
  ]);
});

test("a question of a call with edited arguments includes the edit", () => {
  counters("T-TERM-10");
  const edited = {
    ...permission("call_1"),
    decision: "edited",
    arguments: { where: "test" },
  } as const;
  const [request, other] = [
    { ...inquiry("a"), toolCallId: "call_1" },
    { ...inquiry("b"), toolCallId: "call_2" },
  ];
  const calls = [toolCall("call_1", "a_tool", { where: "live" }), toolCall("call_2")];
  const events = [turnStart(), ...calls, edited, permission("call_2"), request, other];
  const questions = logOf(...events, turnStart(), request).filter(
    ({ kind }) => kind === "question",
  );
  expect(questions).toStrictEqual([
    { ...logged(request), arguments: { where: "test" }, edited },
    { ...logged(other), arguments: {} },
    logged(request, 1),
  ]);
});

describe("a decision about a call", () => {
  const CALL = toolCall("call_1", "deploy", { where: "live" });
  const REQUEST: PermissionRequestEvent = {
    type: "permission_request",
    timestamp: at(1),
    id: "call_1:run:1" as InquiryId, // As a turn makes them.
    toolCallId: "call_1",
    tool: "deploy",
    action: "run",
    arguments: { where: "live", force: false },
  };
  const DECISION: PermissionDecision = {
    ...permission("call_1"),
    id: REQUEST.id,
    timestamp: at(2),
    tool: "deploy",
  };
  const LOGGED = {
    turn: 0,
    kind: "permission",
    id: REQUEST.id,
    tool: "deploy",
    toolCallId: "call_1",
    arguments: REQUEST.arguments,
    source: { source: "assistant" },
    question: questionAbout("permission", "deploy"),
    acts: true,
    askedAt: at(1),
    request: REQUEST,
  };

  test("is logged with its request, its arguments and what was decided", () => {
    expect(logOf(turnStart(), CALL, REQUEST, DECISION)).toStrictEqual([
      { ...LOGGED, response: DECISION },
    ]);
    expect(logOf(turnStart(), CALL, REQUEST)).toStrictEqual([{ ...LOGGED, isPending: true }]);
  });

  test("that has no id, as in older records, belongs to the request about its call", () => {
    const { id: _, ...older } = DECISION;
    const other = { ...older, toolCallId: "call_2" };
    const rows = logOf(turnStart(), CALL, REQUEST, other, older);
    expect(rows.map(({ id, response }) => [id, response])).toStrictEqual([
      [REQUEST.id, older],
      ["call_2:run:1", other],
    ]);
  });

  test("that was made unasked is logged under the id that a request would have had", () => {
    const by = { kind: "policy", key: "conversation.tools.deploy.run" } as const;
    const { id: _, ...decision } = { ...DECISION, decidedBy: by };
    const { request: _request, ...unasked } = LOGGED;
    expect(logOf(turnStart(), CALL, decision)).toStrictEqual([
      { ...unasked, arguments: CALL.arguments, askedAt: at(2), response: decision },
    ]);
  });

  test("that was made void is logged with what changed, and so is the one that replaces it", () => {
    const madeVoid = { type: "decision_void", timestamp: at(3), id: REQUEST.id, changed: ["file"] };
    const again = { ...REQUEST, id: "call_1:run:2" as InquiryId, replaces: REQUEST.id };
    const rows = logOf(turnStart(), CALL, REQUEST, DECISION, madeVoid as DecisionVoid, again);
    expect(rows).toStrictEqual([
      { ...LOGGED, response: DECISION, madeVoid },
      { ...LOGGED, id: again.id, request: again, isPending: true, changed: ["file"] },
    ]);
  });

  test.each([
    ["delivery", "deliver", false],
    ["in_doubt", "rerun", true],
  ] as const)("is asked by the tool if it is a %s", (kind, action, acts) => {
    const result = { content: "done", isError: false };
    const { arguments: _, ...request } = { ...REQUEST, action, result };
    const [row] = logOf(
      turnStart(),
      CALL,
      ...(action === "rerun" ? [attemptStart("call_1")] : []),
      request,
    );
    expect(row).toStrictEqual({
      ...LOGGED,
      isPending: true,
      kind,
      request,
      arguments: CALL.arguments,
      source: { source: "tool", name: "deploy" },
      question: questionAbout(kind, "deploy"),
      acts,
    });
  });
});

function pendingIn(...events: readonly ConversationEvent[]) {
  return logOf(...events).map(({ id, turn, isPending = false }) => [turn, id, isPending]);
}

test("what has no answer is pending only in the last turn, as long as its call is open", () => {
  const [first, second] = [toolCall("call_1"), toolCall("call_2")];
  const asked = { ...inquiry("call_1.ok.1"), toolCallId: "call_1" };
  const turn = [turnStart(), chatRequest("Go."), first, second, asked, permissionRequest("call_2")];
  expect([
    pendingIn(...turn),
    pendingIn(...turn, toolResult("call_1")),
    pendingIn(...turn, decisionVoid("call_1.ok.1", "file")),
    pendingIn(...turn, turnStart(), chatRequest("And?")),
    pendingIn(...turn, toolResult("call_1"), first),
  ]).toEqual([
    [
      [0, "call_1.ok.1", true],
      [0, "call_2:run:1", true],
    ],
    ...Array.from({ length: 2 }, () => [
      [0, "call_1.ok.1", false],
      [0, "call_2:run:1", true],
    ]),
    [
      [0, "call_1.ok.1", false],
      [0, "call_2:run:1", false],
    ],
    [
      [0, "call_1.ok.1", false],
      [0, "call_2:run:1", true],
    ],
  ]);
});

test("decisions are in the order in which they were asked", () => {
  const rows = logOf(
    turnStart(),
    toolCall("call_1"),
    permissionRequest("call_1"),
    toolCall("call_2"),
    { ...inquiry("call_2.q.1"), toolCallId: "call_2" },
    permission("call_1"),
    permissionRequest("call_1", "deliver"),
  );
  expect(rows.map(({ id }) => id)).toEqual(["call_1:run:1", "call_2.q.1", "call_1:deliver:1"]);
});

test("questions are the same as in the turns, however the entries are split", () => {
  verifies("082/pairing/never-across-turns");
  fc.assert(
    fc.property(anyDamagedStream, fc.nat({ max: 24 }), ({ entries }, cut) => {
      const log = new InquiryLog();
      const rows = [
        ...log.read(entries.slice(0, cut)),
        ...log.read(entries.slice(cut)),
        ...log.end(),
      ].filter(({ kind }) => kind === "question");
      const listed = turnsOf(entries).flatMap(({ index, events }) =>
        pairInquiries(events).pairs.map((pair) => ({ turn: index, ...pair })),
      );
      const pairs = rows.map(({ turn, request, response, escalation, madeVoid }) => ({
        turn,
        request,
        ...(response && { response }),
        ...(escalation && { escalation }),
        ...(madeVoid && { madeVoid }),
      }));
      expect(pairs).toStrictEqual(listed);
    }),
  );
});

test("every decision of a damaged record is logged once", () => {
  fc.assert(
    fc.property(anyDamagedStream, ({ entries }) => {
      const log = new InquiryLog();
      const rows = [...log.read(entries), ...log.end()];
      const decided = entries.filter(({ event }) => event?.type === "permission_decision");
      const found = rows.filter(({ response }) => response?.type === "permission_decision");
      expect(found).toHaveLength(decided.length);
    }),
  );
});

test.each(["chat_request", "turn_start"])(
  "turns are numbered correctly after an unreadable %s",
  (type) => {
    const broken = StreamEntry.fromJson({ type, timestamp: "never" });
    const request = inquiry("c.ok.1");
    const entries = [...entriesOf(turnStart()), broken, ...entriesOf(turnStart(), request)];
    const leading = [broken, ...entriesOf(turnStart(), request)];
    expect([entries, leading].map(loggedTurn)).toEqual(
      [entries, leading].map((record) => turnsOf(record).at(-1)?.index),
    );
  },
);

/** The turn number that the log assigns to the last inquiry. */
function loggedTurn(entries: readonly StreamEntry[]): number | undefined {
  const log = new InquiryLog();
  return [...log.read(entries), ...log.end()].at(-1)?.turn;
}
