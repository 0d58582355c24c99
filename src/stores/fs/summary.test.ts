import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { laidOut, METADATA_TEXT, time } from "../record-elements.fixture.ts";
import { placeConversation, temporaryFolder } from "../temporary-workspace.fixture.ts";
import { fileIdFromNumber } from "./file-id.ts";
import { summarize } from "./summary.ts";

const EARLIER = { timestamp: time(1), type: "turn_start" };

test("an empty record has no last event", () => {
  expect(lastEventIn("[]\n")).toBeUndefined();
});

test("the time of the last element is found before any length of text", () => {
  const long = { timestamp: time(2), type: "chat_request", content: "x".repeat(300_000) };
  expect(lastEventIn(laidOut([EARLIER, long]))).toBe(time(2));
});

test("a time inside an element is not mistaken for its timestamp", () => {
  const nested = {
    timestamp: time(2),
    type: "chat_response",
    data: { timestamp: time(9), list: [{ timestamp: time(8) }] },
  };
  expect(lastEventIn(laidOut([EARLIER, nested]))).toBe(time(2));
});

test("a time inside an element is not mistaken for its timestamp, however far apart they are", () => {
  const nested = {
    timestamp: time(2),
    type: "chat_response",
    data: { before: "x".repeat(5000), timestamp: time(9), after: "x" },
  };
  expect(lastEventIn(laidOut([EARLIER, nested]))).toBe(time(2));
});

test("text that looks like a timestamp is not mistaken for one", () => {
  const quoting = {
    timestamp: time(2),
    type: "chat_request",
    content: `\n    "timestamp": "${time(9)}"`,
  };
  expect(lastEventIn(laidOut([EARLIER, quoting]))).toBe(time(2));
});

test("a time with a zone, as in old records, is returned unchanged", () => {
  expect(lastEventIn(laidOut([{ timestamp: "2025-07-19T14:00:00Z", type: "turn_start" }]))).toBe(
    "2025-07-19T14:00:00Z",
  );
});

test("an invalid time is omitted", () => {
  expect(lastEventIn(laidOut([{ timestamp: "yesterday", type: "turn_start" }]))).toBeUndefined();
});

function lastEventIn(events: string): string | undefined {
  const folder = temporaryFolder();
  placeConversation(folder, { metadata: METADATA_TEXT });
  writeFileSync(path.join(folder, "events.json"), events);
  const copy = { root: "main", folder, isArchived: false } as const;
  return summarize(fileIdFromNumber(1), [copy]).lastEventAt;
}
