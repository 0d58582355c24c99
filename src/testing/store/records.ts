/** The records that the store tests write and read. */
import type {
  ConversationEvent,
  ConversationId,
  InquiryId,
  InquiryRequest,
  InquiryResponse,
  StreamEntry,
  Timestamp,
} from "../../record/conversation/index.ts";
import { eventsOf } from "../../record/conversation/index.ts";
import type { ConversationStore, CreateOptions } from "../../stores/index.ts";
import { isJpError, type JsonObject } from "../../util/index.ts";
import type { FakeClock } from "../fake-clock.ts";

export interface OpenedStores {
  readonly store: ConversationStore;
  /** The same store, opened by another process. */
  readonly other: ConversationStore;
  readonly clock: FakeClock;
}

/** Test cases by name. */
export type StoreCases = Readonly<Record<string, (opened: OpenedStores) => Promise<void>>>;

/** The start time of all clocks in these tests. */
export const START = new Date("2026-01-02T03:04:05.000Z");
/** `START` in the record's format. */
export const CREATED_AT = "2026-01-02 03:04:05.0" as Timestamp; // A constant of the right format.

/** The time this many seconds into a day. */
export function time(second: number): Timestamp {
  const date = new Date(Date.UTC(2026, 1, 3) + second * 1000).toISOString();
  return `${date.slice(0, 10)} ${date.slice(11, 19)}.0` as Timestamp; // In the record's format.
}

/** A request with a unique number, which is also its time. */
export function numbered(number: number): ConversationEvent {
  return { type: "chat_request", timestamp: time(number), content: `number ${number}` };
}

/** Numbered requests as JSON. */
export function numberedElements(...numbers: readonly number[]): JsonObject[] {
  return numbers.map((number) => ({ ...numbered(number) }) as JsonObject); // It has only strings.
}

/** The numbers from 0 up to `count`, exclusive. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

/** A released conversation with this many events. */
export async function record(
  store: ConversationStore,
  options: CreateOptions = {},
  count = 0,
): Promise<ConversationId> {
  await using writer = await store.create(options);
  for (const number of upTo(count)) await writer.append(numbered(number));
  return writer.id;
}

/** A released conversation with these events. */
export async function place(
  store: ConversationStore,
  ...events: readonly ConversationEvent[]
): Promise<ConversationId> {
  await using writer = await store.create({});
  await writer.append(...events);
  return writer.id;
}

/** Entries hide their content, so comparing two directly would always find them equal. */
export function plain(entries: readonly StreamEntry[]): readonly JsonObject[] {
  return entries.map(({ raw }) => raw);
}

export async function elementsIn(
  store: ConversationStore,
  id: ConversationId,
): Promise<readonly JsonObject[]> {
  return plain((await store.load(id)).stream.entries);
}

export async function eventsIn(
  store: ConversationStore,
  id: ConversationId,
): Promise<readonly ConversationEvent[]> {
  return [...eventsOf((await store.load(id)).stream.entries)];
}

/** The code of the promise's error. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (isJpError(error)) return error.code;
    throw error;
  }
}

const AT = CREATED_AT;
const QUESTION: InquiryRequest = {
  type: "inquiry_request",
  timestamp: AT,
  id: "a.q.1" as InquiryId, // As a turn makes them: call, question, number.
  source: { source: "tool", name: "a_tool" },
  question: {
    text: "Go on?",
    answerType: { type: "boolean" },
    exclusive: false,
    persistence: "turn",
  },
  toolCallId: "a",
  questionId: "q",
};

/** A turn that waits: a tool asked, and no one has answered. */
export const WAITING: readonly ConversationEvent[] = [
  { type: "turn_start", timestamp: AT },
  { type: "chat_request", timestamp: AT, content: "Hello" },
  { type: "tool_call_request", timestamp: AT, id: "a", name: "a_tool", arguments: {} },
  { type: "attempt_start", timestamp: AT, toolCallId: "a" },
  QUESTION,
];

/** `WAITING`, with a question for a secret. */
export const WAITING_FOR_SECRET: readonly ConversationEvent[] = [
  ...WAITING.slice(0, -1),
  { ...QUESTION, question: { ...QUESTION.question, answerType: { type: "secret" } } },
];

/** The digest of the request in `WAITING_WITH_DIGEST`. */
export const DIGEST = "5".repeat(64);

/** `WAITING`, with a question whose answer has to repeat the digest. */
export const WAITING_WITH_DIGEST: readonly ConversationEvent[] = [
  ...WAITING.slice(0, -1),
  {
    ...QUESTION,
    subject: { digest: DIGEST, version: 1, parts: { arguments: "5".repeat(16) } },
    origin: { type: "local", command: "sh a.sh" },
    folder: ".",
  },
];

/** `WAITING`, with a question for a quorum of three people. */
export const WAITING_FOR_SEVERAL: readonly ConversationEvent[] = [
  ...WAITING.slice(0, -1),
  { ...QUESTION, terms: { quorum: 3 } },
];

/** An answer to the question. `name` tells answers apart. */
export function answerBy(
  name: string,
  answer: boolean | string = true,
): Extract<InquiryResponse, { readonly outcome: "answered" }> {
  const answeredBy = { kind: "user", channel: "cli", name, auth: "os_user" } as const;
  const { id } = QUESTION;
  return { type: "inquiry_response", timestamp: AT, id, outcome: "answered", answer, answeredBy };
}

/** The events that complete `WAITING`. */
export const REST: readonly ConversationEvent[] = [
  answerBy("Ana"),
  { type: "tool_call_response", timestamp: AT, id: "a", content: "done", isError: false },
  { type: "chat_response", timestamp: AT, content: { type: "message", text: "Done." } },
];
