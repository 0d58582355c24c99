import { describe, expect, test } from "vitest";
import {
  at,
  chatRequest,
  message,
  reasoning,
  toolCall,
  toolResult,
} from "../../record/conversation/events.fixture.ts";
import type { ProviderEvent } from "../../record/conversation/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import { googleDialect } from "./google.ts";
import { ollamaDialect } from "./ollama.ts";
import { openaiDialect } from "./openai.ts";
import { toPieces } from "./pieces.ts";

/** Each piece as one line: its role and content. */
function describePieces(
  events: readonly ProviderEvent[],
  dialect = anthropicDialect("claude-sonnet-4-5"),
) {
  return toPieces(events, dialect).map(({ role, part }) => {
    switch (part.type) {
      case "tool-call":
        return `${role} calls ${part.toolCallId}`;
      case "tool-result":
        return `${role} answers ${part.toolCallId}: ${JSON.stringify(part.output.type)}`;
      case "file":
        return `${role} file: ${part.mediaType} ${part.data.type}`;
      default:
        return `${role} ${part.type}: ${part.text}`;
    }
  });
}

function structured(data: Json): ProviderEvent {
  return { type: "chat_response", timestamp: at(0), content: { type: "structured", data } };
}

function signed(text: string, metadata: JsonObject): ProviderEvent {
  return { ...reasoning(text), metadata };
}

describe("calls and their results", () => {
  test("are grouped, in the order of the calls", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolCall("b"),
      toolResult("b", "B", true),
      toolResult("a"),
      message("Done."),
    ];
    expect(describePieces(events)).toEqual([
      "user text: Go.",
      "assistant calls a",
      "assistant calls b",
      'tool answers a: "text"',
      'tool answers b: "error-text"',
      "assistant text: Done.",
    ]);
  });

  test("are JSON for APIs that take it, unless jp has added words to the result", () => {
    const result = { ...toolResult("a", '{"moons":[1,2]}'), isJson: true };
    const outputs = [
      { event: result, dialect: googleDialect("gemini-3-pro") },
      {
        event: { ...result, added: { before: 0, after: 3 } },
        dialect: googleDialect("gemini-3-pro"),
      },
      { event: { ...result, content: '{"moons":[1,' }, dialect: googleDialect("gemini-3-pro") },
      { event: toolResult("a", '{"moons":[1,2]}'), dialect: googleDialect("gemini-3-pro") },
      { event: result, dialect: anthropicDialect("claude-sonnet-4-5") },
    ].map(({ event, dialect }) => {
      const part = toPieces([chatRequest("Go."), toolCall("a"), event], dialect).at(-1)?.part;
      return part?.type === "tool-result" ? part.output : undefined;
    });
    expect(outputs).toEqual([
      { type: "json", value: { moons: [1, 2] } },
      { type: "text", value: '{"moons":[1,2]}' },
      { type: "text", value: '{"moons":[1,' },
      { type: "text", value: '{"moons":[1,2]}' },
      { type: "text", value: '{"moons":[1,2]}' },
    ]);
  });

  test("of one reply are kept apart from those of the next", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolResult("a"),
      toolCall("b"),
      toolResult("b"),
    ];
    expect(describePieces(events)).toEqual([
      "user text: Go.",
      "assistant calls a",
      'tool answers a: "text"',
      "assistant calls b",
      'tool answers b: "text"',
    ]);
  });

  test("that come late still follow their call", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolCall("b"),
      toolResult("a"),
      message("One is done."),
      toolResult("b"),
    ];
    expect(describePieces(events).slice(1)).toEqual([
      "assistant calls a",
      "assistant calls b",
      'tool answers a: "text"',
      'tool answers b: "text"',
      "assistant text: One is done.",
    ]);
  });

  test("with the same id get unique ids, and ids that some provider rejects are replaced", () => {
    const events = [
      chatRequest("Go."),
      toolCall("same"),
      toolResult("same"),
      toolCall("same"),
      toolResult("same"),
      toolCall("functions.read:0"),
      toolResult("functions.read:0"),
      toolCall(""),
      toolResult(""),
    ];
    expect(describePieces(events).filter((each) => each.startsWith("assistant"))).toEqual([
      "assistant calls same",
      "assistant calls call00001",
      "assistant calls call00002",
      "assistant calls call00003",
    ]);
  });
});

describe("for a chat template", () => {
  const local = ollamaDialect("qwen3");
  const events = [
    chatRequest("Go."),
    message("Looking."),
    toolCall("a", "read", { path: "x" }),
    toolCall("123456789", "read", { path: "y" }),
    toolResult("123456789", "no such file", true),
    toolResult("a", "found"),
    message("Done."),
  ];

  test("that takes one call at a time, each call is followed by its result", () => {
    const template = { calls: "one_by_one", hasShortIds: false } as const;
    expect(describePieces(events, { ...local, template })).toEqual([
      "user text: Go.",
      "assistant text: Looking.",
      "assistant calls a",
      'tool answers a: "text"',
      "assistant calls 123456789",
      'tool answers 123456789: "error-text"',
      "assistant text: Done.",
    ]);
  });

  test("that cannot tell of calls, the assistant tells of them and the user of their results", () => {
    const template = { calls: "as_text", hasShortIds: false } as const;
    expect(describePieces(events, { ...local, template })).toEqual([
      "user text: Go.",
      "assistant text: Looking.",
      'assistant text: [I called the tool read with {"path":"x"}]',
      "user text: [The tool read returned:]\nfound",
      'assistant text: [I called the tool read with {"path":"y"}]',
      "user text: [The tool read returned:]\nno such file",
      "assistant text: Done.",
    ]);
  });

  test("that insists on ids of nine letters and digits, others are replaced", () => {
    const template = { calls: "as_made", hasShortIds: true } as const;
    expect(describePieces(events, { ...local, template }).slice(2, -1)).toEqual([
      "assistant calls call00000",
      "assistant calls 123456789",
      'tool answers call00000: "text"',
      'tool answers 123456789: "error-text"',
    ]);
  });
});

describe("a text of the assistant", () => {
  test("is JSON for structured data, and stays as it is if it was not valid JSON", () => {
    expect(
      describePieces([chatRequest("Go."), structured({ n: 1 }), structured("not json")]),
    ).toEqual(["user text: Go.", 'assistant text: {"n":1}', "assistant text: not json"]);
  });

  test("is left out if it is blank, or reasoning of another provider", () => {
    expect(
      describePieces([chatRequest("Go."), reasoning("Hm."), message(" \n"), message("So.")]),
    ).toEqual(["user text: Go.", "assistant text: So."]);
  });

  test("is left out if only its reasoning remains", () => {
    const events = [chatRequest("Go."), reasoning("Hm."), chatRequest("Well?")];
    expect(describePieces(events, ollamaDialect("qwen3"))).toEqual([
      "user text: Go.",
      "user text: Well?",
    ]);
  });
});

describe("OpenAI's reasoning in several pieces", () => {
  test("is sent back whole if the item is complete, and dropped if it broke off", () => {
    const events = [
      chatRequest("Go."),
      signed("One", { openai_item_id: "rs_1" }),
      signed("Two", { openai_item_id: "rs_1", openai_encrypted_content: "x" }),
      signed("Cut", { openai_item_id: "rs_2" }),
      message("So."),
    ];
    expect(describePieces(events, openaiDialect())).toEqual([
      "user text: Go.",
      "assistant reasoning: One",
      "assistant reasoning: Two",
      "assistant text: So.",
    ]);
  });
});

test("a text file is sent as a document, because few models take it as a file", () => {
  const file = { mediaType: "text/plain", data: "SGk=", filename: "a.txt" };
  expect(describePieces([{ ...chatRequest("Read it."), files: [file] }])).toEqual([
    "user text: <document>\n<source>a.txt</source>\n<content>\nHi\n</content>\n</document>",
    "user text: Read it.",
  ]);
});
