import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  answered,
  anyDamagedStream,
  cancelled,
  chatRequest,
  attemptStart,
  closed,
  decisionVoid,
  entriesOf,
  inquiry,
  message,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
  turnStart,
} from "./events.fixture.ts";
import { StreamEntry } from "./entry.ts";
import { eventsOf } from "./stream.ts";
import {
  findRequest,
  pairDecisions,
  pairInquiries,
  pairToolCalls,
  toBlocks,
  TurnCounter,
  turnsOf,
} from "./turns.ts";

test("a record without turn starts is one turn", () => {
  const events = [chatRequest("one"), message("1"), chatRequest("two"), message("2")];
  expect(turnsOf(entriesOf(...events))).toStrictEqual([{ index: 0, events }]);
});

test("a turn start begins a turn, a request does not", () => {
  const first = [turnStart(), chatRequest("one"), chatRequest("and"), message("1")];
  const second = [turnStart(), chatRequest("two")];
  expect(turnsOf(entriesOf(...first, ...second))).toStrictEqual([
    { index: 0, events: first },
    { index: 1, events: second },
  ]);
});

test("events before the first turn start form their own turn", () => {
  const before = [chatRequest("one"), message("1")];
  const after = [turnStart(), chatRequest("two")];
  expect(turnsOf(entriesOf(...before, ...after))).toStrictEqual([
    { index: 0, events: before },
    { index: 1, events: after },
  ]);
});

test("adjacent turn starts are a turn each", () => {
  const starts = [turnStart(), turnStart(), turnStart()];
  const request = chatRequest("one");
  expect(turnsOf(entriesOf(...starts, request))).toStrictEqual([
    { index: 0, events: [turnStart()] },
    { index: 1, events: [turnStart()] },
    { index: 2, events: [turnStart(), request] },
  ]);
});

test("entries that are not events neither belong to a turn nor start one", () => {
  const others = [
    StreamEntry.fromJson({ type: "config_delta", delta: {} }),
    StreamEntry.fromJson({ type: "from_the_future" }),
    StreamEntry.fromJson({ type: "compaction" }),
  ];
  const turn = [turnStart(), chatRequest("one")];
  const entries = [...others, ...entriesOf(...turn), ...others];
  expect(turnsOf(entries)).toStrictEqual([{ index: 0, events: turn }]);
});

test("an unreadable event is omitted, but an unreadable turn start counts", () => {
  const unreadable = StreamEntry.fromJson({ type: "turn_start" });
  const turn = [turnStart(), chatRequest("one")];
  expect(turnsOf([unreadable, ...entriesOf(...turn)])).toStrictEqual([
    { index: 0, events: [] },
    { index: 1, events: turn },
  ]);
});

test("a record without events has no turns", () => {
  const delta = StreamEntry.fromJson({ type: "config_delta", delta: {} });
  expect([turnsOf([]), turnsOf([delta])]).toEqual([[], []]);
});

test("every event is in exactly one turn, and a counter that sees one event at a time agrees", () => {
  fc.assert(
    fc.property(anyDamagedStream, ({ entries }) => {
      const counter = new TurnCounter();
      const counted = [...eventsOf(entries)].map((event) => [counter.next(event.type), event]);
      const listed = turnsOf(entries).flatMap((turn) =>
        turn.events.map((event) => [turn.index, event]),
      );
      expect(listed).toStrictEqual(counted);
    }),
  );
});

describe("inquiries", () => {
  test("a response belongs to the request with its id", () => {
    verifies("082/pairing/request-and-response-share-the-id");
    const request = inquiry("c.ok.1");
    const response = answered("c.ok.1");
    const events = [toolCall("c"), request, response, toolResult("c")];
    expect(pairInquiries(events)).toStrictEqual({ pairs: [{ request, response }], orphans: [] });
  });

  test("every outcome closes a question", () => {
    verifies("082/pairing/request-and-response-share-the-id");
    const requests = [inquiry("c.a.1"), inquiry("c.b.1"), inquiry("c.c.1")] as const;
    const responses = [
      answered("c.a.1", false),
      closed("c.b.1", { outcome: "redacted" }),
      cancelled("c.c.1", { unknown: "some_future_variant" }),
    ] as const;
    expect(pairInquiries([...requests, ...responses])).toStrictEqual({
      pairs: [
        { request: requests[0], response: responses[0] },
        { request: requests[1], response: responses[1] },
        { request: requests[2], response: responses[2] },
      ],
      orphans: [],
    });
  });

  test("the pairs of concurrent tool calls may interleave", () => {
    verifies("005/pairing/interleaved-pairs-match-by-id");
    const one = inquiry("call_1.ok.1");
    const two = inquiry("call_2.ok.1");
    const answerOne = answered("call_1.ok.1", "one");
    const answerTwo = answered("call_2.ok.1", "two");
    const calls = [toolCall("call_1"), toolCall("call_2")];
    expect(pairInquiries([...calls, one, two, answerTwo, answerOne])).toStrictEqual({
      pairs: [
        { request: one, response: answerOne },
        { request: two, response: answerTwo },
      ],
      orphans: [],
    });
  });

  test("an id in the old form pairs like one in the new form", () => {
    verifies("082/pairing/legacy-two-segment-ids");
    const old = inquiry("call_1.ok");
    const recent = inquiry("call_1.ok.1");
    const oldAnswer = answered("call_1.ok", "old");
    const recentAnswer = answered("call_1.ok.1", "recent");
    expect(pairInquiries([old, recent, recentAnswer, oldAnswer])).toStrictEqual({
      pairs: [
        { request: old, response: oldAnswer },
        { request: recent, response: recentAnswer },
      ],
      orphans: [],
    });
  });

  test("an id is compared as a whole, never by segment", () => {
    verifies("082/pairing/ids-are-opaque-to-readers");
    const requests = ["a.b.1", "a.b.01", "A.b.1", "a", "", "no segments at all"].map((id) =>
      inquiry(id),
    );
    const strangers = ["a.b", "a.b.2", ".b.1", "a.b.1.1"].map((id) => answered(id));
    const answer = answered("no segments at all");
    expect(pairInquiries([...requests, ...strangers, answer])).toStrictEqual({
      pairs: [
        ...requests.slice(0, 5).map((request) => ({ request })),
        { request: requests[5], response: answer },
      ],
      orphans: strangers,
    });
  });

  test("two requests that share an id are closed in the order in which they were made", () => {
    verifies("082/pairing/colliding-legacy-ids-pair-by-order");
    const requests = ["first", "second", "third"].map((text) => inquiry("c.ok", { text }));
    const responses = ["1", "2"].map((answer) => answered("c.ok", answer));
    expect(pairInquiries([...requests, ...responses])).toStrictEqual({
      pairs: [
        { request: requests[0], response: responses[0] },
        { request: requests[1], response: responses[1] },
        { request: requests[2] },
      ],
      orphans: [],
    });
  });

  test("a question asked again after its answer gets its own answer", () => {
    verifies("082/pairing/colliding-legacy-ids-pair-by-order");
    const [first, second] = [inquiry("c.ok", { text: "1?" }), inquiry("c.ok", { text: "2?" })];
    const [one, two] = [answered("c.ok", 1), answered("c.ok", 2)];
    expect(pairInquiries([first, one, second, two])).toStrictEqual({
      pairs: [
        { request: first, response: one },
        { request: second, response: two },
      ],
      orphans: [],
    });
  });

  test("a response before its request, or one too many, is an orphan", () => {
    const request = inquiry("c.ok.1");
    const [early, right, late] = [1, 2, 3].map((answer) => answered("c.ok.1", answer));
    expect(
      pairInquiries([early, request, right, late].filter((event) => event !== undefined)),
    ).toStrictEqual({ pairs: [{ request, response: right }], orphans: [early, late] });
  });

  test("an inquiry is not closed by the result of a tool call with its id", () => {
    const request = inquiry("c");
    expect(pairInquiries([toolCall("c"), request, toolResult("c")])).toStrictEqual({
      pairs: [{ request }],
      orphans: [],
    });
  });

  test("a pair never spans two turns", () => {
    verifies("082/pairing/never-across-turns", "082/pairing/request-and-response-share-the-id");
    const request = inquiry("c.ok.1");
    const response = answered("c.ok.1");
    const turns = turnsOf(entriesOf(turnStart(), request, turnStart(), response));
    expect(turns.map(({ events }) => pairInquiries(events))).toStrictEqual([
      { pairs: [{ request }], orphans: [] },
      { pairs: [], orphans: [response] },
    ]);
  });

  test("an id may occur again in a later turn", () => {
    verifies("082/pairing/ids-may-repeat-in-other-turns", "082/pairing/never-across-turns");
    const [one, two] = ["one", "two"].map((text) => ({
      request: inquiry("c.ok.1", { text }),
      response: answered("c.ok.1", text),
    }));
    const record = [one, two].flatMap((pair) => [turnStart(), ...Object.values(pair ?? {})]);
    const turns = turnsOf(entriesOf(...record));
    expect(turns.map(({ events }) => pairInquiries(events))).toStrictEqual([
      { pairs: [one], orphans: [] },
      { pairs: [two], orphans: [] },
    ]);
  });
});

describe("tool calls", () => {
  test("concurrent calls pair by id, whichever finishes first", () => {
    const [one, two] = [toolCall("call_1"), toolCall("call_2")];
    const [resultOne, resultTwo] = [toolResult("call_1"), toolResult("call_2")];
    expect(pairToolCalls([one, two, resultTwo, resultOne])).toStrictEqual({
      pairs: [
        { request: one, response: resultOne },
        { request: two, response: resultTwo },
      ],
      orphans: [],
    });
  });

  test("calls that share an id pair in order, ignoring inquiries", () => {
    const [one, two] = [toolCall("c", "first"), toolCall("c", "second")];
    const [resultOne, resultTwo] = [toolResult("c", "1"), toolResult("c", "2")];
    const stranger = toolResult("d");
    const events = [stranger, one, inquiry("c"), answered("c"), two, resultOne, resultTwo];
    expect(pairToolCalls(events)).toStrictEqual({
      pairs: [
        { request: one, response: resultOne },
        { request: two, response: resultTwo },
      ],
      orphans: [stranger],
    });
  });
});

test("the request of a turn has everything the user added, but not what jp said", () => {
  const correction = { ...chatRequest("Not JSON."), correction: "wrong" };
  const events = [turnStart(), chatRequest("Fix it."), chatRequest("In b.ts."), correction];
  expect([findRequest(events)?.content, findRequest([turnStart()])]).toEqual([
    "Fix it.\n\nIn b.ts.",
    undefined,
  ]);
});

describe("blocks", () => {
  test("have everything about a call in place of its request", () => {
    const [one, two] = [toolCall("call_1"), toolCall("call_2")];
    const asked = { ...inquiry("call_1.a.1"), toolCallId: "call_1" };
    const start = attemptStart("call_2");
    const result = toolResult("call_1");
    const events = [chatRequest("Go."), one, two, asked, start, answered("call_1.a.1"), result];
    expect(toBlocks(events)).toStrictEqual([
      { type: "event", event: events[0] },
      {
        type: "call",
        call: { request: one, callIndex: 0, events: [asked, events[5]], response: result },
      },
      { type: "call", call: { request: two, callIndex: 0, events: [start] } },
    ]);
  });

  test("give the oldest open call what belongs to one of several with the same id, except a start", () => {
    const calls = [toolCall("c", "first"), toolCall("c", "second")];
    const [decision, start, result] = [permission("c"), attemptStart("c"), toolResult("c")];
    const later = permission("c");
    expect(toBlocks([...calls, decision, start, result, later])).toStrictEqual([
      {
        type: "call",
        call: { request: calls[0], callIndex: 0, events: [decision, start], response: result },
      },
      { type: "call", call: { request: calls[1], callIndex: 1, events: [start, later] } },
    ]);
  });

  test("leave questions alone whose call is not on record", () => {
    const stranger = { ...inquiry("q"), toolCallId: "gone" };
    expect(toBlocks([toolCall("q"), stranger, answered("q")]).map(({ type }) => type)).toEqual([
      "call",
      "event",
      "event",
    ]);
  });
});

test("a decision that no longer counts and the one that replaces it are two", () => {
  const first = permissionRequest("call_1");
  const again = { ...first, id: "call_1:run:2" as typeof first.id }; // As the record has it.
  const [yes, voided] = [{ ...permission("call_1"), id: first.id }, decisionVoid(first.id, "file")];
  const unasked = { ...permission("call_1"), action: "deliver" } as const;
  expect(pairDecisions([first, yes, voided, again, unasked])).toStrictEqual([
    { request: first, response: yes, madeVoid: voided },
    { request: again },
    { response: unasked },
  ]);
});
