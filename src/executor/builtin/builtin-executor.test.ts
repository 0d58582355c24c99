import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { booleanQuestion, defineTool, secretQuestion } from "../../tool/index.ts";
import type { Json } from "../../util/index.ts";
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

describe("a builtin tool that asks", () => {
  test("does so as the tool, under the name it has in the config", async () => {
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

  test("does so as the assistant if its own code says so", async () => {
    verifies("082/source/builtin-may-speak-for-the-assistant");
    expect(await createBuiltinExecutor(asking("assistant"), "x").attempt(request())).toEqual({
      type: "needs_input",
      question: sure,
      source: { source: "assistant" },
    });
  });

  test("is entered again with the answer", async () => {
    expect(await createBuiltinExecutor(asking(), "x").attempt(request({ sure: true }))).toEqual({
      type: "success",
      content: "yes",
    });
  });

  test("asks for a secret by the type of its question", async () => {
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

test("what goes wrong is told with what led to it", async () => {
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
  test("ends a tool that never looks at its signal", async () => {
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

  test("before it starts keeps it from starting", async () => {
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
