import { expect, test } from "vitest";
import { ShapeError } from "../../util/index.ts";
import { metadataToJson, parseMetadata } from "./metadata.ts";

const time = "2026-01-02 03:04:05.123456789";

test("metadata needs only the time the conversation was last used", () => {
  expect(parseMetadata({ last_activated_at: time })).toStrictEqual({ lastActivatedAt: time });
});

test("all known keys are read, and unknown ones are kept", () => {
  const metadata = parseMetadata({
    colour: { of: "the sky" },
    labels: { topic: "bugs", done: "" },
    title: "Fix it",
    expires_at: "2026-01-05 00:00:00.0",
    archived_at: "2026-01-04 00:00:00.0",
    pinned_at: "2026-01-03 00:00:00.0",
    last_activated_at: time,
  });
  expect(metadata).toStrictEqual({
    title: "Fix it",
    lastActivatedAt: time,
    pinnedAt: "2026-01-03 00:00:00.0",
    archivedAt: "2026-01-04 00:00:00.0",
    expiresAt: "2026-01-05 00:00:00.0",
    labels: { topic: "bugs", done: "" },
    extra: { colour: { of: "the sky" } },
  });
});

test("metadata is written in a fixed order, labels by name, unknown keys at the end", () => {
  const metadata = parseMetadata({
    zeta: 1,
    alpha: null,
    labels: { topic: "bugs", done: "", Area: "cli" },
    expires_at: "2026-01-05 00:00:00.0",
    archived_at: "2026-01-04 00:00:00.0",
    pinned_at: "2026-01-03 00:00:00.0",
    last_activated_at: time,
    title: "Fix it",
  });
  expect(JSON.stringify(metadataToJson(metadata))).toBe(
    `{"title":"Fix it","last_activated_at":"${time}",` +
      '"pinned_at":"2026-01-03 00:00:00.0","archived_at":"2026-01-04 00:00:00.0",' +
      '"expires_at":"2026-01-05 00:00:00.0","labels":{"Area":"cli","done":"","topic":"bugs"},' +
      '"zeta":1,"alpha":null}',
  );
});

test("null and empty values are not written back", () => {
  const metadata = parseMetadata({
    title: null,
    last_activated_at: time,
    pinned_at: null,
    labels: {},
  });
  expect(metadataToJson(metadata)).toStrictEqual({ last_activated_at: time });
});

test.each<[string, unknown, string, string]>([
  ["a list", [], "", "expected an object, got array"],
  [
    "metadata without a last use",
    {},
    "last_activated_at",
    'expected a time like "2026-01-02 03:04:05.678", got nothing',
  ],
  [
    "a pin at no time",
    { last_activated_at: time, pinned_at: true },
    "pinned_at",
    'expected a time like "2026-01-02 03:04:05.678", got boolean',
  ],
  [
    "a title that is not text",
    { last_activated_at: time, title: 3 },
    "title",
    "expected a string, got number",
  ],
  [
    "labels in a list",
    { last_activated_at: time, labels: ["bugs"] },
    "labels",
    "expected an object, got array",
  ],
  [
    "a label that is not text",
    { last_activated_at: time, labels: { done: true } },
    "labels.done",
    "expected a string, got boolean",
  ],
])("%s is rejected, and the error names the key", (_, value, path, problem) => {
  expect(() => parseMetadata(value)).toThrow(new ShapeError(path, problem));
});
