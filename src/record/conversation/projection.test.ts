import { describe, expect, test } from "vitest";
import {
  at,
  chatRequest,
  inquiry,
  message,
  reasoning,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
  turnUndo,
} from "./events.fixture.ts";
import type { JsonObject } from "../../util/index.ts";
import { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";
import { project, trimLastTurn } from "./projection.ts";
import { type ConversationStream, eventsOf } from "./stream.ts";

const MARKER = "[The earlier part of this conversation was summarized. The summary follows.]";

const compaction = (from: number, to: number, fields: JsonObject): StreamEntry =>
  StreamEntry.fromJson({
    type: "compaction",
    timestamp: at(0),
    from_turn: from,
    to_turn: to,
    ...fields,
  });

const projectEvents = (stream: ConversationStream): ConversationEvent[] => [
  ...eventsOf(project(stream).entries),
];

const summary = (text: string): JsonObject => ({ summary: { summary: text } });

/** Turn 0 begins at `at(0)`, turn 1 at `at(1)`, and so on. */
const turn = (index: number): ConversationEvent[] =>
  [turnStart(), chatRequest(`ask ${index}`), message(`say ${index}`)].map((event) => ({
    ...event,
    timestamp: at(index),
  }));

const summarized = (index: number, text: string): ConversationEvent[] =>
  [turnStart(), chatRequest(MARKER), message(text)].map((event) => ({
    ...event,
    timestamp: at(index),
  }));

test("without compactions the stream is unchanged", () => {
  const others = [{ type: "config_delta", delta: {} }, { type: "from_the_future" }].map((raw) =>
    StreamEntry.fromJson(raw),
  );
  expect(projectEvents(streamOf(...turn(0), ...others, ...turn(1)))).toStrictEqual([
    ...turn(0),
    ...turn(1),
  ]);
});

describe("a summary", () => {
  test("replaces a run of turns, with the time of the first", () => {
    const stream = streamOf(...[0, 1, 2, 3].flatMap(turn), compaction(1, 2, summary("1 and 2")));
    expect(projectEvents(stream)).toStrictEqual([
      ...turn(0),
      ...summarized(1, "1 and 2"),
      ...turn(3),
    ]);
  });

  test("reaches to the end if it covers more turns than there are", () => {
    const stream = streamOf(...[0, 1, 2].flatMap(turn), compaction(1, 99, summary("the rest")));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...summarized(1, "the rest")]);
  });

  test("of turns that do not exist changes nothing", () => {
    const stream = streamOf(...turn(0), compaction(1, 9, summary("nothing")));
    expect(projectEvents(stream)).toStrictEqual(turn(0));
  });

  test("overrides every other policy for its turns, even a later one", () => {
    const stream = streamOf(
      ...turn(0),
      reasoning("Hm"),
      toolCall("c"),
      toolResult("c"),
      compaction(0, 0, summary("all of it")),
      compaction(0, 0, { timestamp: at(9), tool_calls: { policy: "omit" }, reasoning: "strip" }),
    );
    expect(projectEvents(stream)).toStrictEqual(summarized(0, "all of it"));
  });

  test("of the latest compaction wins, wherever it is in the record", () => {
    const stream = streamOf(
      compaction(0, 1, { timestamp: "2026-01-02 03:04:05.000000002", ...summary("younger") }),
      ...turn(0),
      ...turn(1),
      compaction(0, 1, { timestamp: "2026-01-02 03:04:05.000000001", ...summary("older") }),
    );
    expect(projectEvents(stream)).toStrictEqual(summarized(0, "younger"));
  });

  test("of two compactions with the same time, the later one in the record wins", () => {
    const stream = streamOf(
      ...turn(0),
      compaction(0, 0, summary("first")),
      compaction(0, 0, summary("second")),
    );
    expect(projectEvents(stream)).toStrictEqual(summarized(0, "second"));
  });

  test("that a later one interrupts is repeated for each of its runs", () => {
    const stream = streamOf(
      ...[0, 1, 2, 3].flatMap(turn),
      compaction(0, 3, summary("older")),
      compaction(1, 1, { timestamp: at(9), ...summary("younger") }),
    );
    expect(projectEvents(stream)).toStrictEqual([
      ...summarized(0, "older"),
      ...summarized(1, "younger"),
      ...summarized(2, "older"),
    ]);
  });
});

describe("the other policies", () => {
  const call = toolCall("c", "fs_read", { path: "a" });
  const result = toolResult("c", "a long text");

  test("reasoning is removed from the covered turns only", () => {
    const stream = streamOf(
      ...turn(0),
      reasoning("Hm"),
      ...turn(1),
      reasoning("Aha"),
      compaction(0, 0, { reasoning: "strip" }),
    );
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(1), reasoning("Aha")]);
  });

  test.each<[string, JsonObject, ConversationEvent[]]>([
    ["are left out, with their results", { policy: "omit" }, []],
    [
      "lose their arguments",
      { policy: "strip", request: true },
      [toolCall("c", "fs_read"), result],
    ],
    [
      "lose their results",
      { policy: "strip", response: true },
      [call, toolResult("c", "[compacted] fs_read: success")],
    ],
    [
      "lose both",
      { policy: "strip", request: true, response: true },
      [toolCall("c", "fs_read"), toolResult("c", "[compacted] fs_read: success")],
    ],
    ["lose nothing when nothing is named", { policy: "strip" }, [call, result]],
  ])("tool calls %s", (_, policy, events) => {
    const stream = streamOf(...turn(0), call, result, compaction(0, 0, { tool_calls: policy }));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...events]);
  });

  test("a compacted failure still says that it failed", () => {
    const stream = streamOf(
      call,
      toolResult("c", "a long text", true),
      compaction(0, 0, { tool_calls: { policy: "strip", response: true } }),
    );
    expect(projectEvents(stream)).toStrictEqual([
      call,
      toolResult("c", "[compacted] fs_read: error", true),
    ]);
  });

  test("a compacted result names its call, even if ids collide", () => {
    const calls = [toolCall("c", "first"), toolCall("c", "second")];
    const stream = streamOf(
      ...calls,
      toolResult("c", "1"),
      toolResult("c", "2"),
      compaction(0, 0, { tool_calls: { policy: "strip", response: true } }),
    );
    expect(projectEvents(stream)).toStrictEqual([
      ...calls,
      toolResult("c", "[compacted] first: success"),
      toolResult("c", "[compacted] second: success"),
    ]);
  });

  test("each policy comes from the latest compaction that has it", () => {
    const stream = streamOf(
      reasoning("Hm"),
      call,
      result,
      compaction(0, 0, { reasoning: "strip", tool_calls: { policy: "omit" } }),
      compaction(0, 0, {
        timestamp: at(9),
        tool_calls: { policy: "strip", request: true },
      }),
    );
    expect(projectEvents(stream)).toStrictEqual([toolCall("c", "fs_read"), result]);
  });

  test("everything else in a turn is unchanged", () => {
    const events = [turnStart(), chatRequest("Hi"), inquiry("c.ok.1"), message("Hello")];
    const all = { reasoning: "strip", tool_calls: { policy: "omit" } };
    expect(projectEvents(streamOf(...events, compaction(0, 0, all)))).toStrictEqual(events);
  });
});

test("a compaction that cannot be read changes nothing", () => {
  const broken = StreamEntry.fromJson({ type: "compaction", from_turn: 0, to_turn: 9 });
  expect(projectEvents(streamOf(...turn(0), broken))).toStrictEqual(turn(0));
});

test("a turn that is too long keeps only the files of its last results", () => {
  const image = { type: "image", mimeType: "image/png", data: "A".repeat(8) } as const;
  const call = (id: string) => [
    toolCall(id, "look", {}),
    { ...toolResult(id, "ok"), blocks: [image] },
  ];
  const stream = streamOf(turnStart(), chatRequest("Look."), ...call("a"), ...call("b"));
  const results = [...eventsOf(trimLastTurn(stream).entries)].flatMap((event) =>
    event.type === "tool_call_response" ? [[event.content, event.blocks?.length]] : [],
  );
  expect(results).toEqual([
    ["[compacted] look: success", undefined],
    ["ok", 1],
  ]);
});

const again = (index: number): ConversationEvent[] =>
  turn(index).map((event) =>
    event.type === "chat_request" ? { ...event, replacesTurn: true } : event,
  );

describe("a turn that the user has undone with its message", () => {
  test("is not seen, wherever it is", () => {
    const stream = streamOf(
      ...turn(0),
      ...turn(1),
      ...turn(2),
      turnUndo(2),
      turnUndo(1),
      ...turn(3),
    );
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(3)]);
  });

  test("replaces nothing any more", () => {
    const stream = streamOf(...turn(0), ...turn(1), ...again(2), turnUndo(2), ...turn(3));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(1), ...turn(3)]);
  });

  test("is seen if only its files were undone", () => {
    const { hidesTurn: _, ...event } = turnUndo(1);
    const stream = streamOf(...turn(0), ...turn(1), event, ...turn(2));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(1), event, ...turn(2)]);
  });
});

describe("a turn that replaces the one before", () => {
  test("is seen in its place", () => {
    const stream = streamOf(...turn(0), ...turn(1), ...again(2), ...turn(3));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(2), ...turn(3)]);
  });

  test("can be replaced in turn", () => {
    const stream = streamOf(...turn(0), ...turn(1), ...again(2), ...again(3));
    expect(projectEvents(stream)).toStrictEqual([...turn(0), ...turn(3)]);
  });

  test("replaces nothing more when the view is projected again", () => {
    const once = project(streamOf(...turn(0), ...turn(1), ...again(2)));
    expect(projectEvents(once)).toStrictEqual([...turn(0), ...turn(2)]);
  });

  test("replaces nothing if it is the first", () => {
    expect(projectEvents(streamOf(...again(0), ...turn(1)))).toStrictEqual([
      ...turn(0),
      ...turn(1),
    ]);
  });

  test("counts for compactions, which go by number, and leaves a summary of the replaced turn", () => {
    const stream = streamOf(
      ...turn(0),
      ...turn(1),
      compaction(0, 1, summary("both")),
      ...again(2),
      compaction(2, 2, { reasoning: "strip" }),
    );
    expect(projectEvents(stream)).toStrictEqual([...summarized(0, "both"), ...turn(2)]);
  });
});
