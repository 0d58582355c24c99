/** The keys of a JSON text and their lines. The text is known to be JSON. */
import type { WrittenKey } from "./written-key.ts";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s{}[\],:"]+/g;

/** An object or a list that is open. */
interface Frame {
  readonly path: readonly string[];
  readonly isList: boolean;
  /** The key or the index of the member that comes next, or is being read. */
  key: string;
  index: number;
  /** A key, or an entry of a list, comes next. */
  isExpecting: boolean;
}

export function keysInJson(text: string): readonly WrittenKey[] {
  const keys: WrittenKey[] = [];
  const frames: Frame[] = [];
  let line = 1;
  for (const [token] of text.matchAll(TOKEN)) {
    const top = frames.at(-1);
    if (token === "\n") {
      line += 1;
      continue;
    }
    if (top?.isExpecting === true && !"}],:".includes(token)) {
      top.isExpecting = false;
      top.key = top.isList ? String(top.index) : String(JSON.parse(token));
      keys.push({ path: [...top.path, top.key], line });
      if (!top.isList) continue;
    }
    follow(token, frames);
  }
  return keys;
}

function follow(token: string, frames: Frame[]): void {
  const top = frames.at(-1);
  if (token === "{" || token === "[") {
    const path = top === undefined ? [] : [...top.path, top.key];
    frames.push({ path, isList: token === "[", key: "", index: 0, isExpecting: true });
  } else if (token === "}" || token === "]") {
    frames.pop();
  } else if (token === "," && top !== undefined) {
    top.isExpecting = true;
    top.index += 1;
  }
}
