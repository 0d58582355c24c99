import { describe, expect, test } from "vitest";
import {
  booleanQuestion,
  defineTool,
  outcomeToWire,
  parseOutcome,
  textQuestion,
} from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
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
  return outcomeToWire(await runCall(report, JSON.stringify({ tool }), signal));
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
      return outcomeToWire(await runCall(bound, JSON.stringify({ tool }), signal));
    };
    expect([await answered({ sure: "new" }), await answered({ sure: "old" })]).toMatchObject([
      { type: "success", content: "true" },
      { type: "needs_input", question: { id: "sure", binding: "new" } },
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
