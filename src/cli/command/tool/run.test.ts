import { expect, test } from "vitest";
import {
  cancelled,
  inquiry,
  streamOf,
  toolCall,
  toolResult,
} from "../../../record/conversation/events.fixture.ts";
import { settingsOf } from "../../../core/agent/tool-turn.fixture.ts";
import { explainNoAnswer } from "./run.ts";

const SETTINGS = settingsOf("x", { source: "local", command: "x" });

test("a withdrawn question does not explain a failure: the result does", () => {
  const events = [toolCall("a", "x"), inquiry("a.q.1"), cancelled("a.q.1", "interrupted")];
  const stream = streamOf(...events, toolResult("a"));
  expect(explainNoAnswer(SETTINGS, stream, false)).toBeUndefined();
});

test("a question that could not be asked explains it, even after a withdrawn one", () => {
  const first = [inquiry("a.q.1"), cancelled("a.q.1", "interrupted")];
  const second = [inquiry("a.q.2"), cancelled("a.q.2", "no_prompt_backend")];
  const stream = streamOf(toolCall("a", "x"), ...first, ...second, toolResult("a", "no"));
  expect(explainNoAnswer(SETTINGS, stream, true)).toMatchObject({ code: "no_prompt_backend" });
});
