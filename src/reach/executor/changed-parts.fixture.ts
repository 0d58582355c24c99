import type { ToolSource } from "../../record/tool/index.ts";
import { canonicalJson } from "../../util/index.ts";

/** The parts in which two sources differ, in the current version of subjects. */
export function changedParts(before: ToolSource, after: ToolSource): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof ToolSource>;
  keys.delete("earlier");
  return [...keys].filter((key) => textOf(before, key) !== textOf(after, key));
}

function textOf(source: ToolSource, key: keyof ToolSource): string {
  return canonicalJson(source[key] ?? null);
}
