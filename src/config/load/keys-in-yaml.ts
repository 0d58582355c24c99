/** The keys of a YAML text and their lines, by their indentation. What stands in braces is not read. */
import type { WrittenKey } from "./written-key.ts";

/** With the blanks behind it: to look for them at every place would take as long as the line squared. */
const KEY = /^("(?:[^"\\]|\\.)*"\s*|'[^']*'\s*|[^\s#"'[{&*!|>-][^#]*?|-[^\s#][^#]*?):(?=\s|$)/;

interface Frame {
  readonly indent: number;
  readonly key: string;
  readonly isItem: boolean;
}

export function keysInYaml(text: string): readonly WrittenKey[] {
  const keys: WrittenKey[] = [];
  let frames: readonly Frame[] = [];
  /** Inside of a text of many lines, which ends where a line is indented no more than this. */
  let block: number | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const indent = line.search(/\S/);
    if (indent === -1 || line[indent] === "#") continue;
    if (block !== undefined && indent > block) continue;
    block = undefined;
    for (const frame of framesIn(line, indent, frames)) {
      frames = [...parentsOf(frame, frames), frame];
      keys.push({ path: frames.map(({ key }) => key), line: index + 1 });
    }
    if (/(?:^|[\s:-])[|>][-+\d]*\s*(?:#.*)?$/.test(line)) block = frames.at(-1)?.indent ?? indent;
  }
  return keys;
}

/** The entries of lists that begin in this line, then its key. */
function framesIn(line: string, start: number, before: readonly Frame[]): readonly Frame[] {
  const found: Frame[] = [];
  let indent = start;
  for (;;) {
    const dash = /^-(?:\s+|$)/.exec(line.slice(indent));
    if (dash === null) break;
    const column = indent;
    const last = before.findLast((frame) => frame.isItem && frame.indent === column);
    const isNext = found.length === 0 && last !== undefined;
    found.push({ indent, key: String(isNext ? Number(last.key) + 1 : 0), isItem: true });
    indent += dash[0].length;
  }
  const key = KEY.exec(line.slice(indent))?.[1];
  if (key !== undefined) found.push({ indent, key: unquote(key.trimEnd()), isItem: false });
  return found;
}

/** An entry of a list may stand as far left as the key of its list. */
function parentsOf({ indent, isItem }: Frame, frames: readonly Frame[]): readonly Frame[] {
  return frames.filter(
    (frame) => frame.indent < indent || (isItem && !frame.isItem && frame.indent === indent),
  );
}

function unquote(key: string): string {
  return /^["']/.test(key) ? key.slice(1, -1) : key;
}
