/** `jp config show`: values in force as lines of TOML, and with `--explain` where they come from. */
import {
  explainLayers,
  type ExplainedValue,
  pathToText,
  splitPath,
} from "../../../config/index.ts";
import { jsonLine, neutralize } from "../../../render/index.ts";
import type { Call } from "../../define.ts";
import { type ConfigFlags, loadConfig } from "../../load-config.ts";

export interface ShowConfigFlags extends ConfigFlags {
  readonly explain?: boolean;
  readonly format?: "text" | "json";
}

export async function showConfig({
  words,
  options,
  context,
}: Call<ShowConfigFlags>): Promise<void> {
  const { output } = context;
  const layers = await loadConfig(context, options);
  const prefix = splitPath(words[0] ?? "");
  for (const value of explainLayers(layers)) {
    if (!prefix.every((key, depth) => value.path[depth] === key)) continue;
    if (options.format === "json") {
      output.print(jsonLine(toJson(value)));
      continue;
    }
    const line = `${pathToText(value.path)} = ${textOf(value)}`;
    const [origin = "", ...overridden] = value.layers;
    const over = overridden.length === 0 ? "" : ` (over ${overridden.join(", ")})`;
    const note = options.explain === true ? `  # ${origin}${over}` : "";
    output.print(neutralize(line) + output.paint("dim", neutralize(note)));
  }
}

/** A configured answer may be a secret: that there is one is all that is told. */
function textOf({ value, isPrivate }: ExplainedValue): string {
  return isPrivate ? '"<set>"' : jsonLine(value);
}

function toJson({ path, value, isPrivate, layers }: ExplainedValue) {
  return { key: pathToText(path), ...(isPrivate ? { private: true } : { value }), from: layers };
}
