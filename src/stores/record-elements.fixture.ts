/** Elements of records in their file format, and the file as programs write it. */
import * as fc from "fast-check";
import type { ConversationEvent, ConversationId, Timestamp } from "../record/conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import type { EventFileListener } from "./fs/event-file.ts";
import type { Conversation, ConversationStore, ConversationSummary } from "./index.ts";

export const METADATA_TEXT = '{\n  "last_activated_at": "2026-01-02 03:04:05.0"\n}\n';

/** The file with these elements. Spelled out here, independently of the source. */
export function laidOut(elements: readonly unknown[]): string {
  return `${JSON.stringify(elements, null, 2)}\n`;
}

/** A request with a unique number, which is also its time. */
export function numbered(number: number): ConversationEvent {
  return { type: "chat_request", timestamp: time(number), content: `number ${number}` };
}

/** The same event in its file format. */
export function numberedElement(number: number): JsonObject {
  return { timestamp: time(number), type: "chat_request", content: `number ${number}` };
}

export function numberedElements(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => numberedElement(index));
}

/** This many seconds into a day. */
export function time(second: number): Timestamp {
  const clock = new Date(Date.UTC(2026, 1, 3) + second * 1000).toISOString();
  return `${clock.slice(0, 10)} ${clock.slice(11, 19)}.0` as Timestamp;
}

/**
 * Everything a store reports about a conversation. Entries keep their content private, so comparing two would always
 * find them equal.
 */
export async function loadPlain<Summary extends ConversationSummary>(
  store: Pick<ConversationStore, "load"> & {
    readonly find: (id: ConversationId) => Promise<Summary | undefined>;
  },
  id: ConversationId,
) {
  const { stream, problems = [] } = await store.load(id);
  const summary = await store.find(id);
  if (summary === undefined) throw new Error("a conversation that can be loaded is found");
  return { summary, problems, ...plainStream({ stream }) };
}

export function plainStream({ stream }: Pick<Conversation, "stream">) {
  const { createdAt, baseConfig, entries } = stream;
  return { createdAt, baseConfig, elements: entries.map(({ raw }) => raw) };
}

/** The error that a promise was rejected with, as an object to compare. */
export async function failureOf(promise: Promise<unknown>) {
  const error: unknown = await promise.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  const { code, message } = error as { code?: string; message: string };
  return { code, message };
}

export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return (await failureOf(promise)).code;
}

/** Any characters, preferring those that a byte reader could stumble over. */
export function anyText(): fc.Arbitrary<string> {
  const character = fc.oneof(
    fc.integer({ min: 0, max: 0x10_ffff }).map((code) => String.fromCodePoint(code)),
    fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCodePoint(code)),
    fc.constantFrom('"', "\\", "\n  },\n  {", "\n  }\n]\n", "[", "]", "{", "}", "ä", "€", "😀"),
  );
  return fc.array(character, { maxLength: 12 }).map((characters) => characters.join(""));
}

/** Elements with any text and nesting, of known and unknown kinds. */
export function anyElement(): fc.Arbitrary<JsonObject> {
  const element = fc.record({
    timestamp: fc.integer({ min: 0, max: 86_399 }).map(time),
    type: fc.constantFrom("chat_request", "from_another_version"),
    content: anyText(),
    [`"key" \n`]: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  });
  // JSON has no negative zero.
  return element.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
}

/** For an event file that nothing tracks. */
export const UNHEARD: EventFileListener = {
  findCopy: () => undefined,
  onChanged: () => undefined,
  beforeWrite: () => undefined,
  afterWrite: () => undefined,
  beforeRest: () => undefined,
};
