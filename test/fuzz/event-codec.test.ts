/** The codec of the record, with any content of a file and any damage to it. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, expect } from "vitest";
import {
  type ConversationEvent,
  eventToJson,
  eventToPlainJson,
  metadataToJson,
  parseEvent,
  parseMetadata,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { readEntries } from "../../src/stores/fs/event-reader.ts";
import { isJsonObject, type JsonObject, ShapeError } from "../../src/util/index.ts";
import { anyEvent, at } from "../../src/record/conversation/events.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import { canParse, fuzz, thrownBy } from "./fuzz.ts";
import { changedJson, hostileJson, withDepths } from "./hostile-json.ts";
import { damagedText, hostileText } from "./hostile-text.ts";
import { scratchFolder } from "./scratch-folder.ts";

const folder = scratchFolder();
afterAll(() => folder[Symbol.dispose]());

/** The reader tolerates stray characters between values. */
const EMPTY_LIST = /^[\x01-\x20,\ufeff]*\[[\x01-\x20,\ufeff]*\][\x01-\x20,\ufeff]*$/;

const compaction: fc.Arbitrary<JsonObject> = fc.record({
  timestamp: fc.constant(at(0)),
  type: fc.constant("compaction"),
  from_turn: fc.nat(3),
  to_turn: fc.nat(3),
  summary: fc.option(fc.record({ summary: hostileText })),
  reasoning: fc.option(fc.constant("strip")),
  tool_calls: fc.option(
    fc.record({ policy: fc.constantFrom("strip", "omit"), request: fc.boolean() }),
  ),
});

/** Notations of other and older programs. */
const older: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject>(
  { timestamp: at(0), type: "inquiry_response", id: "a", answer: false },
  { timestamp: at(0), type: "inquiry_response", id: "a" },
  { timestamp: at(0), type: "inquiry_response", id: "a", outcome: "answered" },
  { timestamp: at(0), type: "inquiry_response", id: "a", outcome: "cancelled" },
  {
    timestamp: at(0),
    type: "inquiry_request",
    id: "a",
    source: { source: "committee" },
    question: { text: "?", answer_type: "Boolean" },
  },
  { timestamp: at(0), type: "tool_call_request", id: "a", name: "b" },
  {
    timestamp: at(0),
    type: "permission_decision",
    tool_call_id: "a",
    tool: "b",
    decision: "denied",
    decided_by: { kind: "policy", key: "conversation.tools.b.run" },
    reason: "No one answered in time.",
  },
  { timestamp: "2026-01-02T03:04:05+01:00", type: "turn_start", answers: {} },
  { timestamp: at(0), type: "config_delta", assistant: { name: "jp" } },
  {
    timestamp: at(0),
    type: "compaction",
    from_turn: 0,
    to_turn: 1,
    tool_calls: { policy: "strip" },
  },
);

/** All kinds of elements of a record, as JSON. */
const element: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 2, arbitrary: older },
  { weight: 8, arbitrary: anyEvent.map(eventToJson) },
  { weight: 1, arbitrary: compaction },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom("config_delta", "from_the_future"),
      timestamp: fc.constant(at(0)),
      delta: hostileJson,
    }),
  },
);

const metadata = fc.record({
  title: hostileText,
  last_activated_at: fc.constant(at(0)),
  pinned_at: fc.option(fc.constant(at(1))),
  labels: fc.dictionary(hostileText, hostileText, { maxKeys: 2 }),
  of_another_version: hostileJson,
});

fuzz(
  "an event is decoded, or rejected with a reason",
  1500,
  fc.property(fc.oneof(changedJson(element), hostileJson), (value) => {
    const error = thrownBy(() => parseEvent(withDepths(value)));
    if (error !== undefined) expect(error).toBeInstanceOf(ShapeError);
  }),
);

fuzz(
  "any entry can be read, and is written back unchanged",
  1000,
  fc.property(changedJson(element), (value) => {
    if (!isJsonObject(value)) return;
    const text = JSON.stringify(value);
    const entry = StreamEntry.fromJson(JSON.parse(text) as JsonObject);
    expect(["event", "config_delta", "compaction", "unknown", "malformed"]).toContain(
      entry.content.kind,
    );
    expect(JSON.stringify(entry.raw)).toBe(text);
  }),
);

fuzz(
  "an entry of any depth can be read",
  150,
  fc.property(changedJson(element), (marked) => {
    const value = withDepths(marked);
    if (isJsonObject(value)) expect(StreamEntry.fromJson(value).content.kind).toBeTypeOf("string");
  }),
);

fuzz(
  "events with any text and with unknown fields survive a round trip",
  600,
  fc.property(
    anyEvent,
    hostileText.map((text) => text.toWellFormed()),
    fc.array(fc.tuple(fc.constantFrom("__proto__", "constructor", "x", ""), hostileJson)),
    (event, text, unknown) => {
      const extra = Object.fromEntries(unknown);
      const whole = withText({ ...event, ...(unknown.length > 0 && { extra }) }, text);
      const written = JSON.stringify(eventToJson(whole));
      fc.pre(canParse(eventToJson(whole)));
      expect(JSON.stringify(eventToJson(parseEvent(JSON.parse(written))))).toBe(written);
      const plain = eventToPlainJson(parseEvent(JSON.parse(written)));
      expect(JSON.stringify(plain)).toBe(JSON.stringify(eventToPlainJson(whole)));
    },
  ),
);

fuzz(
  "metadata is decoded or rejected, and unknown fields are kept",
  500,
  fc.property(changedJson(metadata), (value) => {
    const error = thrownBy(() => parseMetadata(value));
    if (error !== undefined) {
      expect(error).toBeInstanceOf(ShapeError);
      return;
    }
    const written = JSON.stringify(metadataToJson(parseMetadata(value)));
    expect(JSON.stringify(metadataToJson(parseMetadata(JSON.parse(written))))).toBe(written);
  }),
);

fuzz(
  "all readable elements of a damaged file are read, and the damage is reported",
  250,
  fc.property(damagedText(fc.array(element, { maxLength: 5 }).map(laidOut)), (text) => {
    const { elements, problems } = read(text);
    for (const each of elements) expect(StreamEntry.fromJson(each).content.kind).toBeDefined();
    const parsed = parseList(text);
    if (parsed !== undefined) {
      expect(JSON.stringify(elements)).toBe(JSON.stringify(parsed));
      expect(problems).toEqual([]);
    } else if (elements.length === 0 && !EMPTY_LIST.test(text)) expect(problems).not.toEqual([]);
  }),
);

fuzz(
  "damage in one element does not affect the others",
  250,
  fc.property(
    fc.array(anyEvent.map(eventToJson), { minLength: 3, maxLength: 6 }),
    fc.nat(),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.constantFrom('"', "\\", "{", "}", "[", "]", "\0", ",,", "}{", '\\"', "\ufffd", "…"),
    (elements, which, share, piece) => {
      fc.pre(canParse(elements));
      const hit = which % elements.length;
      const texts = elements.map((each) => laidOut([each]).slice(4, -3));
      const whole = texts[hit] ?? "";
      const place = 1 + Math.floor(share * (whole.length - 2));
      const harmed = whole.slice(0, place) + piece + whole.slice(place);
      const list = texts.with(hit, harmed).join(",\n  ");
      const readable = read(`[\n  ${list}\n]\n`).elements;
      const found = new Set(readable.map((each) => JSON.stringify(each)));
      const others = elements
        .filter((_, index) => index !== hit)
        .map((each) => JSON.stringify(each));
      expect(others.filter((each) => !found.has(each))).toEqual([]);
    },
  ),
);

fuzz(
  "every element before the cut of a truncated file is read",
  200,
  fc.property(
    fc.array(element, { minLength: 1, maxLength: 5 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (elements, share) => {
      fc.pre(canParse(elements));
      const bytes = Buffer.from(laidOut(elements));
      const length = Math.floor(share * bytes.length);
      const found = read(bytes.subarray(0, length)).elements;
      const isWhole = elements.map(
        (_, index) => Buffer.byteLength(laidOut(elements.slice(0, index + 1))) - 3 <= length,
      );
      const expected = elements.slice(0, isWhole.lastIndexOf(true) + 1);
      expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
    },
  ),
);

function read(text: string | Buffer) {
  const file = path.join(folder.path, "events.json");
  writeFileSync(file, text);
  const batches = [...readEntries(file)];
  return {
    elements: batches.flatMap(({ entries }) => entries.map(({ raw }) => raw)),
    problems: batches.flatMap((batch) => batch.problems),
  };
}

/** The elements according to `JSON.parse`, if the text is a list of objects. */
function parseList(text: string): readonly JsonObject[] | undefined {
  try {
    // Files contain bytes, which cannot encode half a character.
    const value: unknown = JSON.parse(text.toWellFormed().replace(/^\ufeff/, ""));
    return Array.isArray(value) && value.every(isJsonObject) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An event with the text in every free field. */
function withText(event: ConversationEvent, text: string): ConversationEvent {
  switch (event.type) {
    case "chat_request":
      return { ...event, content: text, author: text };
    case "tool_call_request":
      return { ...event, id: text, name: text, arguments: { [text]: [text] } };
    case "tool_call_response":
      return { ...event, content: text };
    case "inquiry_request":
      return { ...event, question: { ...event.question, text, context: text } };
    case "permission_request":
      return {
        ...event,
        tool: text,
        arguments: { [text]: [text] },
        origin: { type: "mcp", server: text, tool: text, command: text },
        folder: text,
      };
    case "permission_decision":
      return { ...event, reason: text, cause: "prompt_failed", problem: text, tool: text };
    case "decision_void":
      return { ...event, changed: [text] };
    case "decision_vote":
      return { ...event, note: text, answer: { [text]: [text] } };
    case "attempt_start":
      return { ...event, toolCallId: text };
    case "tool_step":
      return { ...event, toolCallId: text, name: text, result: { [text]: [text] }, failure: text };
    case "inquiry_escalation":
    case "inquiry_response":
      return event.outcome === "cancelled" ? { ...event, problem: text } : event;
    case "token_usage":
      return { ...event, model: text, purpose: text };
    case "reply_sources":
      return { ...event, sources: [{ url: text, title: text, filename: text, mediaType: text }] };
    case "reply_failure":
      return { ...event, code: text };
    case "turn_undo":
      return { ...event, files: [{ path: text, change: "removed" }] };
    case "chat_response":
    case "reply_file":
    case "turn_start":
    case "turn_resume":
    case "turn_end":
      return event;
  }
}
