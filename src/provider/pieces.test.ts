import { describe, expect, test } from "vitest";
import {
  at,
  chatRequest,
  message,
  reasoning,
  toolCall,
  toolResult,
} from "../../test/support/events.ts";
import type { ProviderEvent } from "../conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import { ollamaDialect } from "./ollama.ts";
import { openaiDialect } from "./openai.ts";
import { toPieces } from "./pieces.ts";

/** Each piece as a word: who speaks, and what. */
function told(events: readonly ProviderEvent[], dialect = anthropicDialect("claude-sonnet-4-5")) {
  return toPieces(events, dialect).map(({ role, part }) => {
    switch (part.type) {
      case "tool-call":
        return `${role} calls ${part.toolCallId}`;
      case "tool-result":
        return `${role} answers ${part.toolCallId}: ${JSON.stringify(part.output.type)}`;
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
  test("stand together, in the order of the calls", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolCall("b"),
      toolResult("b", "B", true),
      toolResult("a"),
      message("Done."),
    ];
    expect(told(events)).toEqual([
      "user text: Go.",
      "assistant calls a",
      "assistant calls b",
      'tool answers a: "text"',
      'tool answers b: "error-text"',
      "assistant text: Done.",
    ]);
  });

  test("of one reply are not mixed with those of the next", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolResult("a"),
      toolCall("b"),
      toolResult("b"),
    ];
    expect(told(events)).toEqual([
      "user text: Go.",
      "assistant calls a",
      'tool answers a: "text"',
      "assistant calls b",
      'tool answers b: "text"',
    ]);
  });

  test("that came late still stand behind their call", () => {
    const events = [
      chatRequest("Go."),
      toolCall("a"),
      toolCall("b"),
      toolResult("a"),
      message("One is done."),
      toolResult("b"),
    ];
    expect(told(events).slice(1)).toEqual([
      "assistant calls a",
      "assistant calls b",
      'tool answers a: "text"',
      'tool answers b: "text"',
      "assistant text: One is done.",
    ]);
  });

  test("of the same id are told apart, and ids that not every provider takes are replaced", () => {
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
    expect(told(events).filter((each) => each.startsWith("assistant"))).toEqual([
      "assistant calls same",
      "assistant calls call_1_1",
      "assistant calls call_2",
      "assistant calls call_3",
    ]);
  });
});

describe("what the assistant said", () => {
  test("is JSON where it was data, and the text itself where it should have been", () => {
    expect(told([chatRequest("Go."), structured({ n: 1 }), structured("not json")])).toEqual([
      "user text: Go.",
      'assistant text: {"n":1}',
      "assistant text: not json",
    ]);
  });

  test("is left out where it is blank, or reasoning of others", () => {
    expect(told([chatRequest("Go."), reasoning("Hm."), message(" \n"), message("So.")])).toEqual([
      "user text: Go.",
      "assistant text: So.",
    ]);
  });

  test("is left out where only reasoning is left of it", () => {
    const events = [chatRequest("Go."), reasoning("Hm."), chatRequest("Well?")];
    expect(told(events, ollamaDialect("qwen3"))).toEqual(["user text: Go.", "user text: Well?"]);
  });
});

describe("OpenAI's reasoning in several pieces", () => {
  test("goes back whole if the item is complete, and not at all if it was cut off", () => {
    const events = [
      chatRequest("Go."),
      signed("One", { openai_item_id: "rs_1" }),
      signed("Two", { openai_item_id: "rs_1", openai_encrypted_content: "x" }),
      signed("Cut", { openai_item_id: "rs_2" }),
      message("So."),
    ];
    expect(told(events, openaiDialect())).toEqual([
      "user text: Go.",
      "assistant reasoning: One",
      "assistant reasoning: Two",
      "assistant text: So.",
    ]);
  });
});
