import { expect, test } from "vitest";
import type { UnscopedQuestion } from "../../mcp/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import { toRefusedQuestions } from "./mcp-executor.ts";

function unscoped(params: JsonObject, method = "elicitation/create"): UnscopedQuestion {
  return { server: "moon", message: "", request: { key: "1", method, params } };
}

test("a form is one question for each field, asked by the server", () => {
  const properties = {
    sea: { type: "string", enum: ["calm", "cold"], default: "calm" },
    password: { type: "string", default: "hunter2" },
  };
  const requestedSchema = { type: "object", properties, required: ["sea"] };
  const common = { exclusive: false, persistence: "turn" };
  expect(toRefusedQuestions(unscoped({ message: "Well?", requestedSchema }))).toEqual({
    source: { source: "tool", name: "mcp.moon" },
    reason: "no_prompt_backend",
    questions: [
      {
        id: "sea",
        text: "sea",
        context: "Well?",
        answerType: { type: "select", options: [{ value: "calm" }, { value: "cold" }] },
        default: "calm",
        ...common,
      },
      {
        id: "password",
        text: "password",
        context: "You may leave it empty.",
        answerType: { type: "secret" },
        ...common,
      },
    ],
  });
});

test("a question of a call that has ended is asked by its tool", () => {
  const visit = { mode: "url", message: "Go.", url: "https://moon.example/" };
  expect(toRefusedQuestions({ ...unscoped(visit), tool: "land" })).toMatchObject({
    source: { source: "tool", name: "land" },
    reason: "interrupted",
    questions: [{ id: "open_url" }],
  });
});

test("a sampling request is one question", () => {
  const messages = [{ role: "user", content: { type: "text", text: "Hi" } }];
  const { questions } = toRefusedQuestions(
    unscoped({ messages, maxTokens: 1 }, "sampling/createMessage"),
  );
  expect(questions).toMatchObject([{ id: "sampling", context: "User:\nHi" }]);
});

test("an invalid request is one question, too", () => {
  const unreadable = [
    unscoped({}),
    unscoped({}, "sampling/createMessage"),
    unscoped({}, "roots/list"),
  ];
  expect(unreadable.flatMap((each) => toRefusedQuestions(each).questions)).toMatchObject(
    unreadable.map(() => ({ id: "question", text: "An invalid question." })),
  );
});
