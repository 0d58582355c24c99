import { describe, expect, test } from "vitest";
import type { Asks } from "../../mcp/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import {
  createRound,
  fillRound,
  promptsOf,
  questionsOf,
  type QuestionRound,
  type RoundRules,
} from "./question-round.ts";

const RULES: RoundRules = { server: "test", allowsSecrets: true, allowsSampling: false };

function roundOf(forms: Readonly<Record<string, JsonObject>>): QuestionRound {
  const requests = Object.entries(forms).map(([key, properties]) => ({
    key,
    method: "elicitation/create",
    params: { message: "Well?", requestedSchema: { type: "object", properties } },
  }));
  const round = createRound({ type: "asks", requests, isPrerequisite: false }, RULES);
  if (round.type === "refused") throw new Error(round.reason);
  return round;
}

const text = { type: "string" };

test("ids are the names of the fields if they differ", () => {
  const round = roundOf({
    a: { name: text, "": text, "two\nlines": text },
    b: { name: text, "a.name": text, "b.name": text },
    "b.b": { name: text },
  });
  expect(questionsOf(round).map(({ id }) => id)).toEqual([
    "name",
    "a.",
    "two lines",
    "b.name",
    "a.name",
    "b.b.name",
    "b.b.name.2",
  ]);
});

test("every value reaches its field, whatever the name", async () => {
  const names = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}');
  const round = roundOf({ a: names as JsonObject });
  const answers = JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, Json>;
  const filled = await fillRound(round, { answers });
  const responses = filled.type === "complete" ? [...filled.responses] : [];
  expect(JSON.stringify(responses)).toBe(
    '[["a",{"action":"accept","content":{"__proto__":"p","constructor":"c"}}]]',
  );
});

test("texts of a server are cut, and a question is one line", () => {
  const long = "x".repeat(10_000);
  const title = `a\r\n\u001b[2Kb\t${long}`;
  const [question] = questionsOf(
    roundOf({ a: { name: { ...text, title, description: long, enum: ["a"] } } }),
  );
  expect(question?.text).toBe(`a [2Kb ${"x".repeat(192)}…`);
  expect(question?.context).toBe(`Well?\n\n${"x".repeat(3999)}…`);
});

test("a default that is not a valid answer is dropped", () => {
  const questions = questionsOf(
    roundOf({
      a: {
        text: { ...text, default: { a: 1 } },
        choice: { ...text, enum: ["a"], default: "b" },
        number: { type: "number", default: 2.5 },
        password: { ...text, default: "hunter2" },
      },
    }),
  );
  expect(questions.map((question) => question.default)).toEqual([
    undefined,
    undefined,
    "2.5",
    undefined,
  ]);
});

test.each<[string, Asks["requests"][number], string]>([
  ["folders", { key: "a", method: "roots/list", params: undefined }, "which is not supported"],
  ["nothing that is known", { key: "a", method: "", params: 1 }, "which is not supported"],
])("a server that asks for %s is refused", (_, request, reason) => {
  const asks: Asks = { type: "asks", requests: [request], isPrerequisite: false };
  expect(createRound(asks, RULES)).toMatchObject({
    type: "refused",
    reason: expect.stringContaining(reason),
  });
});

describe("sampling requests", () => {
  test("are refused if the config does not allow them, with the key that would", () => {
    expect(samplingRound(["a"])).toEqual({
      type: "refused",
      reason: "for an answer from a model",
      key: "allow_sampling",
    });
  });

  test("of one round have their own ids and replies", async () => {
    const round = samplingRound(["a", "b"], true);
    if (round.type === "refused") throw new Error(round.reason);
    expect([...promptsOf(round)]).toEqual([
      ["sampling", { messages: [{ role: "user", text: "a" }], maxTokens: 9 }],
      ["b.sampling", { messages: [{ role: "user", text: "b" }], maxTokens: 9 }],
    ]);
    const filled = await fillRound(round, {
      answers: { sampling: "A", "b.sampling": "B" },
      replies: { "b.sampling": { model: "test/b", isCutOff: true } },
    });
    expect(filled.type === "complete" && Object.fromEntries(filled.responses)).toEqual({
      a: {
        role: "assistant",
        model: "config",
        stopReason: "endTurn",
        content: { type: "text", text: "A" },
      },
      b: {
        role: "assistant",
        content: { type: "text", text: "B" },
        model: "test/b",
        stopReason: "maxTokens",
      },
    });
  });
});

function samplingRound(keys: readonly string[], allowsSampling = false) {
  const requests = keys.map((key) => ({
    key,
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text: key } }], maxTokens: 9 },
  }));
  const rules = { ...RULES, allowsSampling };
  return createRound({ type: "asks", requests, isPrerequisite: false }, rules);
}
