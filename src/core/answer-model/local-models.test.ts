import { describe, expect, test } from "vitest";
import {
  chatRequest,
  message,
  streamOf,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import type { ProviderEvent } from "../../record/conversation/index.ts";
import type { Model, ModelProperties } from "../../reach/provider/index.ts";
import { FakeClock, ScriptedModel, type ScriptedReply } from "../../testing/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import { answerSchema, questionMessage } from "./answer.ts";
import {
  CALL,
  createBackend,
  history,
  moved,
  provider,
  QUESTION,
  settled,
  YES,
} from "./backend.fixture.ts";
import type { InquiryBackendOptions } from "./backend.ts";
import type { InquiryAnswer, InquiryBackend, InquiryCall, InquiryUpdate } from "./port.ts";

describe("questions to a local model", () => {
  test("are asked one at a time, in the order they came, and those that wait say so", async () => {
    const asking = new OpenQuestions({ isLocal: true });
    await asking.start("a", "b", "c");
    const before = [...asking.log];
    for (const id of ["a", "b", "c"]) await asking.reply(id);
    expect([before, asking.log, await asking.ends()]).toEqual([
      ["a asked", "b queued", "c queued"],
      [
        "a asked",
        "b queued",
        "c queued",
        "a response_end",
        "b asked",
        "b response_end",
        "c asked",
        "c response_end",
      ],
      ["answered", "answered", "answered"],
    ]);
  });

  test("that are aborted while they wait end at once, and the next one keeps its turn", async () => {
    const asking = new OpenQuestions({ isLocal: true });
    await asking.start("a", "b", "c");
    expect(await asking.abort("b")).toBe("cancelled");
    for (const id of ["a", "c"]) await asking.reply(id);
    expect([asking.log.slice(3), await asking.ends()]).toEqual([
      ["a response_end", "c asked", "c response_end"],
      ["answered", "cancelled", "answered"],
    ]);
  });

  test("that are aborted while they are asked pass their turn on", async () => {
    const asking = new OpenQuestions({ isLocal: true });
    await asking.start("a", "b");
    expect(await asking.abort("a")).toBe("cancelled");
    await asking.reply("b");
    expect(await asking.ends()).toEqual(["cancelled", "answered"]);
  });

  test("that fail pass their turn on", async () => {
    const asking = new OpenQuestions({ isLocal: true });
    await asking.start("a", "b");
    asking.fail("a");
    await asking.reply("b");
    expect(await asking.ends()).toEqual(["failed", "answered"]);
  });

  test("do not wait if none is left", async () => {
    const asking = new OpenQuestions({ isLocal: true });
    await asking.start("a");
    await asking.reply("a");
    await asking.ends();
    await asking.start("b");
    expect(asking.log).toEqual(["a asked", "a response_end", "b asked"]);
  });

  test("that are a tool's own prompt take turns as well", async () => {
    const asking = new OpenQuestions({ isLocal: true, hasPrompt: true });
    await asking.start("a", "b");
    for (const id of ["a", "b"]) await asking.reply(id);
    expect(asking.log).toEqual([
      "a asked",
      "b queued",
      "a response_end",
      "b asked",
      "b response_end",
    ]);
  });

  test("wait only for those to the same model", async () => {
    const models = ["one", "two", "one"].map(
      (name) =>
        new ScriptedModel({ id: `test/${name}`, isLocal: true, replies: [[{ type: "hang" }]] }),
    );
    const asking = new OpenQuestions({
      options: { model: async () => models.shift() ?? new ScriptedModel({ replies: [] }) },
    });
    await asking.start("a", "b", "c");
    expect(asking.log).toEqual(["a asked", "b asked", "c queued"]);
  });
});

test.each<[string, OpenQuestionsOptions, readonly string[]]>([
  ["others get all at once", {}, ["a asked", "b asked", "c asked"]],
  [
    "no model gets more than configured",
    { options: { maxParallel: 2 } },
    ["a asked", "b asked", "c queued"],
  ],
  [
    "a local one gets as many as configured",
    { isLocal: true, options: { maxParallel: 2 } },
    ["a asked", "b asked", "c queued"],
  ],
])("of several questions, %s", async (_name, options, expected) => {
  const asking = new OpenQuestions(options);
  await asking.start("a", "b", "c");
  expect(asking.log).toEqual(expected);
});

describe("what happens until there is an answer", () => {
  test("is told: the model's progress, its notices, and retries, but no keep-alives", async () => {
    const busy = provider("overloaded", true);
    const updates: InquiryUpdate[] = [];
    const model = new ScriptedModel({
      replies: ({ observe }, index) => {
        observe?.({ type: "alive" });
        observe?.({ type: "prompt_progress", processed: 1, total: 2 });
        observe?.({ type: "notice", message: "As text." });
        return index === 0 ? [{ type: "error", error: busy }] : YES;
      },
    });
    const observe = (update: InquiryUpdate) => void updates.push(update);
    const clock = new FakeClock();
    const asked = createBackend(model, { clock }).inquire({ ...CALL, observe });
    await moved(clock);
    await asked;
    const seen = [
      { type: "prompt_progress", processed: 1, total: 2 },
      { type: "notice", message: "As text." },
    ];
    expect(updates).toEqual([
      { type: "asked", model: "test/scripted" },
      ...seen,
      { type: "retry_start", error: busy, retry: 1, maxRetries: 1, delayMs: 100 },
      ...seen,
      { type: "response_end", reason: "stop", usage: {} },
    ]);
  });

  test("includes the usage of every attempt, valid or not", async () => {
    const updates: InquiryUpdate[] = [];
    const model = new ScriptedModel({ replies: [counted("no", 10), counted(YES, 20)] });
    const observe = (update: InquiryUpdate) => void updates.push(update);
    await createBackend(model).inquire({ ...CALL, observe });
    expect(updates.slice(1)).toEqual([
      { type: "response_end", reason: "stop", usage: { input: 10, output: 1 } },
      { type: "response_end", reason: "stop", usage: { input: 20, output: 1 } },
    ]);
  });
});

describe("a local model", () => {
  const large = streamOf(turnStart(), chatRequest("x".repeat(6000)), message("Ok"), ...history);

  test("is not asked about itself in a short conversation", async () => {
    const { model, questions } = await askLocal({ contextWindow: 1, seesResults: true });
    expect([questions, model.requests[0]?.parts.events.at(-1)?.type]).toEqual([0, "chat_request"]);
  });

  test("gets the question in the result of the paused call in a long one, if it sees results", async () => {
    const { model, questions } = await askLocal({ seesResults: true }, { stream: large });
    const { events, schema } = model.requests[0]?.parts ?? { events: [] };
    expect([questions, schema, events.slice(-4)]).toEqual([
      1,
      answerSchema(QUESTION),
      [
        toolCall("a"),
        { ...toolCall("b"), metadata: { cache_breakpoint: true } },
        expect.objectContaining({
          type: "tool_call_response",
          id: "a",
          content: questionMessage("a_tool", QUESTION, QUESTION),
        }),
        toolResult("b", "found"),
      ],
    ]);
  });

  test("is told in the same result what is wrong with its answers, after the question", async () => {
    const replies = ["no", "", "```maybe```", YES];
    const { model } = await askLocal({ seesResults: true }, { stream: large }, replies);
    const [first, second, third] = model.requests.map(({ parts }) => parts.events);
    const [question = "", corrected = "", again = ""] = [first, second, third].map(resultOf);
    expect({
      lengths: [second, third].map((events) => events?.length === first?.length),
      start: [corrected.startsWith(question), again.startsWith(corrected)],
      added: [corrected.slice(question.length), again.slice(corrected.length)],
    }).toEqual({
      lengths: [true, true],
      start: [true, true],
      added: [
        expect.stringMatching(
          /^\n\nYou replied:\n\n```\nno\n```\n\nThat is not a valid answer: the reply is not JSON\./,
        ),
        expect.stringMatching(/^\n\nThat is not a valid answer: the reply is not JSON\./),
      ],
    });
  });

  test("gets the question in a message if it sees no results", async () => {
    const { model } = await askLocal({ seesResults: false }, { stream: large });
    expect(model.requests[0]?.parts.events.at(-1)).toMatchObject({
      type: "chat_request",
      content: questionMessage("a_tool", QUESTION, QUESTION),
    });
  });
});

/** The text in the result of the paused call. */
function resultOf(events: readonly ProviderEvent[] = []): string | undefined {
  const result = events.find((event) => event.type === "tool_call_response" && event.id === "a");
  return result?.type === "tool_call_response" ? result.content : undefined;
}

function counted(text: string, input: number): ScriptedReply {
  return [
    { type: "text", text },
    { type: "end", reason: "stop", usage: { input, output: 1 } },
  ];
}

/** Asks a local model that says this of itself, and counts how often it is asked for that. */
async function askLocal(
  properties: ModelProperties,
  call: Partial<InquiryCall> = {},
  replies: readonly ScriptedReply[] = [YES],
) {
  const model = new ScriptedModel({ replies });
  let questions = 0;
  const local: Model = {
    id: "test/local",
    isLocal: true,
    properties: async () => {
      questions += 1;
      return properties;
    },
    stream: (request) => model.stream(request),
  };
  await createBackend(local).inquire({ ...CALL, ...call });
  return { model, questions };
}

interface OpenQuestionsOptions {
  readonly isLocal?: boolean;
  /** The tool brings its own. */
  readonly hasPrompt?: boolean;
  readonly options?: Partial<InquiryBackendOptions>;
}

interface OpenQuestion {
  readonly abort: AbortController;
  readonly reply: PromiseWithResolvers<void>;
  readonly end: Promise<InquiryAnswer["type"]>;
}

/** Questions to a model whose replies wait until they are let go. */
class OpenQuestions {
  /** Everything that happened, in order. */
  readonly log: string[] = [];
  readonly #hasPrompt: boolean;
  readonly #questions = new Map<string, OpenQuestion>();
  readonly #backend: InquiryBackend;

  constructor({ isLocal = false, hasPrompt = false, options = {} }: OpenQuestionsOptions) {
    const model = new ScriptedModel({
      isLocal,
      replies: ({ parts }) => {
        const [, id] = /Go on with (\w+)\?/.exec(JSON.stringify(parts.events)) ?? [];
        return [
          { type: "wait", until: this.#find(id).reply.promise },
          { type: "text", text: YES },
        ];
      },
    });
    this.#hasPrompt = hasPrompt;
    this.#backend = createBackend(model, options);
  }

  /** One after the other, so that their order is certain. */
  async start(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const abort = new AbortController();
      const reply = Promise.withResolvers<void>();
      const text = `Go on with ${id}?`;
      const messages = [{ role: "user", text } as const];
      const call: InquiryCall = {
        ...CALL,
        question: booleanQuestion("ok", text),
        ...(this.#hasPrompt && { prompt: { messages, maxTokens: 9 } }),
        signal: abort.signal,
        observe: ({ type }) => void this.log.push(`${id} ${type}`),
      };
      const end = this.#backend.inquire(call).then(({ type }) => type);
      this.#questions.set(id, { abort, reply, end });
      await this.#logged(`${id} `);
    }
  }

  async reply(id: string): Promise<void> {
    await this.#logged(`${id} asked`);
    this.#find(id).reply.resolve();
    await this.#logged(`${id} response_end`);
  }

  fail(id: string): void {
    this.#find(id).reply.reject(provider("other", false));
  }

  abort(id: string): Promise<InquiryAnswer["type"]> {
    this.#find(id).abort.abort();
    return this.#find(id).end;
  }

  ends(): Promise<readonly InquiryAnswer["type"][]> {
    return Promise.all([...this.#questions.values()].map(({ end }) => end));
  }

  #find(id = ""): OpenQuestion {
    const question = this.#questions.get(id);
    if (question === undefined) throw new Error(`There is no question "${id}".`);
    return question;
  }

  async #logged(start: string): Promise<void> {
    while (!this.log.some((line) => line.startsWith(start))) await settled();
  }
}
