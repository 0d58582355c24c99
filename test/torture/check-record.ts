/** Checks the record after a torn turn, its continuation and a complete one. */
import { isDeepStrictEqual } from "node:util";
import {
  createStream,
  eventsOf,
  parseConversationId,
  sanitize,
  StreamEntry,
} from "../../src/record/conversation/index.ts";
import { fileIdCreatedAt } from "../../src/stores/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";

export interface RecordUnderTest {
  readonly conversation: string;
  /** The content of the file. */
  readonly text: string;
  /** The events that were acknowledged to the torn turn, and to what came after it. */
  readonly first: readonly JsonObject[];
  readonly next: readonly JsonObject[];
  /** Whether there may be unacknowledged events, which were being written when it was killed. */
  readonly mayHaveMore: boolean;
}

/** Problems, as sentences. */
export function problemsOfRecord(record: RecordUnderTest): string[] {
  const { text, first, next } = record;
  const elements = parseRecord(text);
  if (elements === undefined) return ["the record is no JSON array of objects"];
  const problems: string[] = [];
  if (!isDeepStrictEqual(elements.slice(0, first.length), first)) {
    problems.push(`of ${first.length} acknowledged events, some are lost or out of order`);
  }
  if (next.length > 0 && !isDeepStrictEqual(elements.slice(-next.length), next)) {
    problems.push(`of ${next.length} events after it, some are lost or out of order`);
  }
  const more = elements.length - first.length - next.length;
  if (more > 0 && !record.mayHaveMore) problems.push(`${more} events were refused, and are there`);
  // Two attempts of a call may start in the same millisecond.
  const texts = elements
    .filter(({ type }) => type !== "attempt_start")
    .map((element) => JSON.stringify(element));
  const twice = texts.filter((element, index) => texts.indexOf(element) !== index);
  if (twice.length > 0) problems.push(`recorded twice: ${twice.join(", ")}`);
  return [...problems, ...unpaired(record.conversation, elements), ...leftOpen(elements)];
}

/** Undefined if it is not a JSON array of objects. Uses `JSON.parse`, not our reader. */
export function parseRecord(text: string): readonly JsonObject[] | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    const isList = Array.isArray(value) && value.every((one) => typeof one === "object" && one);
    return isList ? (value as JsonObject[]) : undefined;
  } catch {
    return undefined;
  }
}

/** The view for a model has no open calls or questions. */
function unpaired(conversation: string, elements: readonly JsonObject[]): readonly string[] {
  const view = sanitize(
    createStream({
      createdAt: fileIdCreatedAt(parseConversationId(conversation)),
      baseConfig: {},
      entries: elements.map((element) => StreamEntry.fromJson(element)),
    }),
  );
  return problemsOf([...eventsOf(view.entries)]).map((problem) => `to a model, ${problem}`);
}

/** Every call and question has its one end, and every result that waited for a decision was delivered. */
export function leftOpen(elements: readonly JsonObject[]): readonly string[] {
  const events = [...eventsOf(elements.map((element) => StreamEntry.fromJson(element)))];
  const lost = events.flatMap((event, index) => {
    if (event.type !== "permission_request" || event.result === undefined) return [];
    const response = events
      .slice(index)
      .find((each) => each.type === "tool_call_response" && each.id === event.toolCallId);
    const isThere =
      response?.type === "tool_call_response" && response.content === event.result.content;
    return isThere ? [] : [`the result of ${event.toolCallId} is lost`];
  });
  return [...problemsOf(events), ...lost];
}
