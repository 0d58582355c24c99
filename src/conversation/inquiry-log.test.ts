import * as fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import { counters } from "../../test/security/threats.ts";
import {
  answered,
  anyDamagedStream,
  cancelled,
  chatRequest,
  decisionVoid,
  entriesOf,
  inquiry,
  permission,
  turnStart,
} from "./events.fixture.ts";
import { StreamEntry } from "./entry.ts";
import { InquiryLog } from "./inquiry-log.ts";
import { pairInquiries, turnsOf } from "./turns.ts";

test("the inquiries of a turn are returned when the next turn starts, or at the end", () => {
  const log = new InquiryLog();
  const first = { request: inquiry("c.ok.1"), response: answered("c.ok.1") };
  const second = { request: inquiry("c.ok.1"), response: cancelled("c.ok.1", "user") };
  const results = [
    log.read(entriesOf(turnStart(), first.request)),
    log.read(entriesOf(first.response)),
    log.read(entriesOf(turnStart(), chatRequest("Hi"), second.request, second.response)),
    log.end(),
    log.end(),
  ];
  expect(results).toStrictEqual([[], [], [{ turn: 0, ...first }], [{ turn: 1, ...second }], []]);
});

test("an inquiry that is not closed in its turn has no response", () => {
  verifies("082/pairing/never-across-turns");
  const log = new InquiryLog();
  const request = inquiry("c.ok.1");
  const results = [
    log.read(entriesOf(turnStart(), request, turnStart(), answered("c.ok.1"))),
    log.end(),
  ];
  expect(results).toStrictEqual([[{ turn: 0, request }], []]);
});

test("an inquiry whose answer no longer counts says so", () => {
  const log = new InquiryLog();
  const pair = { request: inquiry("c.ok.1"), response: answered("c.ok.1") };
  const again = { request: inquiry("c.ok.2"), response: answered("c.ok.2", false) };
  const madeVoid = decisionVoid("c.ok.1", "file");
  const entries = entriesOf(
    turnStart(),
    pair.request,
    pair.response,
    madeVoid,
    again.request,
    again.response,
  );
  expect([...log.read(entries), ...log.end()]).toStrictEqual([
    { turn: 0, ...pair, madeVoid },
    { turn: 0, ...again },
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
  const log = new InquiryLog();
  const entries = entriesOf(turnStart(), edited, permission("call_2"), request, other);
  const logged = [...log.read(entries), ...log.read(entriesOf(turnStart(), request)), ...log.end()];
  expect(logged).toStrictEqual([
    { turn: 0, request, edited },
    { turn: 0, request: other },
    { turn: 1, request },
  ]);
});

test("inquiries are the same as in the turns, however the entries are split", () => {
  verifies("082/pairing/never-across-turns");
  fc.assert(
    fc.property(anyDamagedStream, fc.nat({ max: 24 }), ({ entries }, cut) => {
      const log = new InquiryLog();
      const logged = [
        ...log.read(entries.slice(0, cut)),
        ...log.read(entries.slice(cut)),
        ...log.end(),
      ];
      const listed = turnsOf(entries).flatMap(({ index, events }) =>
        pairInquiries(events).pairs.map((pair) => ({ turn: index, ...pair })),
      );
      expect(logged.map(({ edited: _edited, ...rest }) => rest)).toStrictEqual(listed);
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
