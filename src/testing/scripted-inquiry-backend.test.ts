import { expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import { streamOf } from "../record/conversation/events.fixture.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import type { InquiryCall } from "../core/answer-model/index.ts";
import { booleanQuestion } from "../record/tool/index.ts";
import { ScriptedInquiryBackend } from "./scripted-inquiry-backend.ts";

test("answers are found by inquiry id, including `false`", async () => {
  verifies("028/backend/double-answers-by-inquiry-id");
  const backend = new ScriptedInquiryBackend({ "a.ok.1": false, "a.ok.2": null });
  const calls = [callOf("a.ok.1"), callOf("a.ok.2"), callOf("a.ok.3")];
  const answers = [];
  for (const call of calls) answers.push(await backend.inquire(call));
  expect({ answers, calls: backend.calls }).toEqual({
    answers: [
      { type: "answered", answer: false, model: "test/scripted" },
      { type: "answered", answer: null, model: "test/scripted" },
      { type: "failed", kind: "other", message: "the script has no answer for a.ok.3" },
    ],
    calls,
  });
});

test("a function can answer a call, or fail it", async () => {
  const backend = new ScriptedInquiryBackend(({ question }) => ({
    type: "failed",
    kind: "provider",
    message: question.text,
  }));
  expect(await backend.inquire(callOf("a"))).toEqual({
    type: "failed",
    kind: "provider",
    message: "Go on?",
  });
});

test("a held inquiry is not answered before it is released", async () => {
  const backend = new ScriptedInquiryBackend({ a: 1, b: 2 });
  backend.hold("a");
  const ended: string[] = [];
  const first = backend.inquire(callOf("a")).then(() => ended.push("a"));
  await backend.inquire(callOf("b")).then(() => ended.push("b"));
  backend.release("a");
  await first;
  expect(ended).toEqual(["b", "a"]);
});

test("an abort cancels an inquiry, held or not", async () => {
  const backend = new ScriptedInquiryBackend({ a: 1 });
  backend.hold("a");
  const abort = new AbortController();
  const held = backend.inquire(callOf("a", abort.signal));
  abort.abort();
  const late = backend.inquire(callOf("b", abort.signal));
  expect([await held, await late]).toEqual([{ type: "cancelled" }, { type: "cancelled" }]);
});

function callOf(inquiryId: string, signal = new AbortController().signal): InquiryCall {
  return {
    inquiryId: inquiryId as InquiryId,
    toolCallId: "a",
    toolName: "a_tool",
    question: booleanQuestion("ok", "Go on?"),
    target: { type: "assistant", assistant: {} },
    stream: streamOf(),
    signal,
  };
}
