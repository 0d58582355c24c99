import { expect, test } from "vitest";
import { JpError } from "../../util/index.ts";
import {
  type ConversationCreation,
  findConversationId,
  newestOf,
  parseConversationId,
} from "./conversation-id.ts";
import { parseTimestamp } from "./timestamp.ts";

test.each([
  "jp-c17457886043",
  "jp-c0",
  "jp-c17457886043-ot3fb",
  "jp-c0190a7c1-7d2e-7000-8000-0123456789ab",
  `jp-c${"z".repeat(64)}`,
])("an id is taken as it is: %s", (text) => {
  expect([findConversationId(text), parseConversationId(text)]).toEqual([text, text]);
});

test.each([
  "",
  "jp-c",
  "17457886043",
  "jp-w17457886043",
  "jp-c-17457886043",
  "jp-c17457886043-",
  "jp-c1--2",
  "jp-cABC",
  "jp-c1.2",
  "jp-c../secret",
  "jp-c1/2",
  "jp-c1\\2",
  "jp-c1\n",
  " jp-c17457886043",
  `jp-c${"z".repeat(65)}`,
])("%j is not an id", (text) => {
  expect(findConversationId(text)).toBeUndefined();
});

test("invalid ids are rejected with an example of a valid one", () => {
  expect(() => parseConversationId("latest")).toThrow(
    new JpError("invalid_conversation_id", "Invalid conversation id: latest", {
      commandHint: "Ids look like jp-c17457886043. Run `jp conversation ls` to list them.",
    }),
  );
});

function created(name: string, second: number): ConversationCreation {
  const createdAt = parseTimestamp(`2026-01-02 03:04:0${second}.0`);
  return { id: parseConversationId(`jp-c${name}`), createdAt };
}

test("conversations are in the order of their creation, and of their ids if that is the same", () => {
  const [b, z, a, y] = [created("b", 2), created("z", 1), created("a", 2), created("y", 1)];
  const list = (options: Parameters<typeof newestOf>[2]) =>
    newestOf([b, z, a, y], (each) => each, options).map(({ id }) => id.slice("jp-c".length));
  expect([
    list({}),
    list({ limit: 3 }),
    list({ before: a }),
    list({ before: b, limit: 2 }),
    list({ before: created("m", 2), limit: 1 }),
  ]).toEqual([["b", "z", "a", "y"], ["b", "a", "z"], ["z", "y"], ["a", "z"], ["b"]]);
});
