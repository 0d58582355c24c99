import { expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { chatRequest, inquiry, turnStart } from "./events.fixture.ts";
import { type ConversationEvent, EVENT_TYPES, isEventType, isProviderVisible } from "./event.ts";

test("only four kinds of events may reach a provider", () => {
  verifies(
    "005/visibility/four-kinds-reach-providers",
    "005/visibility/turn-markers-hidden",
    "005/visibility/inquiry-events-hidden",
  );
  const visible = EVENT_TYPES.map((type) => [
    type,
    isProviderVisible({ type } as ConversationEvent),
  ]);
  expect(Object.fromEntries(visible)).toStrictEqual({
    turn_start: false,
    chat_request: true,
    chat_response: true,
    tool_call_request: true,
    tool_call_response: true,
    inquiry_request: false,
    inquiry_escalation: false,
    inquiry_response: false,
    permission_request: false,
    permission_decision: false,
    decision_void: false,
    decision_vote: false,
    attempt_start: false,
    tool_step: false,
    reply_failure: false,
    turn_resume: false,
    turn_end: false,
    token_usage: false,
    reply_sources: false,
    reply_file: false,
    turn_undo: false,
  });
});

test("visibility depends only on the kind of event", () => {
  verifies("005/visibility/decided-by-kind");
  const flags = { provider_hidden: false, provider_visible: true };
  const hidden = { provider_hidden: true, provider_visible: false };
  expect([
    isProviderVisible({ ...turnStart(), extra: flags, metadata: flags }),
    isProviderVisible({ ...inquiry("c.ok.1"), extra: flags, metadata: flags }),
    isProviderVisible({ ...chatRequest("Hi"), extra: hidden, metadata: hidden }),
  ]).toEqual([false, false, true]);
});

test("only known event types are accepted", () => {
  const names = ["chat_request", "Chat_Request", "config_delta", "toString", "", 3, undefined];
  expect(names.map(isEventType)).toEqual([true, false, false, false, false, false, false]);
});
