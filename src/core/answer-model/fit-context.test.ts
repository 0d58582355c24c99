import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anyDamagedStream,
  answered,
  chatRequest,
  inquiry,
  message,
  rawOf,
  reasoning,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  StreamEntry,
  turnsOf,
  requestTokens,
} from "../../record/conversation/index.ts";
import { fitContext } from "./fit-context.ts";

/** A turn with this many tokens. */
function turn(tokens: number): readonly ConversationEvent[] {
  return [turnStart(), chatRequest("x".repeat(tokens * 3))];
}

function turnsLeft(sizes: readonly number[], contextWindow: number, overhead = 0): number {
  const stream = streamOf(...sizes.flatMap(turn));
  return turnsOf(fitContext({ stream, overhead, contextWindow }).entries).length;
}

describe("a conversation", () => {
  test("stays whole if the context window is unknown", () => {
    const stream = streamOf(...turn(1e5), ...turn(1));
    expect(fitContext({ stream, overhead: 1e9, contextWindow: undefined })).toBe(stream);
  });

  test("stays whole if it fills nine tenths of the window", () => {
    const stream = streamOf(...turn(40), ...turn(40));
    expect(fitContext({ stream, overhead: 10, contextWindow: 100 })).toBe(stream);
  });

  test("loses its oldest turns if it fills more, until two tenths are free", () => {
    expect(turnsLeft([10, 10, 10, 10, 10, 10, 10, 10, 11], 100)).toBe(7);
  });

  test("shares the window with the rest of the request", () => {
    expect(
      [0, 40, 41, 70].map((overhead) => turnsLeft([10, 10, 10, 10, 10], 100, overhead)),
    ).toEqual([5, 5, 3, 1]);
  });

  test("never loses the current turn, even if it is too long by itself", () => {
    expect([turnsLeft([10, 500], 100), turnsLeft([500], 100)]).toEqual([1, 1]);
  });

  test("starts at the same turn until it has grown by a tenth of the window", () => {
    const past = Array.from({ length: 80 }, () => 1);
    const left = [11, 12, 15, 20].map((current) => turnsLeft([...past, current], 100));
    expect({ left, next: turnsLeft([...past, 21], 100) }).toEqual({
      left: [61, 61, 61, 61],
      next: 51,
    });
  });

  test("counts a file as much as a large image, not by its size", () => {
    const files = [{ mediaType: "image/png", data: "A".repeat(1_000_000) }];
    const past = [turnStart(), { ...chatRequest("Hi"), files }];
    const left = [2000, 1600].map((contextWindow) => {
      const stream = streamOf(...past, ...turn(1));
      return turnsOf(fitContext({ stream, overhead: 0, contextWindow }).entries).length;
    });
    expect(left).toEqual([2, 1]);
  });

  test("counts text in a file by its length, and images in a result like those of a message", () => {
    const text = { mediaType: "text/plain", data: btoa("x".repeat(3000)) };
    const image = { type: "image", mimeType: "image/png", data: "A".repeat(8) } as const;
    const parts = { systemParts: [] };
    const sizes = [
      { ...chatRequest(""), files: [text] },
      { ...toolResult("id", ""), blocks: [image] },
    ].map((event) => Math.round(requestTokens({ ...parts, events: [event] }, [])));
    expect(sizes).toEqual([1001, 1501]);
  });

  test("keeps entries that are not events", () => {
    const delta = StreamEntry.fromJson({ type: "config_delta", delta: { a: 1 } });
    const stream = streamOf(...turn(90), delta, ...turn(10));
    const fitted = fitContext({ stream, overhead: 0, contextWindow: 100 });
    expect(rawOf(fitted)).toEqual([delta.raw, ...rawOf(streamOf(...turn(10)))]);
  });
});

test("only what a provider sees counts", () => {
  const seen = [
    chatRequest("abc"),
    message("abc"),
    reasoning("abc"),
    { ...message(""), content: { type: "structured", data: { a: 1 } } } as const,
    toolCall("id", "abc", { a: 1 }),
    toolResult("id", "abc"),
  ];
  const hidden = [inquiry("i", { text: "x".repeat(999) }), answered("i", "x".repeat(999))];
  const tokens = (3 + 3 + 3 + 7 + 3 + 7 + 3) / 3;
  const current = [turnStart(), chatRequest("")];
  const stream = streamOf(turnStart(), ...seen, ...hidden, ...current);
  const fits = (contextWindow: number) =>
    fitContext({ stream, overhead: 0, contextWindow }) === stream;
  expect([fits(tokens / 0.9 + 0.001), fits(tokens / 0.9 - 0.001)]).toEqual([true, false]);
});

test("a request needs room for its system parts, its tools, its schema and its question", () => {
  const parts = {
    systemParts: [{ tag: "prompt", text: "abc" }],
    events: [chatRequest("abcdef")],
    schema: { a: 1 },
  } as const;
  const tools = [{ name: "t", description: "d", parameters: {} }];
  expect(requestTokens(parts, tools)).toBe((3 + 6 + 7 + JSON.stringify(tools).length) / 3);
});

test("only whole turns are dropped, so that no call loses its response", () => {
  fc.assert(
    fc.property(anyDamagedStream, fc.nat(60), fc.nat(20), (stream, contextWindow, overhead) => {
      const fitted = fitContext({ stream, overhead, contextWindow });
      const [before, after] = [turnsOf(stream.entries), turnsOf(fitted.entries)];
      const kept = before.slice(before.length - after.length);
      const events = (turns: typeof before) => turns.map((each) => each.events);
      expect(events(after)).toStrictEqual(events(kept));
      expect(after.length).toBeGreaterThanOrEqual(Math.min(1, before.length));
      expect(countOfOthers(fitted)).toBe(countOfOthers(stream));
    }),
  );
});

function countOfOthers({ entries }: ConversationStream): number {
  return entries.length - [...eventsOf(entries)].length;
}
