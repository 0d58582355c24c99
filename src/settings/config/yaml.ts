/** Parses YAML, and finds the lines of its keys. It imports the parser, so import this file lazily. */
import {
  constructFromEvents,
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  getScalarValue,
  parseEvents,
  YAMLException,
} from "js-yaml";
import { syntaxError } from "./config-error.ts";
import { lineCounter, type WrittenKey } from "./key-lines.ts";

type YamlEvent = ReturnType<typeof parseEvents>[number];

export interface ParsedYaml {
  readonly value: unknown;
  readonly keys: () => readonly WrittenKey[];
}

/** An empty file is an empty table. Throws a `SyntaxError` that is safe to show. */
export function parseYaml(text: string): ParsedYaml {
  try {
    const events = parseEvents(text, {});
    const [value, ...others] = constructFromEvents(events, { source: text });
    if (others.length > 0) throw new SyntaxError("invalid YAML: more than one document");
    return { value: value ?? {}, keys: () => keysIn(text, events) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    const place = mark === undefined ? {} : { line: mark.line + 1, column: mark.column + 1 };
    throw syntaxError({ format: "YAML", reason, ...place });
  }
}

/** An unfinished mapping or sequence. */
interface Frame {
  readonly path: readonly string[];
  readonly isList: boolean;
  /** The index of the next item, or the key of the next value. */
  index: number;
  key: string | undefined;
}

function keysIn(text: string, events: readonly YamlEvent[]): readonly WrittenKey[] {
  const keys: WrittenKey[] = [];
  const frames: Frame[] = [];
  const lineAt = lineCounter(text);
  for (const event of events) {
    if (event.type === EVENT_DOCUMENT) continue;
    if (event.type === EVENT_POP) {
      frames.pop();
      continue;
    }
    const parent = frames.at(-1);
    const offset = offsetOf(event);
    let path: readonly string[] = [];
    if (parent?.isList === true) {
      path = [...parent.path, String(parent.index)];
      parent.index += 1;
      keys.push({ path, line: lineAt(offset) });
    } else if (parent !== undefined && parent.key === undefined) {
      parent.key = event.type === EVENT_SCALAR ? getScalarValue(text, event) : "";
      keys.push({ path: [...parent.path, parent.key], line: lineAt(offset) });
      continue;
    } else if (parent?.key !== undefined) {
      path = [...parent.path, parent.key];
      parent.key = undefined;
    }
    if (event.type === EVENT_MAPPING || event.type === EVENT_SEQUENCE) {
      frames.push({ path, isList: event.type === EVENT_SEQUENCE, index: 0, key: undefined });
    }
  }
  return keys;
}

function offsetOf(event: Exclude<YamlEvent, { readonly type: typeof EVENT_POP }>): number {
  switch (event.type) {
    case EVENT_SCALAR:
      return event.valueStart;
    case EVENT_ALIAS:
      return event.anchorStart;
    default:
      return "start" in event ? event.start : 0;
  }
}
