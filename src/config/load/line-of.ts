/** In which line of a config file a key stands. The files beside it know the formats. */
import path from "node:path";
import { keysInJson } from "./keys-in-json.ts";
import { keysInToml } from "./keys-in-toml.ts";
import { keysInYaml } from "./keys-in-yaml.ts";
import type { WrittenKey } from "./written-key.ts";

interface WrittenFile {
  readonly file: string;
  readonly text: string;
}

/** The lines by path. A file may have as many mistakes as keys, and is read once for all of them. */
const indexes = new WeakMap<WrittenFile, ReadonlyMap<string, number>>();

/** Of the key, or of the table where it would stand. From 1; undefined if it is not found. */
export function lineOf(written: WrittenFile, keys: readonly string[]): number | undefined {
  const lines = indexes.get(written) ?? indexLines(written);
  indexes.set(written, lines);
  for (let depth = keys.length; depth > 0; depth -= 1) {
    const line = lines.get(JSON.stringify(keys.slice(0, depth)));
    if (line !== undefined) return line;
  }
  return undefined;
}

/** Of a key that is there twice, the first one counts. */
function indexLines({ file, text }: WrittenFile): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const key of keysIn(path.extname(file), text)) {
    const place = JSON.stringify(key.path);
    if (!lines.has(place)) lines.set(place, key.line);
  }
  return lines;
}

function keysIn(extension: string, text: string): readonly WrittenKey[] {
  if (extension === ".json") return keysInJson(text);
  return extension === ".yaml" || extension === ".yml" ? keysInYaml(text) : keysInToml(text);
}
