/** Checks the record after a torn turn and a complete one. */
import { isDeepStrictEqual } from "node:util";
import {
  conversationCreatedAt,
  createStream,
  eventsOf,
  parseConversationId,
  sanitize,
  StreamEntry,
} from "../../src/conversation/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { problemsOf } from "../../src/conversation/record-rules.fixture.ts";

export interface RecordUnderTest {
  readonly conversation: string;
  /** The content of the file. */
  readonly text: string;
  /** The events that were acknowledged to the torn turn, and to the next one. */
  readonly first: readonly JsonObject[];
  readonly next: readonly JsonObject[];
  /** Whether there may be unacknowledged events, which were being written when it was killed. */
  readonly mayHaveMore: boolean;
}

/** Problems, as sentences. Reads the file with `JSON.parse`, not with our reader. */
export function problemsOfRecord(record: RecordUnderTest): string[] {
  const { text, first, next } = record;
  const elements = parse(text);
  if (elements === undefined) return ["the record is no JSON array of objects"];
  const problems: string[] = [];
  if (!isDeepStrictEqual(elements.slice(0, first.length), first)) {
    problems.push(`of ${first.length} acknowledged events, some are lost or out of order`);
  }
  if (next.length > 0 && !isDeepStrictEqual(elements.slice(-next.length), next)) {
    problems.push(`of ${next.length} events of the next turn, some are lost or out of order`);
  }
  const more = elements.length - first.length - next.length;
  if (more > 0 && !record.mayHaveMore) problems.push(`${more} events were refused, and are there`);
  const texts = elements.map((element) => JSON.stringify(element));
  const twice = texts.filter((element, index) => texts.indexOf(element) !== index);
  if (twice.length > 0) problems.push(`recorded twice: ${twice.join(", ")}`);
  return [...problems, ...unpaired(record.conversation, elements), ...reopened(elements)];
}

function parse(text: string): readonly JsonObject[] | undefined {
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
      createdAt: conversationCreatedAt(parseConversationId(conversation)),
      baseConfig: {},
      entries: elements.map((element) => StreamEntry.fromJson(element)),
    }),
  );
  return problemsOf([...eventsOf(view.entries)]).map((problem) => `to a model, ${problem}`);
}

/** Only the torn turn may have open calls or questions. */
function reopened(elements: readonly JsonObject[]): readonly string[] {
  const start = elements.findLastIndex(({ type }) => type === "turn_start");
  const last = elements.slice(start);
  return (["tool_call", "inquiry"] as const).flatMap((kind) => {
    const [asked, ended] = [idsOf(last, `${kind}_request`), idsOf(last, `${kind}_response`)];
    return isDeepStrictEqual(asked, ended)
      ? []
      : [`in the next turn, not every ${kind} has its one end`];
  });
}

function idsOf(elements: readonly JsonObject[], type: string): string[] {
  return elements
    .filter((element) => element["type"] === type)
    .map(({ id }) => JSON.stringify(id))
    .toSorted();
}
