/** In which line of a config file a key stands. The files beside it know the formats. */
import path from "node:path";
import { keysInJson } from "./keys-in-json.ts";
import { keysInToml } from "./keys-in-toml.ts";
import { keysInYaml } from "./keys-in-yaml.ts";
import type { WrittenKey } from "./written-key.ts";

/** Of the key, or of the table where it would stand. From 1; undefined if it is not found. */
export function lineOf(file: string, text: string, keys: readonly string[]): number | undefined {
  let best: WrittenKey | undefined;
  for (const key of keysIn(path.extname(file), text)) {
    const isOnTheWay = key.path.every((part, depth) => part === keys[depth]);
    if (isOnTheWay && key.path.length > (best?.path.length ?? 0)) best = key;
  }
  return best?.line;
}

function keysIn(extension: string, text: string): readonly WrittenKey[] {
  if (extension === ".json") return keysInJson(text);
  return extension === ".yaml" || extension === ".yml" ? keysInYaml(text) : keysInToml(text);
}
