import { expect, test } from "vitest";
import { at, chatRequest } from "./events.fixture.ts";
import {
  type InquiryId,
  findTraceparent,
  type Traceparent,
  parseEvent,
  traceparentOf,
  withTraceparent,
} from "./index.ts";

const VALID = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
const request = {
  type: "permission_request",
  timestamp: at(1),
  id: "a:run:1" as InquiryId,
  toolCallId: "a",
  tool: "pay",
  action: "run",
} as const;

test("only a traceparent of W3C Trace Context counts as one", () => {
  const broken = [
    "",
    VALID.toUpperCase(),
    `${VALID}\n`,
    `${VALID}-x`,
    VALID.replace("00-", "01-"),
    VALID.replaceAll("a", "0"),
    VALID.replaceAll("b", "0"),
    [VALID],
    null,
  ];
  expect([findTraceparent(VALID), ...broken.map(findTraceparent)]).toEqual([
    VALID,
    ...broken.map(() => undefined),
  ]);
});

test("a broken traceparent is left out when a record is read", () => {
  const raw = {
    type: "inquiry_request",
    timestamp: at(1),
    id: "x",
    source: { source: "assistant" },
  };
  const question = { text: "Sure?", answer_type: { type: "boolean" } };
  const read = (traceparent: string) => parseEvent({ ...raw, question, traceparent });
  expect([read(VALID), read("00-1-2-3")]).toMatchObject([{ traceparent: VALID }, {}]);
  expect(read("00-1-2-3")).not.toHaveProperty("traceparent");
});

test("requests alone get the traceparent of their turn, whose last one counts", () => {
  const traceparent = findTraceparent(VALID) as Traceparent;
  const events = [chatRequest("Hi."), request];
  expect([
    withTraceparent(events, traceparent),
    traceparentOf(withTraceparent(events, traceparent)),
    traceparentOf(events),
  ]).toEqual([[events[0], { ...request, traceparent }], VALID, undefined]);
});
