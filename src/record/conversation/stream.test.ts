import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  answered,
  at,
  chatRequest,
  entriesOf,
  inquiry,
  message,
  rawOf,
  streamOf,
  turnStart,
} from "./events.fixture.ts";
import type { JsonObject } from "../../util/index.ts";
import { StreamEntry } from "./entry.ts";
import { createStream, eventsOf } from "./stream.ts";
import { findSchema } from "./turns.ts";

describe("the base config", () => {
  const delta: JsonObject = { type: "config_delta", timestamp: at(0), delta: { model: "m-1" } };
  const inline: JsonObject = { type: "config_delta", timestamp: at(0), model: "m-0" };
  const request: JsonObject = { timestamp: at(0), type: "chat_request", content: "Hi" };

  test.each<[string, JsonObject | undefined, JsonObject[], JsonObject, JsonObject[]]>([
    ["is the file of its own, if there is one", { a: 1 }, [request], { a: 1 }, [request]],
    [
      "is a separate file, and a first delta stays a delta",
      { a: 1 },
      [delta, request],
      { a: 1 },
      [delta, request],
    ],
    [
      "is the first element of a packed record",
      undefined,
      [delta, request, delta],
      { model: "m-1" },
      [request, delta],
    ],
    [
      "is beside the type in the oldest packed records",
      undefined,
      [inline, request],
      { model: "m-0" },
      [request],
    ],
    [
      "is empty when the record begins with an event",
      undefined,
      [request, delta],
      {},
      [request, delta],
    ],
    ["is empty when there is nothing at all", undefined, [], {}, []],
  ])("%s", (_, file, elements, baseConfig, rest) => {
    const entries = elements.map((element) => StreamEntry.fromJson(element));
    const stream = createStream({ createdAt: at(0), baseConfig: file, entries });
    expect({ ...stream, entries: rawOf(stream) }).toStrictEqual({
      createdAt: at(0),
      baseConfig,
      entries: rest,
    });
  });
});

test("the events of a stream are the readable entries, in order", () => {
  const entries = entriesOf(
    turnStart(),
    StreamEntry.fromJson({ type: "config_delta", delta: {} }),
    StreamEntry.fromJson({ timestamp: at(0), type: "chat_request" }),
    StreamEntry.fromJson({ timestamp: at(0), type: "chat_request", content: "Hi" }),
    StreamEntry.fromJson({ type: "from_the_future" }),
    message("Hello"),
  );
  expect([...eventsOf(entries)]).toStrictEqual([turnStart(), chatRequest("Hi"), message("Hello")]);
});

describe("the schema of a stream", () => {
  const schema = { type: "object" };
  const other = { type: "array" };

  test("is that of the last turn", () => {
    const stream = streamOf(
      turnStart(),
      chatRequest("one", other),
      turnStart(),
      chatRequest("two", schema),
      message("2"),
    );
    expect(findSchema(stream)).toEqual(schema);
  });

  test("is found before inquiry events at the end", () => {
    verifies("005/schema/trailing-inquiry-does-not-hide-the-schema");
    const streams = [
      streamOf(turnStart(), chatRequest("one", schema), inquiry("c.ok.1")),
      streamOf(turnStart(), chatRequest("one", schema), inquiry("c.ok.1"), answered("c.ok.1")),
    ];
    expect(streams.map(findSchema)).toEqual([schema, schema]);
  });

  test("is that of the first request of the turn", () => {
    const streams = [
      streamOf(turnStart(), chatRequest("one", schema), chatRequest("and", other)),
      streamOf(turnStart(), chatRequest("one"), chatRequest("and", other)),
    ];
    expect(streams.map(findSchema)).toEqual([schema, undefined]);
  });

  test("is not that of an earlier turn", () => {
    const streams = [
      streamOf(turnStart(), chatRequest("one", schema), turnStart(), chatRequest("two")),
      streamOf(turnStart(), chatRequest("one", schema), turnStart()),
    ];
    expect(streams.map(findSchema)).toEqual([undefined, undefined]);
  });

  test("is found in records without turn starts", () => {
    expect(findSchema(streamOf(chatRequest("one", schema), message("1")))).toEqual(schema);
  });
});
