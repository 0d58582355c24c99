import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Json, JsonObject } from "../../util/index.ts";
import { defineTool, type ToolContent } from "./define-tool.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "./question.ts";

const { signal } = new AbortController();
const call = (args: JsonObject, answers: Record<string, Json> = {}) => ({
  arguments: args,
  answers,
  signal,
});

const place = textQuestion("place", "Where to?");
const sure = booleanQuestion("sure", "Really?", { exclusive: true });

const move = defineTool<{ readonly what: string }>({
  name: "move",
  description: "Moves things.",
  parameters: { type: "object", properties: { what: { type: "string" } } },
  async run({ what }, { ask }) {
    const target = await ask(place);
    return (await ask(sure)) ? `${what} is in ${target}` : "nothing moved";
  },
});

describe("a tool that asks", () => {
  test.each([
    ["run", "The tool x has to have a function `run`."],
    ["parameters", "The tool x has to have a schema `parameters`."],
    ["name", "The tool has to have a `name`."],
  ])("a tool that untyped code defines without a part is refused at once: %s", (key, message) => {
    const whole = { name: "x", description: "", parameters: {}, run: () => "" };
    const { [key as keyof typeof whole]: _left, ...definition } = whole;
    expect(() => defineTool(definition as typeof whole)).toThrow(
      expect.objectContaining({ code: "invalid_tool", message }),
    );
  });

  test("ends at the first question without an answer, and gets further with more answers", async () => {
    expect([
      await move.execute(call({ what: "it" })),
      await move.execute(call({ what: "it" }, { place: "Rome" })),
      await move.execute(call({ what: "it" }, { place: "Rome", sure: true })),
      await move.execute(call({ what: "it" }, { place: "Rome", sure: false })),
    ]).toEqual([
      { type: "needs_input", question: place },
      { type: "needs_input", question: sure },
      { type: "success", content: "it is in Rome" },
      { type: "success", content: "nothing moved" },
    ]);
  });

  test("gets a list from a multiple choice, and text from any other choice", async () => {
    const options = ["a", "b"];
    const choose = defineTool({
      name: "choose",
      description: "",
      parameters: {},
      run: async (_args, { ask }) => {
        const one = await ask(selectQuestion("one", "Which?", { options }));
        const some = await ask(selectQuestion("some", "Which?", { options, isMultiple: true }));
        return [one, ...some].join(" ");
      },
    });
    expect(await choose.execute(call({}, { one: "a", some: ["a", "b"] }))).toEqual({
      type: "success",
      content: "a a b",
    });
  });

  test("asks again if the answer does not fit the question", async () => {
    expect(await move.execute(call({ what: "it" }, { place: "Rome", sure: "yes" }))).toEqual({
      type: "needs_input",
      question: sure,
    });
  });

  test("asks even if its own code catches everything", async () => {
    const careless = defineTool({
      name: "careless",
      description: "",
      parameters: {},
      run: async (_args, { ask }) => {
        try {
          return await ask(place);
        } catch {
          return "nowhere";
        }
      },
    });
    expect(await careless.execute(call({}))).toEqual({ type: "needs_input", question: place });
  });

  test("that asks two questions at once has them asked one after the other", async () => {
    const both = defineTool({
      name: "both",
      description: "",
      parameters: {},
      run: async (_args, { ask }) => (await Promise.all([ask(place), ask(sure)])).map(String),
    });
    expect([
      await both.execute(call({})),
      await both.execute(call({}, { place: "Rome" })),
      await both.execute(call({}, { place: "Rome", sure: true })),
    ]).toEqual([
      { type: "needs_input", question: place },
      { type: "needs_input", question: sure },
      { type: "success", content: '["Rome","true"]', isJson: true },
    ]);
  });

  test("may ask twice before it waits, without an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const hasty = defineTool({
      name: "hasty",
      description: "",
      parameters: {},
      run: async (_args, { ask, askAll }) => {
        const [first, second, third] = [ask(place), ask(sure), askAll({ sure })];
        return [await first, await second, await third];
      },
    });
    expect(await hasty.execute(call({}))).toEqual({ type: "needs_input", question: place });
    await new Promise(setImmediate); // Node reports them after all promises have settled.
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
  });

  test.each([
    ["without a type", { id: "x", text: "Where?" }],
    ["with an unknown type", { ...place, id: "x", answerType: { type: "date" } }],
    ["without a text", { ...place, id: "x", text: undefined }],
    ["without options", { ...place, id: "x", answerType: { type: "select" } }],
  ])("fails with a question %s", async (_, question) => {
    const broken = defineTool({
      name: "broken",
      description: "",
      parameters: {},
      run: async (_args, { ask }) => ask(question as unknown as Question), // Without types.
    });
    expect(await broken.execute(call({}))).toMatchObject({
      type: "error",
      message: expect.stringContaining('the question "x" cannot be asked'),
    });
  });

  test("fails with a binding that is too long to record, and says what to send instead", async () => {
    const long = defineTool({
      name: "long",
      description: "",
      parameters: {},
      run: (_args, { ask }) => ask(textQuestion("x", "?", { binding: "é".repeat(513) })),
    });
    expect(await long.execute(call({}))).toMatchObject({
      type: "error",
      message: expect.stringMatching(/question\.binding.*longer than 1024 bytes. Send a digest/),
    });
  });

  test("fails with an empty label to remember answers under", async () => {
    const unlabelled = defineTool({
      name: "unlabelled",
      description: "",
      parameters: {},
      run: (_args, { ask }) => ask(textQuestion("x", "?", { rememberAs: "" })),
    });
    expect(await unlabelled.execute(call({}))).toMatchObject({
      type: "error",
      message: expect.stringMatching(/question\.remember_as.*expected a label that is not blank/),
    });
  });

  test("gets the same arguments in every attempt, whatever it does to them", async () => {
    const greedy = defineTool<{ count: number }>({
      name: "greedy",
      description: "",
      parameters: {},
      run: async (args, { ask }) => {
        args.count += 1;
        return `${args.count} to ${await ask(place)}`;
      },
    });
    const given = { count: 1 };
    await greedy.execute(call(given));
    expect(await greedy.execute(call(given, { place: "Rome" }))).toMatchObject({
      content: "2 to Rome",
    });
  });

  test("does not mistake inherited properties for answers", async () => {
    const odd = defineTool({
      name: "odd",
      description: "",
      parameters: {},
      run: (_args, { ask }) => ask(textQuestion("constructor", "Who?")),
    });
    expect((await odd.execute(call({}))).type).toBe("needs_input");
  });
});

describe("a tool that asks several questions at once", () => {
  const title = textQuestion("title", "Title?", { allowsNote: true });
  const severity = selectQuestion("level", "How bad?", { options: ["low", "high"] });
  const labels = selectQuestion("labels", "Labels?", { options: ["a", "b"], isMultiple: true });
  const report = defineTool({
    name: "report",
    description: "",
    parameters: {},
    run: async (_args, { askAll, ask, notes }) => {
      const answers = await askAll({ title, severity, labels, isUrgent: sure });
      expectTypeOf(answers).toEqualTypeOf<{
        readonly title: string;
        readonly severity: "low" | "high";
        readonly labels: readonly ("a" | "b")[];
        readonly isUrgent: boolean;
      }>();
      return { ...answers, place: await ask(place), notes };
    },
  });

  test("has them asked as one form, with their own ids", async () => {
    expect(await report.execute(call({}))).toEqual({
      type: "needs_input",
      question: title,
      more: [severity, labels, sure],
    });
  });

  test("asks only for what has no fitting answer yet", async () => {
    const some = { title: "It broke", level: "worse", labels: [] };
    expect([
      await report.execute(call({}, some)),
      await report.execute(call({}, { ...some, level: "high" })),
    ]).toEqual([
      { type: "needs_input", question: severity, more: [sure] },
      { type: "needs_input", question: sure },
    ]);
  });

  test("gets the answers by key, can ask more, and reads the notes by question id", async () => {
    const answers = { title: "It broke", level: "high", labels: ["b"], sure: false };
    const notes = { title: "since Monday" };
    const asking = await report.execute({ ...call({}, answers), notes });
    const done = await report.execute({ ...call({}, { ...answers, place: "Rome" }), notes });
    expect([asking, JSON.parse(done.type === "success" ? done.content : "")]).toEqual([
      { type: "needs_input", question: place },
      {
        title: "It broke",
        severity: "high",
        labels: ["b"],
        isUrgent: false,
        place: "Rome",
        notes,
      },
    ]);
  });

  test("has no notes if the user added none", async () => {
    const noted = defineTool({
      name: "noted",
      description: "",
      parameters: {},
      run: (_args, { notes }) => notes,
    });
    expect(await noted.execute(call({}))).toEqual({ type: "success", content: "{}", isJson: true });
  });

  test("needs no answers if it asks nothing", async () => {
    const silent = defineTool({
      name: "silent",
      description: "",
      parameters: {},
      run: (_args, { askAll }) => askAll({}),
    });
    expect(await silent.execute(call({}))).toEqual({
      type: "success",
      content: "{}",
      isJson: true,
    });
  });

  test("fails if two of them have the same id", async () => {
    const twice = defineTool({
      name: "twice",
      description: "",
      parameters: {},
      run: (_args, { askAll }) => askAll({ from: place, to: textQuestion("place", "And then?") }),
    });
    expect(await twice.execute(call({}, { place: "Rome" }))).toMatchObject({
      type: "error",
      message: 'askAll: two questions have the id "place"',
    });
  });
});

describe("a tool that declares its questions", () => {
  const level = selectQuestion("level", "How bad?", { options: ["low", "high"] });
  const name = textQuestion("name", "Whose?");
  const report = defineTool({
    name: "report",
    description: "",
    parameters: z.object({ what: z.string() }),
    questions: { level, sure, name },
    run: async ({ what }, { ask, askAll }) => {
      const bad = await ask.level({ text: `How bad is ${what}?`, default: "high" });
      const { sure: isSure } = await askAll({ sure });
      const whose = await ask.name();
      expectTypeOf(bad).toEqualTypeOf<"low" | "high">();
      expectTypeOf(isSure).toEqualTypeOf<boolean>();
      expectTypeOf(whose).toEqualTypeOf<string>();
      return `${bad} ${isSure} ${whose}`;
    },
  });

  test("asks them by id, with what the call adds, and gets typed answers", async () => {
    const args = { what: "it" };
    expect([
      await report.execute(call(args)),
      await report.execute(call(args, { level: "low" })),
      await report.execute(call(args, { level: "low", sure: true })),
      await report.execute(call(args, { level: "low", sure: true, name: "Ana" })),
    ]).toEqual([
      { type: "needs_input", question: { ...level, text: "How bad is it?", default: "high" } },
      { type: "needs_input", question: sure },
      { type: "needs_input", question: name },
      { type: "success", content: "low true Ana" },
    ]);
    expect(report.questions).toEqual({ level, sure, name });
  });

  test("may ask them with options that only the call knows", async () => {
    const places = ["Rome", "Bonn"];
    const travel = defineTool({
      name: "travel",
      description: "",
      parameters: {},
      questions: { where: selectQuestion("where", "Where to?", { options: [] as string[] }) },
      run: (_args, { ask }) => ask(selectQuestion("where", "Where to?", { options: places })),
    });
    expect(await travel.execute(call({}))).toMatchObject({
      question: { answerType: { options: [{ value: "Rome" }, { value: "Bonn" }] } },
    });
  });

  test("cannot change the id or the type of one", async () => {
    const changed = { id: "other", answerType: { type: "text" } };
    const odd = defineTool({
      name: "odd",
      description: "",
      parameters: {},
      questions: { sure },
      run: (_args, { ask }) => ask.sure(changed as object), // As a tool without types may do.
    });
    expect(await odd.execute(call({}))).toEqual({ type: "needs_input", question: sure });
  });

  test.each([
    ["ask", { type: "ask" }],
    ["a question in its result", { type: "block" }],
  ])("fails if it asks another one, with %s", async (_, { type }) => {
    const typo = textQuestion("nmae", "Whose?");
    const careless = defineTool({
      name: "careless",
      description: "",
      parameters: {},
      questions: { name },
      run: async (_args, { ask }) =>
        type === "block"
          ? { content: [{ type: "question", question: typo }] }
          : // @ts-expect-error It is not declared.
            ask(typo),
    });
    expect(await careless.execute(call({}))).toMatchObject({
      type: "error",
      message: 'careless asks "nmae", which it does not declare. Did you mean "name"?',
    });
  });

  test("cannot declare one under another id, or one that cannot be asked", () => {
    const base = { name: "x", description: "", parameters: {}, run: () => "" };
    // @ts-expect-error The key is not the id.
    expect(() => defineTool({ ...base, questions: { isSure: sure } })).toThrow(
      expect.objectContaining({
        code: "invalid_question",
        message: 'The tool x declares the question "sure" as "isSure". Use its id as the key.',
      }),
    );
    const blank = textQuestion("x", "?", { rememberAs: "" });
    expect(() => defineTool({ ...base, questions: { x: blank } })).toThrow(
      expect.objectContaining({ code: "invalid_question" }),
    );
  });

  test("takes the type of its arguments from `run`", () => {
    const typed = defineTool({
      name: "typed",
      description: "",
      parameters: {},
      questions: { sure },
      run: async ({ what }: { readonly what: string }, { ask }) => {
        expectTypeOf(what).toEqualTypeOf<string>();
        return ask.sure();
      },
    });
    expectTypeOf(typed.name).toEqualTypeOf<"typed">();
  });
});

function definePay(hasSteps: boolean) {
  return defineTool({
    name: "pay",
    description: "",
    parameters: {},
    hasSteps,
    run: (_args, { once }) => once("pay", () => "paid"),
  });
}

async function runStep(_name: string, step: () => unknown) {
  return step() as Json;
}

describe("a tool that runs steps", () => {
  test("says so, and runs them in a conversation", async () => {
    const pay = definePay(true);
    expect([pay.hasSteps, await pay.execute({ ...call({}), runStep })]).toEqual([
      true,
      { type: "success", content: "paid" },
    ]);
  });

  test("does not run them without a conversation", async () => {
    expect(await definePay(true).execute(call({}))).toMatchObject({
      type: "error",
      message: expect.stringContaining("not part of a conversation"),
    });
  });

  test("does not run them if it does not say so, wherever it runs", async () => {
    expect(await definePay(false).execute({ ...call({}), runStep })).toMatchObject({
      type: "error",
      message: 'The step "pay" was not run: pay does not declare that it runs steps.',
    });
  });
});

describe("an answer to a question with a binding", () => {
  const asking = defineTool<{ readonly state: string }>({
    name: "asking",
    description: "",
    parameters: {},
    run: async ({ state }, { ask }) => {
      const bound = { binding: state };
      const isAgreed = await ask(booleanQuestion("sure", "Really?", bound));
      return isAgreed ? ask(textQuestion("place", "Where to?", bound)) : "declined";
    },
  });
  const attempt = (answers: Record<string, Json>, bindings: Record<string, string>) =>
    asking.execute({ ...call({ state: "new" }, answers), bindings });

  test("counts if it was given with the same binding", async () => {
    const bindings = { sure: "new", place: "new" };
    expect(await attempt({ sure: true, place: "Rome" }, bindings)).toEqual({
      type: "success",
      content: "Rome",
    });
  });

  test.each([
    ["another binding", { sure: "old" }],
    ["no binding", {}],
    ["the binding of another question", { place: "new" }],
  ])("does not count if it was given with %s", async (_, bindings) => {
    expect(await attempt({ sure: true }, bindings)).toMatchObject({
      type: "needs_input",
      question: { id: "sure", binding: "new" },
    });
  });

  test("does not count if it is text that was given with another binding", async () => {
    expect(
      await attempt({ sure: true, place: "Rome" }, { sure: "new", place: "old" }),
    ).toMatchObject({ type: "needs_input", question: { id: "place" } });
  });

  test("counts whatever its binding if it is a no", async () => {
    const declined = { type: "success", content: "declined" };
    expect([
      await attempt({ sure: false }, { sure: "old" }),
      await attempt({ sure: false }, {}),
    ]).toEqual([declined, declined]);
  });
});

test("an exception becomes an error outcome with its causes", async () => {
  const broken = defineTool({
    name: "broken",
    description: "",
    parameters: {},
    run: () => {
      throw new Error("no luck", { cause: new Error("rain", { cause: "clouds" }) });
    },
  });
  expect(await broken.execute(call({}))).toEqual({
    type: "error",
    message: "no luck",
    trace: ["rain", "clouds"],
    transient: false,
  });
});

test("an exception that is its own cause is an error outcome, too", async () => {
  const circular = new Error("round");
  circular.cause = circular;
  const broken = defineTool({
    name: "broken",
    description: "",
    parameters: {},
    run: () => Promise.reject(circular),
  });
  const outcome = await broken.execute(call({}));
  expect(outcome).toMatchObject({ type: "error", trace: Array(10).fill("round") });
});

test("a tool that returns nothing has an empty result", async () => {
  const silent = defineTool({
    name: "silent",
    description: "",
    parameters: {},
    run: (() => undefined) as () => never, // As a tool without types may do.
  });
  expect(await silent.execute(call({}))).toEqual({ type: "success", content: "" });
});

test("a result that is not text is serialized as JSON", async () => {
  const counting = defineTool({
    name: "counting",
    description: "",
    parameters: {},
    run: () => ({ count: 3 }),
  });
  expect(await counting.execute(call({}))).toEqual({
    type: "success",
    content: '{"count":3}',
    isJson: true,
  });
});

test("progress is reported to the caller", async () => {
  const messages: string[] = [];
  const busy = defineTool({
    name: "busy",
    description: "",
    parameters: {},
    run: (_args, { progress }) => {
      progress("half");
      return "done";
    },
  });
  await busy.execute({ ...call({}), onProgress: (message) => messages.push(message) });
  await busy.execute(call({}));
  expect(messages).toEqual(["half"]);
});

describe("a tool whose parameters are a zod schema", () => {
  const scaled = defineTool({
    name: "scaled",
    description: "",
    parameters: z.object({ factor: z.number().default(2), of: z.string() }),
    run: ({ factor, of }) => {
      expectTypeOf(factor).toEqualTypeOf<number>();
      return `${factor} ${of}`;
    },
  });

  test("has the JSON Schema of its parameters", () => {
    expect(scaled.parameters).toEqual({
      type: "object",
      properties: { factor: { default: 2, type: "number" }, of: { type: "string" } },
      required: ["of"],
    });
  });

  test("applies defaults and rejects invalid arguments", async () => {
    const refused = await scaled.execute(call({ of: 1 }));
    expect([await scaled.execute(call({ of: "milk" })), refused.type]).toEqual([
      { type: "success", content: "2 milk" },
      "error",
    ]);
  });
});

describe("the source of a tool's questions", () => {
  test("is the tool, under its configured name", () => {
    expect(move.inquirySource("shift")).toEqual({ source: "tool", name: "shift" });
  });

  test("can be set by the tool's own code", () => {
    const asking = defineTool({
      name: "asking",
      description: "",
      parameters: {},
      run: () => "",
      inquirySource: () => ({ source: "assistant" }),
    });
    expect(asking.inquirySource("asking")).toEqual({ source: "assistant" });
  });
});

test("the type of an answer follows from the question", () => {
  defineTool({
    name: "typed",
    description: "",
    parameters: {},
    run: async (_args, { ask }) => {
      const options = ["a", { value: "b", description: "B" }] as const;
      const strings: readonly string[] = ["a"];
      const other = { options, allowsOther: true } as const;
      expectTypeOf(await ask(secretQuestion("s", "?"))).toEqualTypeOf<string>();
      expectTypeOf(await ask(booleanQuestion("b", "?"))).toEqualTypeOf<boolean>();
      const choices = {
        one: await ask(selectQuestion("c", "?", { options: ["a", { value: "b" }] })),
        some: await ask(selectQuestion("c", "?", { options, isMultiple: true })),
        other: await ask(selectQuestion("c", "?", other)),
        others: await ask(selectQuestion("c", "?", { ...other, isMultiple: true })),
        computed: await ask(selectQuestion("c", "?", { options: strings })),
      };
      expectTypeOf(choices).toEqualTypeOf<{
        one: "a" | "b";
        some: readonly ("a" | "b")[];
        other: string;
        others: readonly string[];
        computed: string;
      }>();
      const unknown: Question = textQuestion("q", "?");
      expectTypeOf(await ask(unknown)).toEqualTypeOf<Json>();
      // @ts-expect-error Unknown option.
      selectQuestion("c", "?", { options: ["a"], allowOther: true });
      return "";
    },
  });
});

const returning = (content: ToolContent["content"], isError?: boolean) =>
  defineTool({
    name: "content",
    description: "",
    parameters: { type: "object" },
    run: () => ({ content, ...(isError !== undefined && { isError }) }),
  }).execute(call({}));

describe("a tool that returns content", () => {
  const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;

  test("succeeds or fails with its blocks", async () => {
    const content = "[image, image/png, 3 bytes]";
    expect([await returning([image]), await returning([image], true)]).toEqual([
      { type: "success", content, blocks: [image] },
      { type: "error", message: content, blocks: [image], trace: [], transient: false },
    ]);
  });

  test("asks the questions among them", async () => {
    const shown = { type: "text", text: "Two files." } as const;
    expect(await returning([shown, { type: "question", question: sure }])).toEqual({
      type: "needs_input",
      question: { ...sure, context: "Two files." },
    });
  });

  test("is an error if a question cannot be asked", async () => {
    const question = selectQuestion("q", "Which?", { options: [] });
    expect(await returning([{ type: "question", question }])).toMatchObject({
      type: "error",
      message: expect.stringContaining("a select needs at least one option"),
    });
  });

  test("sends other JSON as text, whatever its keys are", async () => {
    const results = [{ content: "a" }, { content: [1] }, { type: "error", message: "m" }];
    const outcomes = results.map((result) =>
      defineTool({ name: "x", description: "", parameters: {}, run: () => result }).execute(
        call({}),
      ),
    );
    expect(await Promise.all(outcomes)).toEqual(
      results.map((result) => ({
        type: "success",
        content: JSON.stringify(result),
        isJson: true,
      })),
    );
  });
});
