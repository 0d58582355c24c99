import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  answered,
  anyDamagedStream,
  at,
  cancelled,
  chatRequest,
  inquiry,
  message,
  rawOf,
  reasoning,
  REASONS,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "./events.fixture.ts";
import { StreamEntry } from "./entry.ts";
import { type ConversationEvent, isProviderVisible } from "./event.ts";
import { INTERRUPTED_CALL, sanitize } from "./sanitize.ts";
import { type ConversationStream, eventsOf } from "./stream.ts";
import { pairInquiries, pairToolCalls, turnsOf } from "./turns.ts";

const eventsIn = (stream: ConversationStream) => [...eventsOf(sanitize(stream).entries)];

const visibleIn = ({ entries }: ConversationStream) =>
  [...eventsOf(entries)].filter(isProviderVisible);

const inquiriesIn = (stream: ConversationStream) =>
  turnsOf(sanitize(stream).entries).map(({ events }) => pairInquiries(events));

const opening = [turnStart(), chatRequest("Hi")] as const;

test("a complete conversation is unchanged", () => {
  const stream = streamOf(
    ...opening,
    reasoning("Hm"),
    toolCall("c"),
    inquiry("c.ok.1"),
    answered("c.ok.1"),
    toolResult("c"),
    message("Hello"),
    turnStart(),
    chatRequest("Bye"),
  );
  expect(rawOf(sanitize(stream))).toStrictEqual(rawOf(stream));
});

test("base config and creation time are kept", () => {
  const stream = { ...streamOf(toolResult("c")), baseConfig: { a: 1 }, createdAt: at(7) };
  const { baseConfig, createdAt } = sanitize(stream);
  expect({ baseConfig, createdAt }).toEqual({ baseConfig: { a: 1 }, createdAt: at(7) });
});

describe("the beginning", () => {
  test("has no event before the first request except its turn start", () => {
    const delta = StreamEntry.fromJson({ type: "config_delta", delta: {} });
    const future = StreamEntry.fromJson({ type: "from_the_future" });
    const malformed = StreamEntry.fromJson({ type: "chat_request" });
    const stream = streamOf(
      message("early"),
      malformed,
      delta,
      turnStart(),
      toolCall("c"),
      future,
      ...opening.slice(1),
      toolResult("c"),
    );
    expect(rawOf(sanitize(stream))).toStrictEqual(
      rawOf(streamOf(malformed, delta, turnStart(), future, chatRequest("Hi"))),
    );
  });

  test("gets a turn start with the time of the first request if it has none", () => {
    const request = { ...chatRequest("Hi"), timestamp: at(3) };
    expect(eventsIn(streamOf(request, message("Hello")))).toStrictEqual([
      { ...turnStart(), timestamp: at(3) },
      request,
      message("Hello"),
    ]);
  });

  test("keeps the last of several turn starts", () => {
    const starts = [1, 2, 3].map((second) => ({ ...turnStart(), timestamp: at(second) }));
    expect(eventsIn(streamOf(...starts, chatRequest("Hi")))).toStrictEqual([
      starts[2],
      chatRequest("Hi"),
    ]);
  });

  test("is unchanged if there is no request", () => {
    const stream = streamOf(message("a"), reasoning("b"));
    expect(rawOf(sanitize(stream))).toStrictEqual(rawOf(stream));
  });
});

describe("the end", () => {
  test("has no turn start, even if other entries follow it", () => {
    const delta = StreamEntry.fromJson({ type: "config_delta", delta: {} });
    const stream = streamOf(...opening, turnStart(), delta, turnStart(), delta);
    expect(rawOf(sanitize(stream))).toStrictEqual(rawOf(streamOf(...opening, delta, delta)));
  });

  test("is kept if it is that of an empty turn in the middle", () => {
    const stream = streamOf(...opening, turnStart(), turnStart(), chatRequest("Bye"));
    expect(rawOf(sanitize(stream))).toStrictEqual(rawOf(stream));
  });
});

describe("tool calls", () => {
  test("a call without a result gets one that says so, with the time of the call", () => {
    const call = { ...toolCall("c"), timestamp: at(4) };
    expect(eventsIn(streamOf(...opening, call, message("…")))).toStrictEqual([
      ...opening,
      call,
      { ...toolResult("c", INTERRUPTED_CALL, true), timestamp: at(4) },
      message("…"),
    ]);
  });

  test("a result without a call is removed", () => {
    expect(eventsIn(streamOf(...opening, toolResult("c"), message("…")))).toStrictEqual([
      ...opening,
      message("…"),
    ]);
  });

  test("a call is not closed by a result of another turn", () => {
    const stream = streamOf(...opening, toolCall("c"), ...opening, toolResult("c"));
    expect(eventsIn(stream)).toStrictEqual([
      ...opening,
      toolCall("c"),
      toolResult("c", INTERRUPTED_CALL, true),
      ...opening,
    ]);
  });

  test("the first of two calls with the same id keeps the result", () => {
    const [one, two] = [toolCall("c", "first"), toolCall("c", "second")];
    const [turn] = turnsOf(sanitize(streamOf(...opening, one, two, toolResult("c"))).entries);
    expect(pairToolCalls(turn?.events ?? [])).toStrictEqual({
      pairs: [
        { request: one, response: toolResult("c") },
        { request: two, response: toolResult("c", INTERRUPTED_CALL, true) },
      ],
      orphans: [],
    });
  });
});

describe("inquiries", () => {
  test("an open inquiry is cancelled, with the time it was asked", () => {
    verifies("082/sanitize/works-turn-by-turn");
    const request = { ...inquiry("c.ok.1"), timestamp: at(4) };
    const stream = streamOf(...opening, toolCall("c"), request, toolResult("c"));
    expect(eventsIn(stream)).toStrictEqual([
      ...opening,
      toolCall("c"),
      request,
      { ...cancelled("c.ok.1", "interrupted"), timestamp: at(4) },
      toolResult("c"),
    ]);
  });

  test("an open inquiry is closed in its own turn even if a later turn has a pair with its id", () => {
    verifies("082/sanitize/orphan-repaired-in-own-turn", "082/sanitize/works-turn-by-turn");
    const orphan = inquiry("c.ok.1", { text: "turn 1?" });
    const request = inquiry("c.ok.1", { text: "turn 2?" });
    const stream = streamOf(...opening, orphan, ...opening, request, answered("c.ok.1"));
    expect(inquiriesIn(stream)).toStrictEqual([
      { pairs: [{ request: orphan, response: cancelled("c.ok.1", "interrupted") }], orphans: [] },
      { pairs: [{ request, response: answered("c.ok.1") }], orphans: [] },
    ]);
  });

  test("an open inquiry is closed in its own turn even if an earlier turn has a pair with its id", () => {
    verifies("082/sanitize/works-turn-by-turn");
    const request = inquiry("c.ok.1", { text: "turn 1?" });
    const orphan = inquiry("c.ok.1", { text: "turn 2?" });
    const stream = streamOf(...opening, request, answered("c.ok.1"), ...opening, orphan);
    expect(inquiriesIn(stream)).toStrictEqual([
      { pairs: [{ request, response: answered("c.ok.1") }], orphans: [] },
      { pairs: [{ request: orphan, response: cancelled("c.ok.1", "interrupted") }], orphans: [] },
    ]);
  });

  test("a response without a request is removed even if another turn has a request with its id", () => {
    verifies(
      "082/sanitize/orphaned-response-removed-in-own-turn",
      "082/sanitize/works-turn-by-turn",
    );
    const streams = [
      streamOf(...opening, inquiry("c"), answered("c"), ...opening, answered("c")),
      streamOf(...opening, answered("c"), ...opening, inquiry("c"), answered("c")),
    ];
    expect(streams.map(eventsIn)).toStrictEqual([
      [...opening, inquiry("c"), answered("c"), ...opening],
      [...opening, ...opening, inquiry("c"), answered("c")],
    ]);
  });

  test("the first of two inquiries with the same id keeps the only answer", () => {
    verifies("082/sanitize/duplicate-legacy-ids-keep-the-matched-pair");
    const [first, second] = [inquiry("c.ok", { text: "1?" }), inquiry("c.ok", { text: "2?" })];
    const paired = {
      pairs: [
        { request: first, response: answered("c.ok") },
        { request: second, response: cancelled("c.ok", "interrupted") },
      ],
      orphans: [],
    };
    expect(inquiriesIn(streamOf(...opening, first, answered("c.ok"), second))).toStrictEqual([
      paired,
    ]);
  });

  test("the first of two inquiries with the same id keeps an answer that follows both", () => {
    verifies("082/sanitize/duplicate-legacy-ids-keep-the-matched-pair");
    const [first, second] = [inquiry("c.ok", { text: "1?" }), inquiry("c.ok", { text: "2?" })];
    expect(inquiriesIn(streamOf(...opening, first, second, answered("c.ok")))).toStrictEqual([
      {
        pairs: [
          { request: first, response: answered("c.ok") },
          { request: second, response: cancelled("c.ok", "interrupted") },
        ],
        orphans: [],
      },
    ]);
  });

  test("the same object twice in a stream is handled at each position", () => {
    const [request, response] = [inquiry("c.ok.1"), answered("c.ok.1")];
    const stream = streamOf(...opening, request, response, ...opening, response);
    expect(eventsIn(stream)).toStrictEqual([...opening, request, response, ...opening]);
  });
});

describe("for any stream", () => {
  test("a model gets the same events whether inquiries are closed too or only calls", () => {
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        expect(visibleIn(sanitize(stream, "calls"))).toStrictEqual(visibleIn(sanitize(stream)));
      }),
    );
  });

  test("the record itself does not change", () => {
    verifies("082/sanitize/works-turn-by-turn");
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        const before = structuredClone({ ...stream, entries: rawOf(stream) });
        const events = structuredClone([...eventsOf(stream.entries)]);
        sanitize(stream);
        expect({ ...stream, entries: rawOf(stream) }).toStrictEqual(before);
        expect([...eventsOf(stream.entries)]).toStrictEqual(events);
      }),
    );
  });

  test("sanitizing twice changes nothing more", () => {
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        const view = sanitize(stream);
        expect(rawOf(sanitize(view))).toStrictEqual(rawOf(view));
      }),
      { numRuns: 500 },
    );
  });

  test("every call and inquiry is closed in its turn, and nothing else is", () => {
    verifies("082/sanitize/works-turn-by-turn");
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        const open = turnsOf(sanitize(stream).entries).flatMap(({ events }) => [
          ...pairToolCalls(events).orphans,
          ...pairInquiries(events).orphans,
          ...pairsOf(events).filter(([, response]) => response === undefined),
        ]);
        expect(open).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("every pair of the record stays a pair", () => {
    verifies("082/sanitize/duplicate-legacy-ids-keep-the-matched-pair");
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        const record = streamOf(...opening, ...stream.entries);
        const view = new Map(
          turnsOf(sanitize(record).entries).flatMap((turn) => pairsOf(turn.events)),
        );
        const lost = turnsOf(record.entries)
          .flatMap((turn) => pairsOf(turn.events))
          .filter(([request, response]) => response && view.get(request) !== response);
        expect(lost).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("the entries keep their order, and added ones have a known reason", () => {
    verifies("082/reason/unknown-tag-never-originates-here");
    fc.assert(
      fc.property(anyDamagedStream, (stream) => {
        const view = sanitize(stream);
        const added = view.entries.filter((entry) => !stream.entries.includes(entry));
        const kept = view.entries.filter((entry) => !added.includes(entry));
        const places = kept.map((entry) => stream.entries.indexOf(entry));
        expect(places).toEqual(places.toSorted((left, right) => left - right));
        expect(view.entries.filter(isNoEvent)).toHaveLength(
          stream.entries.filter(isNoEvent).length,
        );
        expect(added.map(({ event }) => event).filter((event) => !isOurs(event))).toEqual([]);
      }),
    );
  });
});

/** Each call and inquiry of a turn with its response. */
function pairsOf(
  events: readonly ConversationEvent[],
): (readonly [ConversationEvent, ConversationEvent | undefined])[] {
  const pairs = [...pairToolCalls(events).pairs, ...pairInquiries(events).pairs];
  return pairs.map(({ request, response }) => [request, response] as const);
}

function isNoEvent({ event }: StreamEntry): boolean {
  return event === undefined;
}

/** The three events that sanitizing may add. */
function isOurs(event: ConversationEvent | undefined): boolean {
  if (event?.type === "tool_call_response") return event.content === INTERRUPTED_CALL;
  if (event?.type !== "inquiry_response") return event?.type === "turn_start";
  return event.outcome === "cancelled" && REASONS.some((known) => known === event.reason);
}
