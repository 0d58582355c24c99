import { expect, test } from "vitest";
import { idsOf, type InquiryId } from "./index.ts";

const id = "a.sure.1" as InquiryId;
const both = { toolCallId: "a", inquiryId: id };

test("an event says which call and which decision it is about, also if only the request has the call", () => {
  const ids = [
    idsOf({ type: "chat_request" }, () => "a"),
    idsOf({ type: "tool_call_request", id: "a" }, () => "b"),
    idsOf({ type: "attempt_start", toolCallId: "a" }, () => "b"),
    idsOf({ type: "inquiry_request", id, toolCallId: "a" }, () => "b"),
    idsOf({ type: "inquiry_response", id }, (decision) => (decision === id ? "a" : "b")),
    idsOf({ type: "token_usage", inquiryId: id }, () => "a"),
    idsOf({ type: "token_usage" }, () => "a"),
    idsOf({ type: "decision_void", id }, () => undefined),
  ];
  expect(ids).toEqual([
    {},
    { toolCallId: "a" },
    { toolCallId: "a" },
    both,
    both,
    both,
    {},
    { inquiryId: id },
  ]);
});
