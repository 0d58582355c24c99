import { expect, test } from "vitest";
import { StreamEntry } from "./entry.ts";
import type { ConversationEvent } from "./event.ts";
import { intoParts } from "./thread.ts";
import { timestampFromDate } from "./timestamp.ts";
import { requestShares, requestTokens } from "./token-estimates.ts";

const timestamp = timestampFromDate(new Date(0));
const call = { id: "1", name: "look", arguments: {} };

test("the shares of a request are those of its parts, and add up to all of it", () => {
  const events: readonly ConversationEvent[] = [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content: "m".repeat(30) },
    { type: "tool_call_request", timestamp, ...call },
    {
      type: "tool_call_response",
      timestamp,
      id: "1",
      isError: false,
      content: "r".repeat(600),
    },
    { type: "chat_response", timestamp, content: { type: "message", text: "a".repeat(60) } },
  ];
  const entries = events.map((event) => StreamEntry.fromEvent(event));
  const parts = intoParts({
    systemPrompt: "i".repeat(298),
    sections: [],
    attachments: [{ source: "a.txt", content: "f".repeat(3000) }],
    stream: { createdAt: timestamp, baseConfig: {}, entries },
  });
  const tools = [{ name: "look" }];
  const { files, ...shares } = requestShares(parts, tools);
  expect(shares).toEqual({
    instructions: 100,
    tools: JSON.stringify(tools).length / 3,
    messages: 10,
    replies: 20,
    calls: 2,
    results: 200,
  });
  expect(files).toBeGreaterThan(1000);
  const sum = Object.values({ files, ...shares }).reduce((all, one) => all + one, 0);
  expect(requestTokens(parts, tools)).toBeCloseTo(sum);
});
