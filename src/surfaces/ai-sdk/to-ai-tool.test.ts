import { generateText, isStepCount, type ModelMessage, streamText, type ToolSet } from "ai";
import {
  generateText as generateText6,
  type ModelMessage as ModelMessage6,
  stepCountIs,
} from "ai-6";
import { describe, expect, test } from "vitest";
import {
  booleanQuestion,
  defineTool,
  type Question,
  type QuestionOptions,
  secretQuestion,
  selectQuestion,
  textQuestion,
  type Tool,
  type ToolContext,
} from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { continueToolCall, toAiTool, type ToAiToolOptions, toClientTool } from "./index.ts";
import { mockModel, mockModelV3 } from "./mock-models.fixture.ts";

const prompt = "Deploy version 1.4.";
const stopWhen = isStepCount(3);
const parameters = {
  type: "object",
  properties: {
    version: { type: "string" },
    to: { type: "string", default: "live" },
    labels: { type: "object", additionalProperties: true },
  },
  required: ["version"],
};

/** A model that calls the tool once. */
function calling(input: object = { version: "1.4" }) {
  return mockModel({ input }, "Done.");
}

interface Deployment {
  readonly version: string;
  readonly to: string;
}

function createTool(run: (args: Deployment, context: ToolContext) => Promise<Json>): Tool {
  return defineTool<Deployment>({
    name: "deploy",
    description: "Deploys a version.",
    parameters,
    run,
  });
}

/** Asks before it deploys, except to `test`. `log` has what each attempt did. */
function createDeploy() {
  const log: string[] = [];
  const deploy = createTool(async ({ version, to }, { ask }) => {
    log.push("start");
    const question = booleanQuestion("sure", "Deploy now?", { context: `Version ${version}` });
    if (to !== "test" && !(await ask(question))) return "left alone";
    log.push("deploy");
    return `${version} is on ${to}`;
  });
  return { deploy, log };
}

/** Asks two questions at once. */
function createForm(): Tool {
  const question = booleanQuestion("sure", "Now?");
  const more = [textQuestion("where", "Where?")];
  return {
    ...createDeploy().deploy,
    execute: async ({ answers }) =>
      "where" in answers
        ? { type: "success", content: JSON.stringify(answers) }
        : { type: "needs_input", question, more },
  };
}

describe("a tool in the AI SDK's loop", () => {
  test("gets the binding of its question with the answer", async () => {
    const asking = createTool(async ({ version }, { ask }) => {
      const question = booleanQuestion("sure", "Deploy now?", { binding: version });
      return (await ask(question)) ? `${version} is live` : "left alone";
    });
    const { steps } = await generateText({
      model: calling(),
      tools: { deploy: toAiTool(asking, { ask: async () => true }) },
      prompt,
    });
    expect(steps[0]?.toolResults).toMatchObject([{ output: "1.4 is live" }]);
  });

  test("has one idempotency key over all its attempts, its own or the program's", async () => {
    const { keyed, keys } = keyedTool();
    const run = async (options: ToAiToolOptions = {}) => {
      const { execute } = toAiTool(keyed, { ask: async () => true, ...options });
      return execute({ version: "1.4" }, { toolCallId: "1", messages: [] });
    };
    await run();
    await run();
    expect([keys.length, new Set(keys).size]).toEqual([4, 2]);
    await run({ idempotencyKey: (toolCallId) => `chat_7/${toolCallId}` });
    expect(keys.slice(4)).toEqual(["chat_7/1", "chat_7/1"]);
  });

  test("gets the idempotency key that a client sends with each step", async () => {
    const keyed = createTool(async (_args, { idempotencyKey }) => idempotencyKey);
    const call = { input: { version: "1.4" }, idempotencyKey: "4f1b" };
    expect(await continueToolCall(keyed, call)).toEqual({ type: "result", output: "4f1b" });
  });

  test("runs if it asks nothing", async () => {
    const { deploy, log } = createDeploy();
    const tools: ToolSet = { deploy: toAiTool(deploy) };
    const model = calling({ version: "1.4", to: "test" });
    const { text, steps } = await generateText({ model, tools, prompt, stopWhen });
    expect(text).toBe("Done.");
    expect(steps[0]?.toolResults).toMatchObject([{ output: "1.4 is on test" }]);
    expect(log).toEqual(["start", "deploy"]);
  });

  test("is described to the model with its parameters unchanged", async () => {
    const model = mockModel("Hello.");
    const { deploy } = createDeploy();
    const tools = { deploy: toAiTool(deploy), client: toClientTool(deploy) };
    await generateText({ model, tools, prompt });
    const description = "Deploys a version.";
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { name: "deploy", description, inputSchema: parameters },
      { name: "client", description, inputSchema: parameters },
    ]);
    expect(parameters.properties.labels.additionalProperties).toBe(true);
  });

  test("does not run with input that does not fit its parameters", async () => {
    const { deploy, log } = createDeploy();
    const tools = { deploy: toAiTool(deploy) };
    const { steps } = await generateText({
      model: calling({ version: 14 }),
      tools,
      prompt,
      stopWhen,
    });
    expect(steps[0]?.content).toMatchObject([
      { type: "tool-call", invalid: true },
      { type: "tool-error", error: expect.stringContaining("version") },
    ]);
    expect(log).toEqual([]);
  });

  test("gets the defaults of its parameters and the id of the call", async () => {
    const echo = createTool(async (args, { toolCallId = "" }) => ({
      args: { ...args },
      toolCallId,
    }));
    const { steps } = await generateText({
      model: calling(),
      tools: { deploy: toAiTool(echo) },
      prompt,
    });
    expect(steps[0]?.toolResults).toMatchObject([
      { output: '{"args":{"version":"1.4","to":"live"},"toolCallId":"call_1"}' },
    ]);
  });

  test("reports its failure as an error", async () => {
    const failing = createTool(async () => {
      throw new Error("no such version", { cause: new Error("404") });
    });
    const model = calling();
    await generateText({ model, tools: { deploy: toAiTool(failing) }, prompt, stopWhen });
    expect(lastResult(model.doGenerateCalls)).toEqual({
      type: "error-text",
      value: "Error: no such version\n\nTrace:\n404",
    });
  });

  test("ends with an error if it asks and no one can answer", async () => {
    const { deploy, log } = createDeploy();
    const model = calling();
    await generateText({ model, tools: { deploy: toAiTool(deploy) }, prompt, stopWhen });
    expect(lastResult(model.doGenerateCalls)).toEqual({
      type: "error-text",
      value:
        'JpError: deploy asks "Deploy now?", and there is no way to answer. Do not retry this call.',
    });
    expect(log).toEqual(["start"]);
  });
});

describe("a tool that asks through a function", () => {
  test("runs again with each answer", async () => {
    const asking = createTool(async (_args, { ask }) => {
      const where = await ask(textQuestion("where", "Where?"));
      const key = await ask(secretQuestion("key", "The key?"));
      return `${where} with ${key.length} characters`;
    });
    const asked: (readonly [string, string])[] = [];
    const deploy = toAiTool(asking, {
      ask: async ({ id }, { toolCallId }) => {
        asked.push([toolCallId, id]);
        return id === "where" ? "test" : "geheim";
      },
    });
    const model = calling();
    const { steps } = await generateText({ model, tools: { deploy }, prompt, stopWhen });
    expect(asked).toEqual([
      ["call_1", "where"],
      ["call_1", "key"],
    ]);
    expect(steps[0]?.toolResults).toMatchObject([{ output: "test with 6 characters" }]);
    expect(JSON.stringify([model.doGenerateCalls, steps])).not.toContain("geheim");
  });

  test("gets the answers to a form together", async () => {
    const aiTool = toAiTool(createForm(), {
      ask: async ({ answerType }) => answerType.type === "boolean" || "test",
    });
    const { steps } = await generateText({
      model: calling(),
      tools: { deploy: aiTool },
      prompt,
    });
    expect(steps[0]?.toolResults).toMatchObject([{ output: '{"sure":true,"where":"test"}' }]);
  });

  test("ends with an error if the answer does not fit, without quoting it", async () => {
    const { deploy, log } = createDeploy();
    const model = calling();
    const tools = { deploy: toAiTool(deploy, { ask: async () => "geheim" }) };
    await generateText({ model, tools, prompt, stopWhen });
    expect(lastResult(model.doGenerateCalls)).toEqual({
      type: "error-text",
      value: 'JpError: The answer to "Deploy now?": expected true or false, got string',
    });
    expect(log).toEqual(["start"]);
  });

  test("ends with the reason why there is no answer", async () => {
    const { deploy } = createDeploy();
    const model = calling();
    const aiTool = toAiTool(deploy, {
      ask: () => Promise.reject(new Error("Ana is on holiday.")),
    });
    await generateText({ model, tools: { deploy: aiTool }, prompt, stopWhen });
    expect(lastResult(model.doGenerateCalls)).toEqual({
      type: "error-text",
      value: "Error: Ana is on holiday.",
    });
  });

  test("ends with the request, even if the function ignores its signal", async () => {
    const { deploy, log } = createDeploy();
    const abort = new AbortController();
    const signals: AbortSignal[] = [];
    const execution = toAiTool(deploy, {
      ask: async (_question, { signal }) => {
        signals.push(signal);
        abort.abort();
        return new Promise(() => {});
      },
    }).execute({ version: "1.4" }, { toolCallId: "1", messages: [], abortSignal: abort.signal });
    await expect(execution).rejects.toThrow("aborted");
    expect([signals[0]?.aborted, log]).toEqual([true, ["start"]]);
  });
});

/** A tool that does not declare what it asks. */
function payTool(options: QuestionOptions<boolean>) {
  const log: string[] = [];
  const pay = createTool(async (_args, { ask }) => {
    if (!(await ask(booleanQuestion("sure", "Pay?", options)))) return "kept";
    log.push("paid");
    return "paid";
  });
  return { pay, log };
}

/** A tool that uses its key before it asks. */
function keyedTool() {
  const keys: string[] = [];
  const keyed = createTool(async (_args, { ask, idempotencyKey }) => {
    keys.push(idempotencyKey);
    return ask(booleanQuestion("sure", "Deploy now?"));
  });
  return { keyed, keys };
}

describe("a tool that relies on what the AI SDK does not have", () => {
  const ways = {
    nothing: (tool: Tool) => toAiTool(tool),
    "a function": (tool: Tool) => toAiTool(tool, { ask: async () => true }),
    approval: (tool: Tool) => toAiTool(tool, { ask: "approval" }),
    "the client": toClientTool,
  };
  const { deploy } = createDeploy();
  const sure = booleanQuestion("sure", "Deploy now?");
  const finance = { for: { role: "finance" } };
  const where = selectQuestion("where", "Where?", { options: ["a"] });

  test.each(Object.entries(ways))("is refused when it is made if it runs steps: %s", (_, make) => {
    expect(() => make({ ...deploy, hasSteps: true })).toThrow(
      expect.objectContaining({
        code: "unsupported_tool",
        message: expect.stringContaining("deploy runs steps with `once`"),
      }),
    );
  });

  test.each(Object.entries(ways))(
    "is refused when it is made if it declares a question for someone: %s",
    (_, make) => {
      const questions = { sure: { ...sure, ...finance } };
      expect(() => make({ ...deploy, questions })).toThrow(
        expect.objectContaining({
          code: "unsupported_tool",
          message: expect.stringContaining('deploy asks "Deploy now?" of certain people'),
        }),
      );
    },
  );

  test.each([
    ["not a yes-or-no question", { where }],
    ["one of several", { sure, really: booleanQuestion("really", "Really?") }],
    ["bound to what was shown", { sure: { ...sure, binding: "abc" } }],
  ])("is refused as an approval when it is made if a question is %s", (_, questions) => {
    expect(() => ways.approval({ ...deploy, questions })).toThrow(
      expect.objectContaining({ code: "unsupported_tool" }),
    );
    expect(() => ways["a function"]({ ...deploy, questions })).not.toThrow();
  });

  test("does not ask a function about a question for someone", async () => {
    const { pay, log } = payTool(finance);
    const asked: string[] = [];
    const ask = async ({ id }: Question) => asked.push(id) > 0;
    const { execute } = toAiTool(pay, { ask });
    await expect(
      execute({ version: "1" }, { toolCallId: "1", messages: [] }),
    ).rejects.toMatchObject({
      code: "unanswerable_question",
    });
    expect([asked, log]).toEqual([[], []]);
  });

  test.each<readonly [string, QuestionOptions<boolean>]>([
    ["for someone", finance],
    ["bound to what was shown", { binding: "abc" }],
  ])("does not ask for the approval of a question that is %s", async (_, options) => {
    const { pay, log } = payTool(options);
    const tools = { deploy: toAiTool(pay, { ask: "approval" }) };
    const { content } = await generateText({ model: calling(), tools, prompt });
    expect(content.filter(({ type }) => type === "tool-approval-request")).toEqual([]);
    expect(content).toContainEqual(
      expect.objectContaining({
        type: "tool-error",
        error: expect.objectContaining({ code: "unanswerable_question" }),
      }),
    );
    expect(log).toEqual([]);
  });

  test.each([{}, { sure: true }])(
    "does not leave a question for someone to the client, whatever it has answered: %j",
    async (answers) => {
      const { pay, log } = payTool(finance);
      const step = await continueToolCall(pay, { input: { version: "1" }, answers });
      expect([step, log]).toMatchObject([{ type: "error", code: "unanswerable_question" }, []]);
    },
  );

  test("does not run with an idempotency key that would be another one next time", async () => {
    const { keyed, keys } = keyedTool();
    const { content } = await generateText({
      model: calling(),
      tools: { deploy: toAiTool(keyed, { ask: "approval" }) },
      prompt,
    });
    expect(content).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: "key_unavailable" }) }),
    );
    const step = await continueToolCall(keyed, { input: { version: "1" } });
    expect([step, keys]).toMatchObject([{ type: "error", code: "key_unavailable" }, []]);
  });

  test("has the program's idempotency key as an approval, before and after it", async () => {
    const { keyed, keys } = keyedTool();
    const { approval, execute } = toAiTool(keyed, {
      ask: "approval",
      idempotencyKey: (toolCallId) => `chat_7/${toolCallId}`,
    });
    await approval({ version: "1" }, { toolCallId: "c" });
    await expect(execute({ version: "1" }, { toolCallId: "c", messages: [] })).rejects.toThrow(
      "no way to answer",
    );
    expect(keys).toEqual(["chat_7/c", "chat_7/c"]);
  });
});

describe("a tool whose question is an approval", () => {
  const user: ModelMessage = { role: "user", content: prompt };

  /** The first request: what the next one is sent, as JSON from a client, with the person's answer. */
  async function request(approved: boolean) {
    const { deploy } = createDeploy();
    const aiTool = toAiTool(deploy, { ask: "approval" });
    const toolApproval = { deploy: aiTool.approval };
    const { content, response } = await generateText({
      model: calling(),
      tools: { deploy: aiTool },
      toolApproval,
      messages: [user],
      stopWhen,
    });
    const found = content.find((part) => part.type === "tool-approval-request");
    const { approvalId, reason } = found ?? { approvalId: "" };
    const answer: ModelMessage = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId, approved }],
    };
    const messages = JSON.stringify([user, ...response.messages, answer]);
    return { reason, messages: JSON.parse(messages) as ModelMessage[] };
  }

  test("puts the question into the request for approval", async () => {
    expect((await request(true)).reason).toBe("Deploy now?\n\nVersion 1.4");
  });

  test("runs after the approval, which may come to another process", async () => {
    const { messages } = await request(true);
    const { deploy, log } = createDeploy();
    const model = mockModel("Done.");
    const tools = { deploy: toAiTool(deploy, { ask: "approval" }) };
    const { text } = await generateText({ model, tools, messages });
    expect(text).toBe("Done.");
    expect(lastResult(model.doGenerateCalls)).toEqual({ type: "text", value: "1.4 is on live" });
    expect(JSON.stringify(model.doGenerateCalls[0]?.prompt)).not.toContain("Deploy now?");
    expect(log.filter((entry) => entry === "deploy")).toHaveLength(1);
  });

  test("does not run if its question is another one than was approved", async () => {
    const { messages } = await request(true);
    const log: string[] = [];
    const asking = createTool(async (_args, { ask }) => {
      if (await ask(booleanQuestion("sure", "Erase everything?"))) log.push("erased");
      return "done";
    });
    const model = mockModel("Pity.");
    await generateText({
      model,
      tools: { deploy: toAiTool(asking, { ask: "approval" }) },
      messages,
    });
    expect(lastResult(model.doGenerateCalls)).toMatchObject({
      type: "error-text",
      value: expect.stringContaining('asks "Erase everything?", and something else was approved'),
    });
    expect(log).toEqual([]);
  });

  test("does not take an approval that no person gave", async () => {
    const { messages } = await request(true);
    const automatic = JSON.stringify(messages).replace(
      '"type":"tool-approval-request"',
      '"type":"tool-approval-request","isAutomatic":true',
    );
    const { deploy, log } = createDeploy();
    const model = mockModel("Pity.");
    await generateText({
      model,
      tools: { deploy: toAiTool(deploy, { ask: "approval" }) },
      messages: JSON.parse(automatic) as ModelMessage[],
    });
    expect([lastResult(model.doGenerateCalls), log]).toMatchObject([
      { type: "error-text" },
      ["start"],
    ]);
  });

  test("runs after the approval when the reply is streamed", async () => {
    const { messages } = await request(true);
    const { deploy, log } = createDeploy();
    const tools = { deploy: toAiTool(deploy, { ask: "approval" }) };
    const model = mockModel("Done.");
    expect(await streamText({ model, tools, messages }).text).toBe("Done.");
    expect(lastResult(model.doStreamCalls)).toEqual({ type: "text", value: "1.4 is on live" });
    expect(log.filter((entry) => entry === "deploy")).toHaveLength(1);
  });

  test("does not run after a denial", async () => {
    const { messages } = await request(false);
    const { deploy, log } = createDeploy();
    const model = mockModel("Pity.");
    const tools = { deploy: toAiTool(deploy, { ask: "approval" }) };
    await generateText({ model, tools, messages });
    expect(lastResult(model.doGenerateCalls)).toMatchObject({ type: "execution-denied" });
    expect(log).toEqual([]);
  });

  test("runs once, and without approval, if it does not ask", async () => {
    const input = { version: "1.4", to: "test" };
    const generated = createDeploy();
    const { steps } = await generateText({
      model: calling(input),
      tools: { deploy: toAiTool(generated.deploy, { ask: "approval" }) },
      prompt,
    });
    expect(steps[0]?.toolResults).toMatchObject([{ output: "1.4 is on test" }]);
    const streamed = createDeploy();
    const { toolResults } = streamText({
      model: calling(input),
      tools: { deploy: toAiTool(streamed.deploy, { ask: "approval" }) },
      prompt,
    });
    expect(await toolResults).toMatchObject([{ output: "1.4 is on test" }]);
    expect([generated.log, streamed.log]).toEqual([
      ["start", "deploy"],
      ["start", "deploy"],
    ]);
  });

  test("does not share a result between calls with the same id", async () => {
    const { deploy, log } = createDeploy();
    const { approval, execute } = toAiTool(deploy, { ask: "approval" });
    await approval({ version: "1.4", to: "test" }, { toolCallId: "call_1" });
    const options = { toolCallId: "call_1", messages: [] };
    expect(await execute({ version: "2.0", to: "test" }, options)).toBe("2.0 is on test");
    expect(log).toEqual(["start", "deploy", "start", "deploy"]);
  });

  test("does not run if the program's own policy lets it pass and no one has approved it", async () => {
    const { deploy, log } = createDeploy();
    const tools = { deploy: toAiTool(deploy, { ask: "approval" }) };
    const model = calling();
    await generateText({ model, tools, prompt, stopWhen, toolApproval: () => "approved" });
    expect(lastResult(model.doGenerateCalls)).toMatchObject({
      type: "error-text",
      value: expect.stringContaining("no way to answer"),
    });
    expect(log).toEqual(["start"]);
  });

  test.each([
    ["text", createTool((_args, { ask }) => ask(textQuestion("where", "Where?"))), '"Where?"'],
    ["two answers", createForm(), "2 questions"],
  ])("ends with an error if it asks for %s", async (_what, asking, asked) => {
    const model = calling();
    const tools = { deploy: toAiTool(asking, { ask: "approval" }) };
    await generateText({ model, tools, prompt, stopWhen });
    expect(lastResult(model.doGenerateCalls)).toMatchObject({
      type: "error-text",
      value: expect.stringContaining(`deploy asks ${asked}`),
    });
  });

  test("takes one approval for one question only", async () => {
    const { messages } = await request(true);
    const asking = createTool(async (_args, { ask }) => {
      const context = "Version 1.4";
      const isSure = await ask(booleanQuestion("sure", "Deploy now?", { context }));
      return isSure && (await ask(booleanQuestion("erase", "Erase the old one?")));
    });
    const model = mockModel("Pity.");
    const tools = { deploy: toAiTool(asking, { ask: "approval" }) };
    await generateText({ model, tools, messages });
    expect(lastResult(model.doGenerateCalls)).toMatchObject({
      type: "error-text",
      value: expect.stringContaining('deploy asks "Erase the old one?"'),
    });
  });
});

describe("a tool that is left to the client", () => {
  test("is run step by step, with the answers so far", async () => {
    const asking = createTool(async ({ version }, { ask }) => {
      const key = await ask(secretQuestion("key", "The key?"));
      const isSure = key.length > 0 && (await ask(booleanQuestion("sure", "Deploy now?")));
      return isSure ? `${version} is live` : "left alone";
    });
    const model = calling();
    const tools = { deploy: toClientTool(asking) };
    const messages: ModelMessage[] = [{ role: "user", content: prompt }];
    const first = await generateText({ model, tools, messages, stopWhen });
    expect(first.toolResults).toEqual([]);
    const [{ toolCallId, toolName, input } = { toolCallId: "", toolName: "", input: {} }] =
      first.toolCalls;

    expect(await continueToolCall(asking, { input })).toMatchObject({
      type: "question",
      questions: [{ id: "key", answerType: { type: "secret" } }],
    });
    expect(await continueToolCall(asking, { input, answers: { key: "geheim" } })).toMatchObject({
      type: "question",
      questions: [{ id: "sure" }],
    });
    const step = await continueToolCall(asking, { input, answers: { key: "geheim", sure: true } });
    expect(step).toEqual({ type: "result", output: "1.4 is live" });

    const value = step.type === "result" ? step.output : "";
    const output = { type: "text" as const, value };
    const result: ModelMessage = {
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName, output }],
    };
    messages.push(...first.response.messages, result);
    expect((await generateText({ model, tools, messages })).text).toBe("Done.");
    expect(lastResult(model.doGenerateCalls)).toEqual(output);
    expect(JSON.stringify(model.doGenerateCalls)).not.toContain("geheim");
  });

  test("is asked again if the answer was bound to something else", async () => {
    const asking = createTool(async ({ version }, { ask }) => {
      const question = booleanQuestion("sure", "Deploy now?", { binding: version });
      return (await ask(question)) ? "live" : "left alone";
    });
    const step = (version: string, bindings?: Record<string, string>) =>
      continueToolCall(asking, {
        input: { version },
        answers: { sure: true },
        ...(bindings !== undefined && { bindings }),
      });
    const asked = { type: "question", questions: [{ id: "sure", binding: "1.4" }] };
    expect([
      await step("1.4"),
      await step("1.4", { sure: "1.3" }),
      await step("1.4", { sure: "1.4" }),
    ]).toMatchObject([asked, asked, { type: "result", output: "live" }]);
  });

  test("is asked again about an answer that does not fit", async () => {
    const { deploy, log } = createDeploy();
    const call = { input: { version: "1.4" }, answers: { sure: "yes" } };
    expect(await continueToolCall(deploy, call)).toMatchObject({ questions: [{ id: "sure" }] });
    expect(log).toEqual(["start"]);
  });

  test("does not run with input that does not fit its parameters", async () => {
    const { deploy, log } = createDeploy();
    expect(await continueToolCall(deploy, { input: { version: 14 } })).toMatchObject({
      type: "error",
      message: expect.stringContaining("version"),
    });
    expect(await continueToolCall(deploy, { input: "1.4" })).toEqual({
      type: "error",
      message: "expected an object",
    });
    expect(log).toEqual([]);
  });

  test("reports its failure", async () => {
    const failing = createTool(async () => {
      throw new Error("no such version");
    });
    expect(await continueToolCall(failing, { input: { version: "1.4" } })).toEqual({
      type: "error",
      message: "no such version",
    });
  });

  test("ends when the step is aborted", async () => {
    const hanging = createTool(() => new Promise(() => {}));
    const signal = AbortSignal.abort();
    const step = continueToolCall(hanging, { input: { version: "1.4" }, signal });
    await expect(step).rejects.toThrow("aborted");
  });
});

test("version 6 of the AI SDK asks for approval, runs the tool, and leaves one to the client", async () => {
  const { deploy, log } = createDeploy();
  const tools = { deploy: toAiTool(deploy, { ask: "approval" }), client: toClientTool(deploy) };
  const model = mockModelV3({ input: { version: "1.4" } }, "Done.");
  const messages: ModelMessage6[] = [{ role: "user", content: prompt }];
  const options = { model, tools, stopWhen: stepCountIs(3) };
  const { content, response } = await generateText6({ ...options, messages });
  const found = content.find((part) => part.type === "tool-approval-request");
  const { approvalId } = found ?? { approvalId: "" };
  messages.push(...response.messages, {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId, approved: true }],
  });
  expect((await generateText6({ ...options, messages })).text).toBe("Done.");
  expect(lastResult(model.doGenerateCalls)).toEqual({ type: "text", value: "1.4 is on live" });
  expect(log.filter((entry) => entry === "deploy")).toHaveLength(1);
  expect(model.doGenerateCalls[0]?.tools).toMatchObject([
    { name: "deploy", inputSchema: parameters },
    { name: "client", inputSchema: parameters },
  ]);
});

interface RecordedCall {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

/** The result that the model got for its call. */
function lastResult(calls: readonly RecordedCall[]): unknown {
  const { role, content } = calls.at(-1)?.prompt.at(-1) ?? {};
  if (role !== "tool" || !Array.isArray(content)) throw new Error("No result was sent last.");
  return (content as readonly { readonly output?: unknown }[])[0]?.output;
}
