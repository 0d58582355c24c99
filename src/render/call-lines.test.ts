import { expect, test } from "vitest";
import { answered, cancelled, permission, toolResult } from "../conversation/events.fixture.ts";
import type { PermissionDecision } from "../conversation/index.ts";
import { callEnd, type CallEvents } from "./call-lines.ts";

const RESULT = toolResult("call_1");
const DENIED: PermissionDecision = { ...permission("call_1"), decision: "denied" };

function events(given: Partial<CallEvents> = {}): CallEvents {
  return { decisions: [], answers: [], ...given };
}

test.each([
  ["running", undefined, events()],
  ["done", RESULT, events({ decisions: [permission("call_1")], answers: [answered("q.1")] })],
  ["failed", toolResult("call_1", "no", true), events({ decisions: [DENIED] })],
  ["skipped", RESULT, events({ decisions: [DENIED] })],
  ["withheld", RESULT, events({ decisions: [{ ...DENIED, action: "deliver" }] })],
  ["cancelled", RESULT, events({ answers: [answered("q.1"), cancelled("q.2", "user")] })],
  ["done", RESULT, events({ answers: [cancelled("q.1", "user"), answered("q.2")] })],
])("a call is %s according to its events", (end, response, given) => {
  expect(callEnd(response, given)).toBe(end);
});
