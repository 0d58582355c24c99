import { array, assert, constantFrom, integer, oneof, property, string } from "fast-check";
import { expect, test } from "vitest";
import { createDeltaMerger } from "./merge-deltas.ts";

/** The chunks of a stream after merging. */
function merge(...chunks: readonly (string | Uint8Array)[]): readonly string[] {
  const merger = createDeltaMerger();
  return chunks.map((chunk) => Buffer.from(merger(Buffer.from(chunk))).toString("latin1"));
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function content(text: string): string {
  return event({ id: "0", choices: [{ delta: { content: text }, finish_reason: null }] });
}

function thinking(text: string): string {
  const delta = { type: "thinking_delta", thinking: text };
  return `event: content_block_delta\n${event({ type: "content_block_delta", index: 0, delta })}`;
}

function spoken(text: string): string {
  return event({ choices: [{ delta: { role: "assistant", content: text, refusal: null } }] });
}

test.each([
  ["content", content],
  ["thinking", thinking],
  ["content with a role and empty fields", spoken],
])("events that differ only in their text become one: %s", (_, write) => {
  const texts = ["A", ' "word"', "\n", "\\", "", "é", "\u{1f600}", "."];
  const chunk = texts.map(write).join("");
  expect(merge(`: hello\n\n${chunk}data: [DONE]\n\n`)).toEqual([
    Buffer.from(`: hello\n\n${write(texts.join(""))}data: [DONE]\n\n`).toString("latin1"),
  ]);
});

test("events of another kind stay between the texts around them", () => {
  const other = event({ choices: [], usage: { completion_tokens: 1 } });
  const chunk = content("a") + content("b") + other + content("c") + thinking("d") + thinking("e");
  expect(merge(chunk)).toEqual([content("ab") + other + content("c") + thinking("de")]);
});

test("nothing is held back, and an event in two chunks stays as it is", () => {
  const [start, end] = [content("b").slice(0, 30), content("b").slice(30)];
  expect(merge(content("a") + start, end + content("c") + content("d"), content("e"))).toEqual([
    content("a") + start,
    end + content("cd"),
    content("e"),
  ]);
});

test.each([
  ["reasoning beside the text", { delta: { content: "", reasoning: "a" } }],
  ["reasoning before the text", { delta: { reasoning: "a", content: "" } }],
  ["a call", { delta: { tool_calls: [{ index: 0, function: { arguments: "a" } }] } }],
  ["two deltas", { choices: [{ delta: { content: "a" } }, { delta: { content: "b" } }] }],
  ["a text that is not a delta", { message: { content: "a" } }],
  ["a text that looks like a delta", { delta: { id: '"delta":{"content":"a"}' } }],
])("an event is repeated as often as it came: %s", (_, value) => {
  const chunk = event(value).repeat(3);
  expect(merge(chunk)).toEqual([chunk]);
});

test.each([
  ["other line ends", content("a").replaceAll("\n", "\r\n").repeat(2)],
  ["a second line of data", `data: {\n${content("a")}`.repeat(2)],
  ["a string with a line break", content("a").replace("a", "a\t").repeat(2)],
  ["a string without an end", content("a").replace("a", "a\\").repeat(2)],
  ["an unknown escape", content("a").replace("a", "\\a").repeat(2)],
  ["different fields", content("a") + content("a").replace('"0"', '"1"')],
])("what is not certain to be the same stays as it is: %s", (_, chunk) => {
  expect(merge(chunk)).toEqual([chunk]);
});

test("a character whose bytes are in two events does not become valid", () => {
  const [head = "", tail = ""] = content("|").split("|");
  const bytes = Buffer.from(`${head}\u00e2\u0082${tail}${head}\u00ac${tail}`, "latin1");
  expect(merge(bytes)).toEqual([bytes.toString("latin1")]);
});

/** The deltas of an event stream, as any client reads them. */
function read(stream: string): unknown[] {
  return stream.split("\n\n").flatMap((block) => {
    const data = block.split("\n").find((line) => line.startsWith("data: {"));
    return data === undefined || block.includes("[DONE]") ? [] : [JSON.parse(data.slice(6))];
  });
}

/** All fields of the events, with the texts of adjacent events that are otherwise the same joined. */
function joined(events: readonly unknown[]): readonly string[] {
  const result: { rest: string; text: string }[] = [];
  for (const each of events) {
    let text = "";
    const rest = JSON.stringify(each, (key, value: unknown) => {
      if (!["content", "thinking"].includes(key) || typeof value !== "string") return value;
      text += value;
      return "";
    });
    const last = result.at(-1);
    if (last?.rest === rest) last.text += text;
    else result.push({ rest, text });
  }
  return result.map(({ rest, text }) => rest + text);
}

test("a client reads the same from any chunks of any events", () => {
  const anyText = string({ unit: "grapheme", maxLength: 6 });
  const anyEvent = oneof(
    anyText.map(content),
    anyText.map(thinking),
    anyText.map(spoken),
    constantFrom(": alive\n\n", "data: [DONE]\n\n", "\n", event({ choices: [] })),
  );
  const anyEvents = array(anyEvent, { maxLength: 20 });
  const anySizes = array(integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 });
  assert(
    property(anyEvents, anySizes, (events, sizes) => {
      const bytes = Buffer.from(events.join(""));
      const chunks: Uint8Array[] = [];
      for (let [start, index] = [0, 0]; start < bytes.length; index += 1) {
        const end = start + (sizes[index % sizes.length] ?? 1);
        chunks.push(bytes.subarray(start, end));
        start = end;
      }
      const merged = Buffer.from(merge(...chunks).join(""), "latin1").toString();
      expect(joined(read(merged))).toEqual(joined(read(events.join(""))));
    }),
  );
});
