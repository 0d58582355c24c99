/**
 * Merges pieces of a reply's text that arrive together, before anything is parsed. A server that is faster than its
 * reader sends thousands of events of one token each, which differ only in that token.
 */

/** The start of the text in a delta that has nothing else: merging would lose it. */
const TEXT_START =
  /"delta":\{(?:"(?:role|type)":"\w+",|"\w+":null,)*"(?:content|reasoning_content|reasoning|text|thinking)":"/y;
const TEXT_END = /"(?:,"\w+":null)*\}/y;
/** The rest of a JSON string. */
const STRING_END =
  /[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*(?=")/y;
const EVENT = /^(?:event: .*\n)?data: \{.*\n\n$/;
const DELTA = '"delta":';
const END = "\n\n";

/** An event's source: its text as JSON has it, what comes before it, and what comes after it. */
interface TextEvent {
  readonly head: string;
  readonly text: string;
  readonly tail: string;
}

/**
 * Takes each chunk of an event stream. Adjacent whole events within it that differ only in the text of their delta become
 * one event with all of it. Nothing is held back.
 */
export function createDeltaMerger(): (chunk: Uint8Array) => Uint8Array {
  let isEventOver = true;
  return (chunk) => {
    // One character per byte: all that is compared is ASCII, and any other text is copied.
    const source = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    const start = isEventOver ? 0 : endOfEvent(source, 0);
    isEventOver = source.endsWith(END);
    const merged = mergeFrom(source, start);
    return merged === source ? chunk : Buffer.from(merged, "latin1");
  };
}

function mergeFrom(source: string, start: number): string {
  let merged = "";
  let copied = 0;
  let at = start;
  while (at < source.length) {
    const end = endOfEvent(source, at);
    const event = findText(source.slice(at, end));
    const { text, next } = event === undefined ? { text: "", next: end } : join(source, end, event);
    if (event !== undefined && next > end) {
      merged += source.slice(copied, at) + event.head + text + event.tail;
      copied = next;
    }
    at = next;
  }
  return copied === 0 ? source : merged + source.slice(copied);
}

/** The position after the next blank line, or after everything. */
function endOfEvent(source: string, start: number): number {
  const found = source.indexOf(END, start);
  return found === -1 ? source.length : found + END.length;
}

/** Adds the texts of the events that follow, as long as they are otherwise the same. */
function join(source: string, start: number, { head, text, tail }: TextEvent) {
  let joined = text;
  let next = start;
  while (source.startsWith(head, next)) {
    const from = next + head.length;
    const to = endOfString(source, from);
    // A character with bytes in two events is invalid in both, and must stay so.
    if (to === undefined || isContinued(source, from) || !source.startsWith(tail, to)) break;
    joined += source.slice(from, to);
    next = to + tail.length;
  }
  return { text: joined, next };
}

function findText(event: string): TextEvent | undefined {
  const at = event.indexOf(DELTA);
  if (at === -1 || at !== event.lastIndexOf(DELTA) || !EVENT.test(event)) return undefined;
  TEXT_START.lastIndex = at;
  if (!TEXT_START.test(event)) return undefined;
  const from = TEXT_START.lastIndex;
  const to = endOfString(event, from);
  if (to === undefined) return undefined;
  TEXT_END.lastIndex = to;
  if (!TEXT_END.test(event)) return undefined;
  return { head: event.slice(0, from), text: event.slice(from, to), tail: event.slice(to) };
}

function endOfString(source: string, start: number): number | undefined {
  STRING_END.lastIndex = start;
  return STRING_END.test(source) ? STRING_END.lastIndex : undefined;
}

/** Whether a byte continues a character of UTF-8. */
function isContinued(source: string, at: number): boolean {
  return (source.charCodeAt(at) & 0xc0) === 0x80;
}
