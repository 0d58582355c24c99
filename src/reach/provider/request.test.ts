import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anyLongRecord,
  chatRequest,
  message,
  streamOf,
  toolCall,
  toolResult,
} from "../../record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  intoParts,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import { type Dialect, localDialect } from "./dialect.ts";
import { googleDialect } from "./google.ts";
import type { ModelRequest } from "./port.ts";
import { toCallOptions } from "./request.ts";

const API = anthropicDialect("claude-sonnet-4-5");
const LOCAL = localDialect("llamacpp");
const AS_TEXT: Dialect = { ...LOCAL, template: { calls: "as_text", hasShortIds: false } };

const SYSTEM = { systemPrompt: "Be brief.", sections: [{ content: "No lists." }] };
const TOOLS = ["read", "write"].map((name) => ({ name, description: "", parameters: {} }));

function requestOf(
  events: readonly ConversationEvent[],
  options: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    parts: intoParts({ ...SYSTEM, attachments: [], stream: streamOf(...events) }),
    tools: [],
    toolChoice: "auto",
    parameters: { other: {} },
    cache: "off",
    signal: new AbortController().signal,
    ...options,
  };
}

/** Each message as its role and its parts: their text, or what they are. */
function messagesOf(events: readonly ConversationEvent[], dialect: Dialect) {
  return toCallOptions(requestOf(events), dialect).prompt.map(({ role, content }) => [
    role,
    ...(typeof content === "string"
      ? [content]
      : content.map((part) => (part.type === "text" ? part.text : part.type))),
  ]);
}

describe("texts of the same role", () => {
  const events = [
    chatRequest("One."),
    chatRequest("Two."),
    message("Three."),
    message("Four."),
    toolCall("a"),
    toolResult("a"),
    message("Five."),
  ];

  test("are one text for a chat template, which takes only one", () => {
    expect(messagesOf(events, LOCAL)).toEqual([
      ["system", "Be brief.\n\nNo lists."],
      ["user", "One.\n\nTwo."],
      ["assistant", "Three.\n\nFour.", "tool-call"],
      ["tool", "tool-result"],
      ["assistant", "Five."],
    ]);
  });

  test("stay as they are for an API", () => {
    expect(messagesOf(events, API)).toEqual([
      ["system", "Be brief."],
      ["system", "No lists."],
      ["user", "One.", "Two."],
      ["assistant", "Three.", "Four.", "tool-call"],
      ["tool", "tool-result"],
      ["assistant", "Five."],
    ]);
  });
});

describe("a message of the user after the results of calls", () => {
  const events = [chatRequest("Go."), toolCall("a"), toolResult("a"), chatRequest("Stop.")];

  test("has a reply before it for a chat template", () => {
    expect(messagesOf(events, LOCAL).slice(2)).toEqual([
      ["assistant", "tool-call"],
      ["tool", "tool-result"],
      ["assistant", "(No reply.)"],
      ["user", "Stop."],
    ]);
  });

  test("follows them at once for an API", () => {
    expect(messagesOf(events, API).slice(-2)).toEqual([
      ["tool", "tool-result"],
      ["user", "Stop."],
    ]);
  });

  test("is one text with them if they are described in words, as are the instructions with the first", () => {
    expect(messagesOf(events, AS_TEXT)).toEqual([
      ["user", "Be brief.\n\nNo lists.\n\nGo."],
      ["assistant", "[I called the tool a_tool with {}]"],
      ["user", "[The tool a_tool returned:]\ndone\n\nStop."],
    ]);
  });
});

function named(dialect: Dialect, tool: string) {
  const request = requestOf([chatRequest("Go.")], { tools: TOOLS, toolChoice: { tool } });
  const { tools, toolChoice } = toCallOptions(request, dialect);
  return { tools: tools?.map(({ name }) => name), toolChoice };
}

describe("a named tool", () => {
  test("is the only one sent if the server cannot be told to call it", () => {
    expect(named(LOCAL, "write")).toEqual({ tools: ["write"], toolChoice: { type: "required" } });
  });

  test("is named to an API, which gets all of them", () => {
    expect(named(API, "write")).toEqual({
      tools: ["read", "write"],
      toolChoice: { type: "tool", toolName: "write" },
    });
  });

  test("that does not exist is an error, because nothing is left to send", () => {
    expect(() => named(LOCAL, "gone")).toThrow(
      expect.objectContaining({
        kind: "invalid_request",
        isRetryable: false,
        message: 'There is no tool named "gone" to call.',
      }),
    );
  });
});

test("a schema forbids calls, but keeps the tools, only if the server would wait for a call first", () => {
  const schema = { type: "object" };
  const request = requestOf([chatRequest("Go.", schema)], { tools: TOOLS });
  const choices = [true, false].map((forbidsCallsWithSchema) => {
    const { tools, toolChoice } = toCallOptions(request, { ...LOCAL, forbidsCallsWithSchema });
    return [tools?.length, toolChoice];
  });
  expect(choices).toEqual([
    [2, { type: "none" }],
    [2, { type: "auto" }],
  ]);
});

test.each([
  ["an API", googleDialect("gemini-3-pro")],
  ["a chat template", LOCAL],
  ["a template with short ids", { ...LOCAL, template: { calls: "one_by_one", hasShortIds: true } }],
  ["a template without calls", AS_TEXT],
  ["an API with cache points", API],
] as const)(
  "a record that grows is sent as if all of its messages were made anew for each request: %s",
  (_name, dialect) => {
    fc.assert(
      fc.property(anyLongRecord, (record) => {
        const entries: StreamEntry[] = [];
        for (const entry of record) {
          entries.push(entry);
          const parts = intoParts({ ...SYSTEM, attachments: [], stream: streamOf(...entries) });
          const request = requestOf([], { parts, cache: "short" });
          const { prompt } = toCallOptions(request, dialect);
          const anew = { ...parts, events: [...parts.events] };
          expect(prompt).toEqual(toCallOptions({ ...request, parts: anew }, dialect).prompt);
        }
      }),
    );
  },
);
