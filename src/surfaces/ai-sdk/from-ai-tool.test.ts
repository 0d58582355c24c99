import { dynamicTool, jsonSchema, tool, type ToolSet, zodSchema } from "ai";
import { tool as tool6, type ToolSet as ToolSet6 } from "ai-6";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  type ConversationEvent,
  MemoryConversationStore,
  runTurn,
  type Tool,
} from "../../index.ts";
import { ScriptedModel, ScriptedPrompter } from "../../testing/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { type AiCallOptions, fromAiTool, fromAiTools } from "./index.ts";

const city = z.object({ city: z.string().transform((name) => name.toUpperCase()) });

/** Runs a turn in which the model calls the tool once. */
async function turnWith(
  weather: Tool,
  answers: readonly Json[] = [],
  args: JsonObject = { city: "Bonn" },
) {
  const model = new ScriptedModel({
    replies: [[{ type: "tool_call", id: "call_1", name: weather.name, arguments: args }], "Done."],
  });
  const prompter = new ScriptedPrompter({ answers: answers.map((answer) => ({ answer })) });
  const progress: string[] = [];
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore().create({}),
      model,
      tools: [weather],
      prompter,
      observer: {
        observe: (update) => {
          if (update.type === "tool_progress") progress.push(update.message);
        },
      },
    },
    "What is the weather?",
  );
  const [response] = ofType(events, "tool_call_response");
  return { events, prompter, progress, content: response?.content, isError: response?.isError };
}

function ofType<Type extends ConversationEvent["type"]>(
  events: readonly ConversationEvent[],
  type: Type,
) {
  return events.filter(
    (event): event is Extract<ConversationEvent, { type: Type }> => event.type === type,
  );
}

/** The result of a tool that returns its input. */
async function runWith(inputSchema: Parameters<typeof dynamicTool>[0]["inputSchema"]) {
  const weather = dynamicTool({ inputSchema, execute: (input) => JSON.stringify(input) });
  return (await turnWith(fromAiTool("weather", weather))).content;
}

function accept(value: unknown) {
  return { success: true as const, value: { checked: value } };
}

function refuse() {
  return { success: false as const, error: new Error("refused") };
}

describe("an AI SDK tool", () => {
  test("gets its input validated and transformed by its own schema", async () => {
    const weather = tool({
      description: "Gets the weather.",
      inputSchema: city,
      execute: ({ city: name }) => `Rain in ${name}`,
    });
    const ours = fromAiTool("weather", weather);
    expectTypeOf(ours).toEqualTypeOf<Tool>();
    expect(ours).toMatchObject({
      description: "Gets the weather.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    });
    expect(await turnWith(ours)).toMatchObject({ content: "Rain in BONN", isError: false });
  });

  test("does not run with input that its schema refuses", async () => {
    let runs = 0;
    const strict = city.refine(({ city: name }) => name !== "BONN", { error: "not there" });
    const weather = tool({ inputSchema: strict, execute: () => ++runs });
    expect(await turnWith(fromAiTool("weather", weather))).toMatchObject({
      content: "Invalid arguments.\n- not there",
      isError: true,
    });
    expect(runs).toBe(0);
  });

  test("may have any kind of schema that the AI SDK takes", async () => {
    const json = { type: "object", properties: { city: { type: "string" } } } as const;
    expect(await runWith(zodSchema(city))).toBe('{"city":"BONN"}');
    expect(await runWith(() => zodSchema(city))).toBe('{"city":"BONN"}');
    expect(await runWith(jsonSchema(json))).toBe('{"city":"Bonn"}');
    expect(await runWith(jsonSchema(json, { validate: accept }))).toBe(
      '{"checked":{"city":"Bonn"}}',
    );
    expect(await runWith(jsonSchema(json, { validate: refuse }))).toBe(
      "Invalid arguments.\n- refused",
    );
  });

  test("needs `parameters` if its schema has no JSON Schema at once", async () => {
    const json = { type: "object", properties: { city: { type: "string" } } } as const;
    const inputSchema = jsonSchema(async () => json);
    const weather = dynamicTool({ inputSchema, execute: () => "Rain" });
    expect(() => fromAiTool("weather", weather)).toThrow(
      "jp needs a JSON Schema for the input of weather. " +
        "Cannot convert a schema from ai to JSON Schema: it is a promise",
    );
    const ours = fromAiTool("weather", weather, { parameters: json });
    expect([ours.parameters, (await turnWith(ours)).content]).toEqual([json, "Rain"]);
  });

  test("may have a schema of zod 3", () => {
    const old = tool({ inputSchema: z3.object({ city: z3.string() }), execute: () => "Rain" });
    expect(fromAiTool("weather", old).parameters).toMatchObject({
      properties: { city: { type: "string" } },
    });
  });

  test("gets the id of the call, a signal and its context", async () => {
    const calls: AiCallOptions[] = [];
    const weather = tool({
      description: ({ context: { unit } }) => `In ${unit}.`,
      inputSchema: city,
      contextSchema: z.object({ unit: z.string() }),
      needsApproval: (_input, { toolCallId, context: { unit } }) =>
        `${toolCallId} ${unit}` === "call_1 celsius",
      execute: (_input, options) => {
        calls.push(options);
        return "Rain";
      },
    });
    const ours = fromAiTool("weather", weather, { context: { unit: "celsius" } });
    expect(ours.description).toBe("In celsius.");
    await turnWith(ours, [true]);
    expect(calls).toEqual([
      {
        toolCallId: "call_1",
        messages: [],
        abortSignal: expect.any(AbortSignal),
        context: { unit: "celsius" },
        experimental_context: { unit: "celsius" },
      },
    ]);
  });

  test("is aborted with the turn", async () => {
    const aborted = Promise.withResolvers<string>();
    const abort = new AbortController();
    const weather = tool({
      inputSchema: city,
      execute: (_input, { abortSignal }) => {
        abortSignal?.addEventListener("abort", () => aborted.resolve("aborted"));
        abort.abort();
        return aborted.promise;
      },
    });
    const model = new ScriptedModel({
      replies: [
        [{ type: "tool_call", id: "call_1", name: "weather", arguments: { city: "Bonn" } }],
      ],
    });
    const conversation = await new MemoryConversationStore().create({});
    const tools = [fromAiTool("weather", weather)];
    const { type } = await runTurn(
      { conversation, model, tools, signal: abort.signal },
      "Weather?",
    );
    expect([type, await aborted.promise]).toEqual(["interrupted", "aborted"]);
  });

  test("reports outputs on the way as progress, and the last one as its result", async () => {
    const weather = tool({
      inputSchema: city,
      async *execute() {
        yield "Looking …";
        yield { rain: true };
      },
    });
    const { progress, content } = await turnWith(fromAiTool("weather", weather));
    expect(progress).toEqual(["Looking …", '{"rain":true}']);
    expect(content).toBe('{"rain":true}');
  });

  test("reports its failure as an error", async () => {
    const weather = tool({
      inputSchema: city,
      execute: (): string => {
        throw new Error("no such city", { cause: new Error("404") });
      },
    });
    expect(await turnWith(fromAiTool("weather", weather))).toMatchObject({
      content: "no such city\n\nTrace:\n404",
      isError: true,
    });
  });

  test("without an output has null as its result", async () => {
    const weather = dynamicTool({ inputSchema: city, execute: () => undefined });
    expect(await turnWith(fromAiTool("weather", weather))).toMatchObject({ content: "null" });
  });
});

describe("the output of an AI SDK tool for the model", () => {
  type ModelOutput = Awaited<
    ReturnType<NonNullable<Parameters<typeof dynamicTool>[0]["toModelOutput"]>>
  >;
  const cases: readonly (readonly [ModelOutput, string, boolean])[] = [
    [{ type: "text", value: "wet" }, "wet", false],
    [{ type: "json", value: { wet: true } }, '{"wet":true}', false],
    [{ type: "error-text", value: "too wet" }, "too wet", true],
    [{ type: "error-json", value: { wet: 2 } }, '{"wet":2}', true],
    [{ type: "execution-denied", reason: "no umbrella" }, "no umbrella", false],
    [
      {
        type: "content",
        value: [
          { type: "text", text: "A picture:" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "" } },
        ],
      },
      "A picture:\n[left out: image/png]",
      false,
    ],
  ];

  test.each(cases)("may be %j", async (output, content, isError) => {
    const given: unknown[] = [];
    const weather = tool({
      inputSchema: city,
      execute: () => "Rain",
      toModelOutput: (result) => {
        given.push(result);
        return output;
      },
    });
    expect(await turnWith(fromAiTool("weather", weather))).toMatchObject({ content, isError });
    expect(given).toEqual([{ toolCallId: "call_1", input: { city: "BONN" }, output: "Rain" }]);
  });
});

function createWeather(needsApproval: boolean | ((input: { city: string }) => boolean)) {
  const runs: string[] = [];
  const execute = ({ city: name }: { city: string }) => {
    runs.push(name);
    return "Rain";
  };
  return {
    runs,
    weather: fromAiTool("weather", tool({ inputSchema: city, needsApproval, execute })),
  };
}

describe("an AI SDK tool that needs approval", () => {
  test("asks a person first, on record, and runs after a yes", async () => {
    const { weather, runs } = createWeather(true);
    const { events, content } = await turnWith(weather, [true]);
    expect([content, runs]).toEqual(["Rain", ["BONN"]]);
    expect(ofType(events, "inquiry_request")).toMatchObject([
      {
        id: "call_1.approval.1",
        source: { source: "tool", name: "weather" },
        question: {
          text: "Run weather?",
          context: '{\n  "city": "Bonn"\n}',
          answerType: { type: "boolean" },
          exclusive: true,
          persistence: "none",
        },
      },
    ]);
    expect(ofType(events, "inquiry_response")).toMatchObject([
      {
        outcome: "answered",
        answer: true,
        answeredBy: { kind: "user", channel: "scripted", auth: "program" },
      },
    ]);
  });

  test("does not run after a no, and the model is told", async () => {
    const { weather, runs } = createWeather(true);
    const { events, content, isError } = await turnWith(weather, [false]);
    expect([content, isError, runs]).toEqual([
      "The user did not approve this call. The tool was not run.",
      false,
      [],
    ]);
    expect(ofType(events, "inquiry_response")).toMatchObject([{ answer: false }]);
  });

  test("asks only for the input that needs it", async () => {
    const { weather, runs } = createWeather(({ city: name }) => name === "BONN");
    const { prompter } = await turnWith(weather, [], { city: "Ulm" });
    expect([prompter.questions, runs]).toEqual([[], ["ULM"]]);
    expect((await turnWith(weather, [true])).prompter.questions).toHaveLength(1);
  });

  test("does not run if no one can be asked, not even with a model that could answer", async () => {
    const { weather, runs } = createWeather(true);
    const model = new ScriptedModel({
      replies: [
        [{ type: "tool_call", id: "call_1", name: "weather", arguments: { city: "Bonn" } }],
        "Done.",
      ],
    });
    const conversation = await new MemoryConversationStore().create({});
    const toolConfig = { weather: { questions: { approval: { target: "assistant" } } } };
    await runTurn({ conversation, model, tools: [weather], toolConfig }, "Weather?");
    expect([model.requests.length, runs]).toEqual([2, []]);
  });
});

test("config can name only the question of an AI SDK tool", async () => {
  const { weather } = createWeather(true);
  const model = new ScriptedModel({ replies: [] });
  const conversation = await new MemoryConversationStore().create({});
  const toolConfig = { weather: { questions: { aproval: { target: { role: "lead" } } } } };
  const turn = runTurn({ conversation, model, tools: [weather], toolConfig }, "Weather?");
  await expect(turn).rejects.toMatchObject({
    code: "unknown_question",
    hint: "Did you mean approval?",
  });
});

describe("an AI SDK tool without `execute`", () => {
  const inputSchema = z.object({ city: z.string() });

  test("is refused, with a way to run it", () => {
    const weather = tool({ inputSchema });
    expect(() => fromAiTool("weather", weather)).toThrow(
      expect.objectContaining({
        code: "unsupported_tool",
        message: "weather has no `execute`: it is for a client to run.",
        hint: "Pass `execute` in the options to run it here.",
      }),
    );
  });

  test("is refused if its provider runs it", () => {
    const search = {
      type: "provider" as const,
      id: "vendor.search" as const,
      isProviderExecuted: true as const,
      args: {},
      inputSchema,
      outputSchema: z.string(),
    };
    const tools: ToolSet = { search };
    expect(() => fromAiTools(tools)).toThrow("search runs at its provider");
  });

  test("runs with the `execute` of the options, which is typed by its schema", async () => {
    const weather = tool({ inputSchema });
    const ours = fromAiTool("weather", weather, {
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>();
        return `Rain in ${input.city}`;
      },
    });
    expect(await turnWith(ours)).toMatchObject({ content: "Rain in Bonn" });
  });
});

test("a whole tool set becomes a list of tools, each with its options", async () => {
  const tools = {
    weather: tool({ inputSchema: city, execute: () => "Rain" }),
    clock: tool({ description: "The time.", inputSchema: z.object({}) }),
  } satisfies ToolSet;
  const ours = fromAiTools(tools, {
    weather: { description: "The weather.", isIdempotent: true },
    clock: { execute: () => "noon" },
  });
  expect(ours).toMatchObject([
    { name: "weather", description: "The weather.", isIdempotent: true },
    { name: "clock", description: "The time." },
  ]);
  const [, clock] = ours;
  expect(clock && (await turnWith(clock, [], {}))).toMatchObject({ content: "noon" });
});

test("a tool of version 6 of the AI SDK works the same way", async () => {
  const tools: ToolSet6 = {
    weather: tool6({
      description: "Gets the weather.",
      inputSchema: city,
      needsApproval: true,
      execute: (input, { experimental_context: unit, toolCallId }) =>
        `${input.city} ${String(unit)} ${toolCallId}`,
    }),
  };
  const [weather] = fromAiTools(tools, { weather: { context: "celsius" } });
  expect(weather && (await turnWith(weather, [true]))).toMatchObject({
    content: "BONN celsius call_1",
  });
});
