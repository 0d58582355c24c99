import { expect, test } from "vitest";
import {
  cancelled,
  inquiry,
  streamOf,
  toolCall,
  toolResult,
} from "../../../conversation/events.fixture.ts";
import { settingsOf } from "../../../agent/tool-turn.fixture.ts";
import { explainUnanswered } from "./run.ts";

const SETTINGS = settingsOf("x", { source: "local", command: "x" });

test("a question that the tool took back is no reason: the result says what came of the call", () => {
  const events = [toolCall("a", "x"), inquiry("a.q.1"), cancelled("a.q.1", "interrupted")];
  const stream = streamOf(...events, toolResult("a"));
  expect(explainUnanswered(SETTINGS, stream, false)).toBeUndefined();
});

test("a question that nobody could be asked is one, also behind one that was taken back", () => {
  const first = [inquiry("a.q.1"), cancelled("a.q.1", "interrupted")];
  const second = [inquiry("a.q.2"), cancelled("a.q.2", "no_prompt_backend")];
  const stream = streamOf(toolCall("a", "x"), ...first, ...second, toolResult("a", "no"));
  expect(explainUnanswered(SETTINGS, stream, true)).toMatchObject({ code: "no_prompt_backend" });
});
