import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import { booleanQuestion, defineTool, secretQuestion } from "../../../record/tool/index.ts";
import type { Json } from "../../../util/index.ts";
import type { AttemptRequest } from "../port.ts";
import { createBuiltinExecutor } from "./builtin-executor.ts";

const sure = booleanQuestion("sure", "Sure?");

function request(answers: Record<string, Json> = {}, signal = new AbortController().signal) {
  return {
    arguments: {},
    answers,
    secretAnswers: [],
    notes: {},
    call: {},
    signal,
  } satisfies AttemptRequest;
}

function asking(source?: "assistant") {
  return defineTool({
    name: "builtin_name",
    description: "",
    parameters: {},
    run: async (_args, { ask }) => ((await ask(sure)) ? "yes" : "no"),
    ...(source !== undefined && { inquirySource: () => ({ source }) }),
  });
}

describe("a builtin tool", () => {
  test("asks as the tool, under its name in the config", async () => {
    verifies(
      "082/source/builtin-default-is-the-tool",
      "082/source/executor-decides",
      "082/source/builtin-asked-through-the-registry",
    );
    expect(await createBuiltinExecutor(asking(), "config_name").attempt(request())).toEqual({
      type: "needs_input",
      question: sure,
      source: { source: "tool", name: "config_name" },
    });
  });

  test("asks as the assistant if its code says so", async () => {
    verifies("082/source/builtin-may-speak-for-the-assistant");
    expect(await createBuiltinExecutor(asking("assistant"), "x").attempt(request())).toEqual({
      type: "needs_input",
      question: sure,
      source: { source: "assistant" },
    });
  });

  test("runs again with the answer", async () => {
    expect(await createBuiltinExecutor(asking(), "x").attempt(request({ sure: true }))).toEqual({
      type: "success",
      content: "yes",
    });
  });

  test("asks for a secret with a secret question", async () => {
    verifies("082/secret/builtin-declares-it-in-the-question");
    const token = secretQuestion("token", "Token?");
    const tool = defineTool({
      name: "x",
      description: "",
      parameters: {},
      run: (_args, { ask }) => ask(token),
    });
    expect(await createBuiltinExecutor(tool, "x").attempt(request())).toMatchObject({
      type: "needs_input",
      question: { answerType: { type: "secret" } },
    });
  });
});

test("an error is reported with its causes", async () => {
  const tool = defineTool({
    name: "x",
    description: "",
    parameters: {},
    run: () => {
      throw new Error("no luck", { cause: new Error("rain") });
    },
  });
  expect(await createBuiltinExecutor(tool, "x").attempt(request())).toEqual({
    type: "error",
    content: "no luck\n\nTrace:\nrain",
  });
});

describe("cancelling", () => {
  test("ends a tool that ignores its signal", async () => {
    const tool = defineTool({
      name: "x",
      description: "",
      parameters: {},
      run: () => new Promise<string>(() => undefined),
    });
    const abort = new AbortController();
    const attempt = createBuiltinExecutor(tool, "x").attempt(request({}, abort.signal));
    abort.abort();
    expect(await attempt).toEqual({ type: "cancelled" });
  });

  test("prevents a tool from running if it comes before the start", async () => {
    let isRun = false;
    const tool = defineTool({
      name: "x",
      description: "",
      parameters: {},
      run: () => {
        isRun = true;
        return "";
      },
    });
    const result = await createBuiltinExecutor(tool, "x").attempt(request({}, AbortSignal.abort()));
    expect([result, isRun]).toEqual([{ type: "cancelled" }, false]);
  });
});
