/** Records for benchmarks: plausible events of about a kilobyte each, in the usual layout. */
import { mkdirSync, openSync, writeSync, closeSync, statSync } from "node:fs";
import path from "node:path";
import {
  type ConversationEvent,
  eventToJson,
  type Timestamp,
} from "../src/record/conversation/index.ts";

/** Writes a record of `count` events, and returns its size in bytes. */
export function writeRecord(folder: string, count: number, title: string): number {
  return writeEvents(folder, title, eventsUpTo(count, LONG));
}

/** Writes a record of short events, for records of a million. */
export function writeTerseRecord(folder: string, count: number, title: string): number {
  return writeEvents(folder, title, eventsUpTo(count, TERSE));
}

/** How often each event repeats its text. */
const LONG = 8;
const TERSE = 1;

function* eventsUpTo(count: number, times: number): Generator<ConversationEvent> {
  for (let index = 0; index < count; index += 1) yield event(index, times);
}

/** Writes a record of these events. */
export function writeEvents(
  folder: string,
  title: string,
  events: Iterable<ConversationEvent>,
): number {
  mkdirSync(folder, { recursive: true });
  writeText(path.join(folder, "metadata.json"), {
    title,
    last_activated_at: "2026-01-02 03:04:05.0",
  });
  writeText(path.join(folder, "base_config.json"), {});
  const file = path.join(folder, "events.json");
  const fd = openSync(file, "w");
  let pending = "";
  let isEmpty = true;
  for (const each of events) {
    const text = JSON.stringify([eventToJson(each)], null, 2).slice(1, -2);
    pending += `${isEmpty ? "[" : ","}${text}`;
    isEmpty = false;
    if (pending.length < CHUNK) continue;
    writeSync(fd, pending);
    pending = "";
  }
  writeSync(fd, isEmpty ? "[]\n" : `${pending}\n]\n`);
  closeSync(fd);
  return statSync(file).size;
}

const CHUNK = 1 << 20;

/** Cycles through the events of a turn: a request, a call, a question, its answer, the result, the reply. */
export function event(index: number, times = LONG): ConversationEvent {
  const timestamp = time(index);
  const call = `call_${Math.floor(index / 8)}`;
  const words = `The quick brown fox ${index} jumps over the lazy dog. `.repeat(times);
  const inquiry = `${call}.apply_changes.1` as never;
  const kinds: readonly ConversationEvent[] = [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content: words },
    { type: "chat_response", timestamp, content: { type: "reasoning", text: words } },
    {
      type: "tool_call_request",
      timestamp,
      id: call,
      name: "fs_modify_file",
      arguments: { path: "src/index.ts", text: words },
    },
    {
      type: "inquiry_request",
      timestamp,
      id: inquiry,
      source: { source: "tool", name: "fs_modify_file" },
      question: {
        text: "Apply?",
        context: words,
        answerType: { type: "boolean" },
        exclusive: false,
        persistence: "turn",
      },
    },
    {
      type: "inquiry_response",
      timestamp,
      id: inquiry,
      outcome: "answered",
      answer: true,
      answeredBy: { kind: "user", channel: "terminal" },
    },
    {
      type: "tool_call_response",
      timestamp,
      id: call,
      content: words.repeat(times === LONG ? 4 : 1),
      isError: false,
    },
    { type: "chat_response", timestamp, content: { type: "message", text: words } },
  ];
  return kinds[index % kinds.length] as ConversationEvent;
}

/** A turn whose tool has asked, without an answer yet. The number makes the question unique. */
export function questionTurn(number: number): readonly ConversationEvent[] {
  const timestamp = time(number);
  const call = `call_${number}`;
  const [start, message, , request, question] = Array.from({ length: 5 }, (_, index) =>
    event(number * 8 + index),
  );
  if (!start || !message || !request || question?.type !== "inquiry_request") {
    throw new Error("the events have another order");
  }
  const attempt = { type: "attempt_start", timestamp, toolCallId: call } as const;
  return [start, message, request, attempt, { ...question, toolCallId: call }];
}

function time(index: number): Timestamp {
  const moment = new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + index * 10);
  return `${moment.toISOString().slice(0, 19).replace("T", " ")}.${index % 1000 || 1}` as Timestamp;
}

function writeText(file: string, value: unknown): void {
  const fd = openSync(file, "w");
  writeSync(fd, `${JSON.stringify(value, null, 2)}\n`);
  closeSync(fd);
}
