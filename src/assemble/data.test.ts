import * as valibot from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { toolboxOf } from "../core/agent/tool-turn.fixture.ts";
import { type ConversationEvent, eventsOf, StreamEntry } from "../record/conversation/index.ts";
import { transcript } from "../record/conversation/transcript.fixture.ts";
import type { ConversationWriter } from "../stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  type ScriptedReply,
} from "../testing/index.ts";
import { defineTool, type StandardSchema } from "../record/tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { resumeTurn, runTurn, streamTurn, type TurnOptions } from "./index.ts";
import { replayConversation } from "../cli/replay/index.ts";

const clock = new FakeClock();

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city"],
};
const MESSAGE = { content: "Which city?", schema: SCHEMA };
const FITS: ScriptedReply = '{"city":"Bonn"}';
const WRONG: ScriptedReply = '{"city":5,"people":"many"}';
const PROBLEM = '`city`: expected string, got 5\n`people`: expected integer, got "many"';
const NOT_JSON = "the answer is not JSON";
const FENCED: ScriptedReply = '```json\n{"city":"Bonn"}\n```';
const AGAIN = [
  "[Your answer cannot be used:",
  "- `city`: expected string, got 5",
  '- `people`: expected integer, got "many"',
  "Answer again with one JSON document and nothing else. It must match this JSON Schema: " +
    `${JSON.stringify(SCHEMA)}]`,
].join("\n");

const look = defineTool({
  name: "look",
  description: "Looks.",
  parameters: { type: "object" },
  run: () => "It rains.",
});
const CALL: ScriptedReply = [{ type: "tool_call", id: "call_1", name: "look" }];

/** A program's own rules, which no JSON Schema has. */
const NO_CITY = "there is no such city";
const isCity = (name: string) => name !== "Atlantis";
const KNOWN_CITY = z.object({
  city: z
    .string()
    .refine(isCity, NO_CITY)
    .transform((name) => name.toUpperCase()),
  near: z.array(z.string().refine(isCity, NO_CITY)).optional(),
});
const MANY: ScriptedReply = JSON.stringify({ city: "Bonn", near: Array(15).fill("Atlantis") });

async function openConversation(
  events: readonly ConversationEvent[] = [],
): Promise<ConversationWriter> {
  const entries = events.map((event) => StreamEntry.fromEvent(event));
  return new MemoryConversationStore(clock).create({ entries, isOwnTurn: true });
}

async function setUp(replies: readonly ScriptedReply[], events: readonly ConversationEvent[] = []) {
  const conversation = await openConversation(events);
  const model = new ScriptedModel({ replies });
  return { conversation, model, options: { conversation, model, tools: [look], clock } };
}

const recordOf = ({ stream }: ConversationWriter) => transcript(eventsOf(stream.entries));

describe("an answer that has to fit a schema", () => {
  test("is the data of the result if it fits", async () => {
    const { options, model, conversation } = await setUp([FITS]);
    expect(await runTurn(options, MESSAGE)).toMatchObject({
      type: "done",
      reason: "stop",
      text: '{"city":"Bonn"}',
      data: { city: "Bonn" },
    });
    expect([model.requests.length, recordOf(conversation)]).toEqual([
      1,
      ["turn", "person: Which city?", 'structured: {"city":"Bonn"}', "turn done"],
    ]);
  });

  test("is asked for again if it does not fit, with what is wrong with it", async () => {
    const { options, model, conversation } = await setUp([WRONG, FITS]);
    const { data, text } = await runTurn(options, MESSAGE);
    expect({ data, text, schemas: model.requests.map(({ parts }) => parts.schema) }).toEqual({
      data: { city: "Bonn" },
      text: '{"city":"Bonn"}',
      schemas: [SCHEMA, SCHEMA],
    });
    const first = ["person: Which city?", `structured: ${WRONG}`, `person: ${AGAIN}`];
    expect(transcript(model.requests[1]?.parts.events ?? [])).toEqual(first);
    expect(recordOf(conversation)).toEqual([
      "turn",
      ...first,
      'structured: {"city":"Bonn"}',
      "turn done",
    ]);
  });

  test("is asked for again in the name of jp, not of the user", async () => {
    const { options, conversation } = await setUp([WRONG, FITS]);
    await runTurn(options, { ...MESSAGE, author: "Ada" });
    const requests = [...eventsOf(conversation.stream.entries)].filter(
      ({ type }) => type === "chat_request",
    );
    expect(requests).toMatchObject([
      { author: "Ada", isChecked: true },
      { author: "jp", correction: PROBLEM },
    ]);
  });

  test.each<[string, readonly ScriptedReply[], object]>([
    ["does not fit twice", [WRONG, WRONG], { kind: "mismatch", problem: PROBLEM }],
    ["is not JSON twice", ["Bonn.", "Bonn!"], { kind: "not_json", problem: NOT_JSON }],
    ["is missing twice", ["", ""], { kind: "not_json", problem: NOT_JSON }],
    ["is in a code block twice", [FENCED, FENCED], { kind: "not_json" }],
  ])("that %s ends the turn without data", async (_what, replies, end) => {
    const { options, model, conversation } = await setUp(replies);
    const result = await runTurn(options, MESSAGE);
    expect(result).toMatchObject({ type: "invalid_data", ...end });
    expect([result.data, model.requests.length]).toEqual([undefined, 2]);
    expect(recordOf(conversation).at(-1)).toBe("turn done");
  });

  test("may come after calls, before and after the correction", async () => {
    const { options, model } = await setUp([CALL, "Bonn.", CALL, FITS]);
    const { data } = await runTurn(options, MESSAGE);
    expect([data, model.requests.length]).toEqual([{ city: "Bonn" }, 4]);
  });

  test.each(["length", "refused"] as const)(
    "that is not given because of %s is not asked for again",
    async (reason) => {
      const { options, conversation } = await setUp([
        [
          { type: "text", text: '{"city":' },
          { type: "end", reason },
        ],
      ]);
      const result = await runTurn(options, MESSAGE);
      expect([result, result.data]).toEqual([
        expect.objectContaining({ type: "done", reason }),
        undefined,
      ]);
      expect([...eventsOf(conversation.stream.entries)].at(-1)).toMatchObject({ cause: reason });
    },
  );

  test("counts if it is complete at the length limit", async () => {
    const { options } = await setUp([
      [
        { type: "text", text: '{"city":"Bonn"}' },
        { type: "end", reason: "length" },
      ],
    ]);
    expect(await runTurn(options, MESSAGE)).toMatchObject({ data: { city: "Bonn" } });
  });

  test("counts as a request when the number of requests is limited, and can be continued", async () => {
    const { options, conversation } = await setUp([WRONG, FITS]);
    const limited = await runTurn({ ...options, maxCycles: 1 }, MESSAGE);
    expect(limited).toMatchObject({ type: "cycle_limit", cycles: 1 });
    expect(await resumeTurn(conversation, options)).toMatchObject({ data: { city: "Bonn" } });
  });

  test("is streamed with the same result", async () => {
    const { options } = await setUp([WRONG, FITS]);
    const updates = streamTurn(options, MESSAGE);
    let next = await updates.next();
    while (next.done !== true) next = await updates.next();
    expect(next.value.data).toEqual({ city: "Bonn" });
  });

  test.each([
    ["that cannot be checked", { $ref: "#/nothing" }],
    ["of a type that there is not", { properties: { name: { type: "strin" } } }],
    ["that is not an object", "object"],
    ["that is a list", []],
    ["that is null", null],
  ])("is not asked for with a schema %s", async (_, given) => {
    const { options, conversation, model } = await setUp([]);
    const schema = given as JsonObject; // As a program without types may pass it.
    const run = runTurn(options, { content: "Hi", schema });
    await expect(run).rejects.toMatchObject({ code: "invalid_schema" });
    expect([recordOf(conversation), model.requests]).toEqual([[], []]);
  });
});

/** Never run: only for its types. */
function turnsOf(options: TurnOptions) {
  return {
    library: () => runTurn(options, { content: "", schema: KNOWN_CITY }),
    json: () => runTurn(options, MESSAGE),
    words: () => runTurn(options, "Hi"),
    plain: () => runTurn(options, { content: "Hi" }),
    streamed: () => streamTurn(options, { content: "", schema: KNOWN_CITY }),
    resumed: () => resumeTurn(options.conversation, options),
    retyped: () => resumeTurn(options.conversation, { ...options, schema: KNOWN_CITY }),
  };
}

describe("a schema of a library", () => {
  test("checks what a JSON Schema cannot, and converts the data", async () => {
    const { options, model } = await setUp(['{"city":"Atlantis"}', '{"city":"Bonn"}']);
    const result = await runTurn(options, { content: "Which city?", schema: KNOWN_CITY });
    expect([result.data, result.text]).toEqual([{ city: "BONN" }, '{"city":"Bonn"}']);
    expect(transcript(model.requests[1]?.parts.events ?? []).at(-1)).toContain(
      "- `city`: there is no such city\n",
    );
  });

  test("is not asked about data that does not fit its JSON Schema", async () => {
    const { options } = await setUp(['{"city":1}', '{"city":2}']);
    const result = await runTurn(options, { content: "Which city?", schema: KNOWN_CITY });
    expect(result).toMatchObject({ problem: "`city`: expected string, got 2" });
  });

  test("is quoted with its first ten problems", async () => {
    const { options } = await setUp([MANY, MANY]);
    const result = await runTurn(options, { content: "Which city?", schema: KNOWN_CITY });
    const problem = expect.stringMatching(
      /^(?:`near\.\d`: there is no such city\n){10}and 5 more$/,
    );
    expect(result).toMatchObject({ type: "invalid_data", kind: "mismatch", problem });
  });

  test("may be from valibot", async () => {
    const schema = valibot.object({ city: valibot.string() });
    const { options } = await setUp([FITS]);
    const { data } = await runTurn(options, { content: "Which city?", schema });
    expect(data).toEqual({ city: "Bonn" });
  });

  test("cannot change the record, nor can the program change it through the data", async () => {
    const { options, conversation } = await setUp([FITS, FITS]);
    const schema: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: (data) => ({ value: Object.assign(data as object, { city: "?" }) }),
        jsonSchema: { input: () => SCHEMA },
      },
    };
    const checked = await runTurn(options, { content: "Which city?", schema });
    expect(checked.data).toEqual({ city: "?" });
    const plain = await runTurn(options, MESSAGE);
    Object.assign(plain.data as object, { city: "!" });
    const said = [...eventsOf(conversation.stream.entries)].flatMap((event) =>
      event.type === "chat_response" ? [event.content] : [],
    );
    const structured = { type: "structured", data: { city: "Bonn" } };
    expect(said).toEqual([structured, structured]);
  });

  test("that takes forever does not keep the turn from ending", async () => {
    const abort = new AbortController();
    const schema = z.object({ city: z.string() }).refine(() => {
      abort.abort();
      return new Promise<boolean>(() => undefined);
    });
    const { options, conversation } = await setUp([FITS]);
    const message = { content: "Which city?", schema };
    const result = await runTurn({ ...options, signal: abort.signal }, message);
    expect([result.type, result.data]).toEqual(["interrupted", undefined]);
    const resumed = await resumeTurn(conversation, { ...options, schema: KNOWN_CITY });
    expect(resumed.data).toEqual({ city: "BONN" });
  });

  test("gives the data its type", () => {
    type Turns = ReturnType<typeof turnsOf>;
    type Data<Name extends Exclude<keyof Turns, "streamed">> = Awaited<
      ReturnType<Turns[Name]>
    >["data"];
    interface City {
      city: string;
      near?: string[] | undefined;
    }
    expectTypeOf<Data<"library">>().toEqualTypeOf<City | undefined>();
    expectTypeOf<Data<"json">>().toEqualTypeOf<Json | undefined>();
    expectTypeOf<Data<"words">>().toEqualTypeOf<undefined>();
    expectTypeOf<Data<"plain">>().toEqualTypeOf<undefined>();
    expectTypeOf<Data<"resumed">>().toEqualTypeOf<Json | undefined>();
    expectTypeOf<Data<"retyped">>().toEqualTypeOf<City | undefined>();
    type Streamed = Awaited<ReturnType<ReturnType<Turns["streamed"]>["next"]>>;
    type Returned = Extract<Streamed, { readonly done: true }>["value"]["data"];
    expectTypeOf<Returned>().toEqualTypeOf<City | undefined>();
  });
});

describe("a turn that ended before its data was checked", () => {
  test("asks again exactly once, wherever its process was killed", async () => {
    const whole = await setUp([WRONG, FITS]);
    const { events } = await runTurn(whole.options, MESSAGE);
    const ends = [];
    for (let count = 2; count <= events.length; count += 1) {
      // The replies that are not on record are still to come.
      const replies = [WRONG, FITS].slice(events.slice(2, count).filter(isReply).length);
      const left = await setUp(replies, events.slice(0, count));
      const { data } = await resumeTurn(left.conversation, left.options);
      const record = recordOf(left.conversation).filter((line) => line !== "resumed");
      ends.push({ data, record });
    }
    const end = { data: { city: "Bonn" }, record: recordOf(whole.conversation) };
    expect(ends).toEqual(events.slice(1).map(() => end));
  });

  test("is listed as incomplete", async () => {
    const store = new MemoryConversationStore(clock);
    const { options } = await setUp([WRONG, FITS]);
    const { events } = await runTurn(options, MESSAGE);
    const entries = events.slice(0, 3).map((event) => StreamEntry.fromEvent(event));
    const conversation = await store.create({ entries });
    await conversation.release();
    expect((await store.listPending()).map(({ id }) => id)).toEqual([conversation.id]);
  });

  test("is continued with one request if the second reply was aborted", async () => {
    const abort = new AbortController();
    const { options, conversation } = await setUp([WRONG, [{ type: "hang" }]]);
    const observer = {
      observe: (update: { readonly type: string; readonly cycle?: number }) => {
        if (update.type === "cycle_start" && update.cycle === 2) abort.abort();
      },
    };
    const aborted = await runTurn({ ...options, observer, signal: abort.signal }, MESSAGE);
    expect([aborted.type, aborted.data]).toEqual(["interrupted", undefined]);
    const model = new ScriptedModel({ replies: [FITS] });
    const { data } = await resumeTurn(conversation, { ...options, model });
    expect([data, model.requests.length]).toEqual([{ city: "Bonn" }, 1]);
  });

  test.each<[string, readonly ScriptedReply[]]>([
    ["data", [FITS]],
    ["invalid data", [WRONG, WRONG]],
    ["a refusal", [[{ type: "end", reason: "refused" }]]],
  ])("and is complete with %s ends as before, without a request", async (_what, replies) => {
    const { options, conversation } = await setUp(replies);
    const { events: _events, ...end } = await runTurn(options, MESSAGE);
    expect(await resumeTurn(conversation, options)).toMatchObject(end);
  });

  test("is not asked again by a version that checks, if an earlier one did not", async () => {
    const { options } = await setUp([WRONG, FITS]);
    const { events } = await runTurn(options, MESSAGE);
    const [start, request, reply] = events;
    const unchecked = { ...request, isChecked: false };
    const older = await setUp([], [start, unchecked, reply] as readonly ConversationEvent[]);
    const result = await resumeTurn(older.conversation, older.options);
    expect([result.type, result.data, older.model.requests]).toEqual(["done", undefined, []]);
    const stream = older.conversation.stream;
    expect(await replayConversation({ stream, toolbox: NO_TOOLS })).toEqual({ turns: 1 });
  });
});

const NO_TOOLS = toolboxOf({ tools: [], config: {} });

const isReply = ({ type }: ConversationEvent) => type === "chat_response";

describe("a replay takes the same way", () => {
  test.each<[string, readonly ScriptedReply[]]>([
    ["when the data fits", ['{"city":"Bonn"}']],
    ["when it fits at the second try", [WRONG, '{"city":"Bonn"}']],
    ["when it never fits", ["Bonn.", "Bonn!"]],
    ["when there is none", ["", ""]],
    ["when the program's own rules reject it once", ['{"city":"Atlantis"}', '{"city":"Bonn"}']],
    ["when they reject it twice", ['{"city":"Atlantis"}', '{"city":"Atlantis"}']],
    ["when the program's own rules reject much of it", [MANY, '{"city":"Bonn"}']],
    [
      "when the second reply is cut off",
      [
        "Bonn.",
        [
          { type: "text", text: '{"city":' },
          { type: "end", reason: "length" },
        ],
      ],
    ],
    [
      "when the reply is cut off",
      [
        [
          { type: "text", text: '{"city":' },
          { type: "end", reason: "length" },
        ],
      ],
    ],
    ["when the model refuses", [[{ type: "end", reason: "refused" }]]],
  ])("%s, also if its process was killed", async (_what, replies) => {
    const { options } = await setUp(replies);
    const { events } = await runTurn(options, { content: "Which city?", schema: KNOWN_CITY });
    for (let count = 2; count <= events.length; count += 1) {
      const { stream } = await openConversation(events.slice(0, count));
      const result = await replayConversation({ stream, toolbox: NO_TOOLS });
      expect({ count, ...result }).toEqual({ count, turns: 1 });
    }
  });
});
