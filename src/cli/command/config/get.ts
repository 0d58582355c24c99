/** `jp config get`: for people and scripts; a text comes without quotes. */
import {
  configToJson,
  explainLayers,
  foldLayers,
  pathToText,
  splitPath,
  valueAt,
} from "../../../config/index.ts";
import { jsonLine, neutralize } from "../../../render/index.ts";
import { CodedError } from "../../../util/index.ts";
import type { Call } from "../../define.ts";
import { type ConfigFlags, loadConfig } from "../../load-config.ts";

export async function getConfig({ words, options, context }: Call<ConfigFlags>): Promise<void> {
  const [key = ""] = words;
  const layers = await loadConfig(context, options);
  const keys = splitPath(key);
  const value = valueAt(configToJson(foldLayers(layers)), keys);
  const hidden = explainLayers(layers).find(
    ({ path, isPrivate }) => isPrivate && pathToText(path) === pathToText(keys),
  );
  if (hidden !== undefined) {
    throw new CodedError("config_private", `${key} is set, and not shown: it may be a secret.`, {
      hint: `It comes from ${hidden.layers[0] ?? "the config"}.`,
    });
  }
  if (value === undefined) {
    throw new CodedError("config_not_found", `Nothing is configured for ${key}.`, {
      hint: "`jp config show` lists what is; `jp config schema` what can be.",
    });
  }
  context.output.print(typeof value === "string" ? neutralize(value) : jsonLine(value));
}
