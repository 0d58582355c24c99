/** `jp config path`. */
import { existingConfigFiles } from "../../../config/index.ts";
import { neutralize } from "../../../render/index.ts";
import type { Call } from "../../define.ts";
import { configPlaces } from "../../load-config.ts";

export async function printConfigPaths({ context }: Call<object>): Promise<void> {
  const { output } = context;
  const places = configPlaces(context);
  const files = existingConfigFiles(places);
  for (const file of files) output.print(output.isTerminal ? neutralize(file) : file);
  if (files.length > 0) return;
  const candidates = [places.workspaceRoot && `${places.workspaceRoot}/.jp`, places.userFolder];
  output.notice("There is no config file yet. These would be read:");
  for (const folder of candidates)
    if (folder !== undefined) output.notice(`  ${neutralize(folder)}/config.toml`);
}
