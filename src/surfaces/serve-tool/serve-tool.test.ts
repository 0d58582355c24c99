import { describe, expect, test } from "vitest";
import {
  booleanQuestion,
  defineTool,
  parseOutcome,
  textQuestion,
  type Tool,
} from "../../record/tool/index.ts";
import { isJpError, type Json, type JsonObject } from "../../util/index.ts";
import { runCall } from "./serve-tool.ts";

const title = textQuestion("title", "Title?", { allowsNote: true });
const sure = booleanQuestion("sure", "Send it?");
const report = defineTool<{ readonly to: string }>({
  name: "report",
  description: "Sends a report.",
  parameters: { type: "object", properties: { to: { type: "string" } } },
  run: async ({ to }, { askAll, notes }) => ({ to, ...(await askAll({ title, sure })), notes }),
});

/** The output of a program that is called with this on its standard input. */
async function serve(tool: Json): Promise<JsonObject> {
  const { signal } = new AbortController();
  return runCall(report, JSON.stringify({ tool }), signal);
}

describe("a tool that is served as a program", () => {
  const call = { name: "report", arguments: { to: "Ana" } };

  test("prints all questions of a form, so that jp asks them together", async () => {
    expect(parseOutcome(await serve({ ...call, answers: {} }))).toEqual({
      type: "needs_input",
      question: title,
      more: [sure],
    });
  });

  test("gets arguments, answers and notes from its standard input", async () => {
    const answers = { title: "It broke", sure: true };
    const notes = { title: "since Monday" };
    const result = { to: "Ana", ...answers };
    expect([
      await serve({ ...call, answers, notes }),
      await serve({ ...call, answers }),
      await serve({ ...call, answers, notes: null }),
    ]).toEqual([
      { type: "success", content: JSON.stringify({ ...result, notes }) },
      { type: "success", content: JSON.stringify({ ...result, notes: {} }) },
      { type: "success", content: JSON.stringify({ ...result, notes: {} }) },
    ]);
  });

  test("gets the bindings of its questions, and asks again if one no longer holds", async () => {
    const bound = defineTool({
      name: "clear",
      description: "",
      parameters: {},
      run: (_args, { ask }) => ask(booleanQuestion("sure", "Clear it?", { binding: "new" })),
    });
    const { signal } = new AbortController();
    const answered = async (bindings: JsonObject) => {
      const tool = { name: "clear", arguments: {}, answers: { sure: true }, bindings };
      return runCall(bound, JSON.stringify({ tool }), signal);
    };
    expect([await answered({ sure: "new" }), await answered({ sure: "old" })]).toMatchObject([
      { type: "success", content: "true" },
      { type: "needs_input", question: { id: "sure", binding: "new" } },
    ]);
  });

  test("gets the idempotency key of its caller, and else a random one", async () => {
    const keyed = defineTool({
      name: "keyed",
      description: "",
      parameters: {},
      run: (_args, context) => [context.idempotencyKey, context.idempotencyKey],
    });
    const { signal } = new AbortController();
    const tool = { name: "keyed", arguments: {}, answers: {} };
    const keysOf = async (context: Json) => {
      const outcome = parseOutcome(await runCall(keyed, JSON.stringify({ tool, context }), signal));
      if (outcome?.type !== "success") throw new Error("It failed.");
      return JSON.parse(outcome.content) as readonly string[];
    };
    const [given, ...random] = [
      await keysOf({ action: "run", idempotency_key: "4f1b" }),
      await keysOf({ action: "run" }),
      await keysOf(null),
    ];
    expect(given).toEqual(["4f1b", "4f1b"]);
    expect(random.map((keys) => new Set(keys).size)).toEqual([1, 1]);
    expect(new Set(random.flat().filter((key) => /^[0-9a-f]{32}$/.test(key))).size).toBe(2);
  });

  test("checks a call instead of running it if its caller says so, and never runs it then", async () => {
    let runs = 0;
    const pay = defineTool({
      name: "pay",
      description: "",
      parameters: {},
      run: () => (runs += 1),
      check: async (args, { idempotencyKey }) =>
        idempotencyKey === "4f1b"
          ? { type: "done", result: { content: [{ type: "text", text: "paid" }] } }
          : { type: args["amount"] === 0 ? "not_done" : "unknown" },
    });
    const failing = defineTool({
      ...pay,
      run: () => (runs += 1),
      check: () => ({ type: "perhaps" }) as never,
    });
    const unable = defineTool({ ...pay, run: () => (runs += 1) });
    const { signal } = new AbortController();
    const check = (tool: Tool, key: string | undefined, args: JsonObject = {}) => {
      const context = { action: "check", idempotency_key: key };
      const document = { tool: { name: "pay", arguments: args, answers: {} }, context };
      return runCall(tool, JSON.stringify(document), signal);
    };
    expect([
      await check(pay, "4f1b"),
      await check(pay, "77aa", { amount: 0 }),
      await check(pay, "77aa"),
      await check(pay, undefined, { amount: 0 }),
      await check(failing, "4f1b"),
      await check(unable, "4f1b"),
      runs,
    ]).toEqual([
      { type: "done", result: { type: "success", content: "paid" } },
      { type: "not_done" },
      { type: "unknown" },
      { type: "unknown" },
      { type: "failed" },
      { type: "unknown" },
      0,
    ]);
  });

  test("cannot run a step once, and says why", async () => {
    let runs = 0;
    const paying = defineTool({
      name: "pay",
      description: "",
      parameters: {},
      hasSteps: true,
      run: async (_args, { once }) => {
        try {
          return await once("pay", () => (runs += 1));
        } catch (error) {
          return isJpError(error) ? error.code : "unknown";
        }
      },
    });
    const { signal } = new AbortController();
    const document = JSON.stringify({ tool: { name: "pay", arguments: {}, answers: {} } });
    expect([await runCall(paying, document, signal), runs]).toEqual([
      { type: "success", content: "once_unavailable" },
      0,
    ]);
  });

  test.each([null, { name: "report" }, { ...call, answers: {}, notes: { title: 1 } }])(
    "reports a document that is not a call as an error: %j",
    async (tool) => {
      expect(await serve(tool)).toMatchObject({
        type: "error",
        message: expect.stringContaining("expects a call on standard input"),
      });
    },
  );
});
