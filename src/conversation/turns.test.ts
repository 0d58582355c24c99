import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  anyDamagedStream,
  chatRequest,
  entriesOf,
  message,
  turnStart,
} from "../../test/support/events.ts";
import { StreamEntry } from "./entry.ts";
import { eventsOf } from "./stream.ts";
import { TurnCounter, turnsOf } from "./turns.ts";

test("a record without turn starts is one turn", () => {
  const events = [chatRequest("one"), message("1"), chatRequest("two"), message("2")];
  expect(turnsOf(entriesOf(...events))).toStrictEqual([{ index: 0, events }]);
});

test("every turn start begins a turn, and requests do not", () => {
  const first = [turnStart(), chatRequest("one"), chatRequest("and"), message("1")];
  const second = [turnStart(), chatRequest("two")];
  expect(turnsOf(entriesOf(...first, ...second))).toStrictEqual([
    { index: 0, events: first },
    { index: 1, events: second },
  ]);
});

test("events before the first turn start are a turn of their own", () => {
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

test("what is no event belongs to no turn and begins none", () => {
  const others = [
    StreamEntry.fromJson({ type: "config_delta", delta: {} }),
    StreamEntry.fromJson({ type: "from_the_future" }),
    StreamEntry.fromJson({ type: "compaction" }),
  ];
  const turn = [turnStart(), chatRequest("one")];
  const entries = [...others, ...entriesOf(...turn), ...others];
  expect(turnsOf(entries)).toStrictEqual([{ index: 0, events: turn }]);
});

test("an event that cannot be read is in no turn, but a turn that it begins is counted", () => {
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
