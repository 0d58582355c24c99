import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
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
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  type Decider,
  type DecisionVoid,
  InquiryLog,
  type InquiryId,
  type PermissionDecision,
  pendingOf,
  type PermissionRequestEvent,
  readTurnProgress,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import {
  describeEnd,
  describeCalls,
  describeIncomplete,
  describeSubject,
  describeWaiting,
  type InquiryFilter,
  type InquiryRow,
  inquiryState,
  matchesInquiryFilter,
} from "./decision-rows.ts";
import { describeEscalation } from "./inquiry.ts";

const CONVERSATION = "jp-c17673230450" as ConversationId;
const DIGEST = "5".repeat(64);

/** The decisions in these events, as a list has them. */
function rowsOf(...events: readonly ConversationEvent[]): readonly InquiryRow[] {
  const log = new InquiryLog();
  const logged = [...log.read(entriesOf(turnStart(), ...events)), ...log.end()];
  return logged.map((each) => ({ conversation: CONVERSATION, ...each }));
}

function rowOf(...events: readonly ConversationEvent[]): InquiryRow {
  const [row] = rowsOf(...events);
  if (row === undefined) throw new Error("nothing was asked");
  return row;
}

const QUESTION = inquiry("call_1.go.1");

const CALL = toolCall("call_1", "deploy", { where: "live" });
const REQUEST: PermissionRequestEvent = {
  type: "permission_request",
  timestamp: at(1),
  id: "call_1:run:1" as InquiryId, // As a turn makes them.
  toolCallId: "call_1",
  tool: "deploy",
  action: "run",
  arguments: { where: "live" },
  subject: { digest: DIGEST, version: 1, parts: {} },
  origin: { type: "local", command: "sh  deploy.sh" },
  folder: "tools",
};
const APPROVED: PermissionDecision = {
  ...permission("call_1"),
  id: REQUEST.id,
  timestamp: at(2),
  tool: "deploy",
  digest: DIGEST,
};
const VOID: DecisionVoid = {
  type: "decision_void",
  timestamp: at(3),
  id: REQUEST.id,
  changed: ["file"],
};

function denied(fields: Partial<PermissionDecision> = {}): PermissionDecision {
  return { ...APPROVED, decision: "denied", ...fields };
}

function endOf(row: InquiryRow, seconds = 0): string {
  return describeEnd(row, new Date(timestampToMilliseconds(at(seconds))));
}

describe("a pending question with a deadline", () => {
  const request = { ...QUESTION, toolCallId: "call_1", deadline: at(60) };
  const escalation = {
    type: "inquiry_escalation",
    timestamp: at(1),
    id: request.id,
    outcome: "cancelled",
    reason: "backend_error",
    problem: "no key",
  } as const;

  test("is overdue from then on, unless it was answered", () => {
    const open = rowOf(CALL, request);
    expect([
      endOf(open, 59),
      endOf(open, 60),
      endOf(rowOf(CALL, request, answered("call_1.go.1")), 60),
      endOf(rowOf(CALL, request, toolResult("call_1")), 60),
    ]).toEqual(["pending", "pending, overdue", "yes", "unanswered"]);
  });

  test("that was the model's is not overdue once a person has to answer", () => {
    expect([endOf(rowOf(CALL, request, escalation), 60), describeEscalation(escalation)]).toEqual([
      "pending",
      'cancelled (backend_error): "no key"',
    ]);
  });
});

test("the state of a decision is its outcome, that it is pending, or that it no longer counts", () => {
  verifies("082/reader/every-reader-handles-all-outcomes");
  const { id } = QUESTION;
  expect(
    [
      rowOf(QUESTION),
      rowOf(QUESTION, answered(id)),
      rowOf(QUESTION, closed(id, { outcome: "redacted" })),
      rowOf(QUESTION, cancelled(id, "user")),
      rowOf(CALL, REQUEST),
      rowOf(CALL, REQUEST, APPROVED),
      rowOf(CALL, REQUEST, denied()),
      rowOf(CALL, REQUEST, { ...APPROVED, decision: "edited", arguments: {} }),
      rowOf(CALL, REQUEST, APPROVED, VOID),
      rowOf(CALL, REQUEST, VOID),
    ].map(inquiryState),
  ).toEqual([
    "unanswered",
    "answered",
    "redacted",
    "cancelled",
    "pending",
    "approved",
    "denied",
    "edited",
    "void",
    "void",
  ]);
});

test("how a decision ended says what made it void", () => {
  expect([
    endOf(rowOf(CALL, REQUEST, APPROVED, VOID)),
    endOf(rowOf(CALL, REQUEST, VOID)),
    endOf(rowOf(QUESTION, answered(QUESTION.id), { ...VOID, id: QUESTION.id })),
  ]).toEqual([
    "approved (you, via tty), void: a file that its command names changed",
    "void: a file that its command names changed",
    "yes, void: a file that its command names changed",
  ]);
});

describe("a filter", () => {
  const policy: Decider = { kind: "policy", key: "conversation.tools.deploy.run" };
  const { id: _, ...unasked } = { ...APPROVED, decidedBy: policy };
  const ROWS = {
    question: rowOf(QUESTION, answered(QUESTION.id)),
    open: rowOf(CALL, REQUEST),
    approved: rowOf(CALL, REQUEST, APPROVED),
    denied: rowOf(CALL, REQUEST, denied()),
    unavailable: rowOf(CALL, REQUEST, denied({ cause: "unavailable", decidedBy: policy })),
    void: rowOf(CALL, REQUEST, APPROVED, VOID),
    unasked: rowOf(CALL, unasked),
    skipped: rowOf(CALL, { ...unasked, decision: "denied", cause: "skipped" }),
  };

  test.each<[InquiryFilter, readonly (keyof typeof ROWS)[]]>([
    [{}, ["question", "open", "approved", "denied", "unavailable", "void", "skipped"]],
    [{ by: ["policy"] }, ["unavailable", "unasked", "skipped"]],
    [{ by: ["user"] }, ["approved", "denied", "void"]],
    [{ outcome: ["answered"] }, ["question", "approved", "denied"]],
    [{ outcome: ["cancelled"] }, ["unavailable", "skipped"]],
    [{ outcome: ["denied"] }, ["denied", "unavailable", "skipped"]],
    [{ outcome: ["approved", "void"] }, ["approved", "void"]],
    [{ outcome: ["approved"], by: ["policy"] }, ["unasked"]],
    [{ outcome: ["pending"] }, ["open"]],
    [{ kind: ["question"] }, ["question"]],
  ])("finds decisions of every kind: %j", (filter, names) => {
    const found = Object.entries(ROWS).filter(([, row]) => matchesInquiryFilter(row, filter));
    expect(found.map(([name]) => name)).toEqual(names);
  });
});

describe("what waits", () => {
  const turn = [turnStart(), CALL, REQUEST];

  test("is described with the call, where its tool comes from, and the folder", () => {
    expect(describeIncomplete(readTurnProgress(turn))).toEqual([
      "deploy needs permission to run",
      '    • deploy(where: "live")',
      '    Source: local command "sh<2 spaces>deploy.sh"',
      '    Folder: "tools"',
    ]);
  });
});

test("a call that was cut off and runs again unasked is described as such", () => {
  const start = { ...attemptStart("call_1"), isIdempotent: true };
  const events = [toolCall("call_1", "fetch"), permission("call_1"), start];
  expect(describeIncomplete(readTurnProgress(events))).toEqual([
    "fetch was cut off, and will run again",
  ]);
});

test("an open call is described with the steps that it has finished", () => {
  const steps = [toolStep("call_1", "pay\n", { receipt: 7 }), toolStep("call_1", "mail")];
  const { calls } = readTurnProgress([toolCall("call_1", "buy"), attemptStart("call_1"), ...steps]);
  expect(describeCalls(calls)).toEqual([
    "buy {}",
    '  finished "pay\\n": {"receipt":7}',
    '  finished "mail": null',
  ]);
});

test.each<[Parameters<typeof describeSubject>[0], readonly string[]]>([
  [{ tool: "sh", folder: "p\u0430per" }, ['Folder: "p<U+0430>per"']],
  [{ tool: "a", arguments: {}, origin: { type: "builtin" } }, ["Source: built into jp"]],
  [{ origin: { type: "program" } }, ["Source: defined by the program that runs jp"]],
  [
    { origin: { type: "mcp", server: "docs", tool: "find", command: "npx docs" } },
    ['Source: MCP server "docs" ("npx docs"), tool "find"'],
  ],
  [
    { tool: "write", arguments: { path: "a.txt", text: `one\n${"x".repeat(200)}` } },
    ["• write", '  path: "a.txt"', "  text:", "    │ one", `    │ ${"x".repeat(200)}`],
  ],
  [{ changed: ["arguments"] }, ["Changed since it was decided: its arguments"]],
])("what is decided is described in full: %j", (subject, lines) => {
  expect(describeSubject(subject)).toEqual(lines);
});

test("a question of the assistant is described without the call that asks it", () => {
  const options = [{ value: "Hono", description: "Small" }, { value: "Fastify" }];
  const asked = {
    ...inquiry("call_1.answer.1", { text: "Which?", answerType: { type: "select", options } }),
    source: { source: "assistant" },
    origin: { type: "builtin" },
    folder: ".",
    toolCallId: "call_1",
  } as const;
  const args = { question: "Which?", answer_type: "select", options };
  const { calls } = readTurnProgress([
    toolCall("call_1", "ask_user", args),
    attemptStart("call_1"),
    asked,
  ]);
  const [item] = pendingOf({ calls });
  if (item === undefined) throw new Error("nothing is pending");
  expect(describeWaiting(item, calls)).toEqual([
    'The assistant asks "Which?"',
    "    - Hono: Small",
    "    - Fastify",
  ]);
});
