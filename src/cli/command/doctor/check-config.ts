/** The config: what of it cannot be read or used, with file and line. */
import {
  ConfigError,
  existingConfigFiles,
  findUnusable,
  foldLayers,
  type Layer,
  loadLayers,
  pathToText,
} from "../../../config/index.ts";
import type { CommandContext } from "../../compose.ts";
import { configPlaces } from "../../load-config.ts";
import { shippedLayer } from "../../shipped-tools.ts";
import type { Finding } from "./finding.ts";

export interface CheckedConfig {
  readonly findings: readonly Finding[];
  /** Absent if it cannot be read. */
  readonly layers?: readonly Layer[];
}

export async function checkConfig(context: CommandContext): Promise<CheckedConfig> {
  const check = "config";
  const places = configPlaces(context);
  try {
    const { layers, warnings } = await loadLayers({ places, ...shippedLayer() });
    const unusable = findUnusable(foldLayers(layers)).map(
      ({ path, message }) => `${pathToText(path)}: ${message}`,
    );
    const findings = [...warnings, ...unusable].map((message): Finding => ({
      check,
      state: "warning",
      message,
    }));
    if (findings.length > 0) return { findings, layers };
    const files = existingConfigFiles(places);
    const message = files.length === 0 ? "no file; the defaults hold" : files.join(", ");
    return { findings: [{ check, state: "ok", message }], layers };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // A line for each mistake.
    const findings = error.message
      .split("\n")
      .map((message): Finding => ({ check, state: "problem", message }));
    return { findings };
  }
}
