/** Views of the layers of one config: the user's own part, the workspace's, and both. */
import {
  foldLayers,
  type Layer,
  mergeConfig,
  offeringServers,
  type PartialConfig,
  valueAt,
} from "../config/index.ts";
import { isJsonObject, type JsonObject } from "../../util/index.ts";

export interface Views {
  /** From the workspace's files only. */
  readonly workspace: PartialConfig;
  /** Without the workspace. */
  readonly own: PartialConfig;
  /** From the user only, without the defaults. */
  readonly user: PartialConfig;
  readonly inForce: PartialConfig;
  readonly readOnlyTools: ReadonlySet<string>;
}

/** `effective` are the layers in force. */
export function viewsOf(layers: readonly Layer[], effective: readonly Layer[]): Views {
  return {
    workspace: foldLayers(effective.filter(({ isFromWorkspace }) => isFromWorkspace)),
    own: ownConfig(layers),
    user: foldLayers(layers.filter((layer) => !layer.isBase && !layer.isFromWorkspace)),
    inForce: foldLayers(effective),
    readOnlyTools: new Set(layers.flatMap(({ readOnlyTools = [] }) => readOnlyTools)),
  };
}

export function ownConfig(layers: readonly Layer[]): PartialConfig {
  return foldLayers(layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true));
}

export function tableAt(config: PartialConfig | JsonObject, path: readonly string[]): JsonObject {
  const table = valueAt(config, path);
  return isJsonObject(table) ? table : {};
}

export const TOOLS = ["conversation", "tools"];

/** Adds one tool that represents all tools offered by servers, which have only the default settings. */
export function withOffered(config: PartialConfig): PartialConfig {
  const [server] = offeringServers(config);
  if (server === undefined) return config;
  return mergeConfig(config, { conversation: { tools: { "": { source: `mcp.${server}` } } } });
}

/** The policy of a tool: its own fields, else the defaults for all tools. */
export function toolPolicy(defaults: JsonObject, tool: JsonObject): JsonObject {
  const merged = (key: string) => ({ ...tableAt(defaults, [key]), ...tableAt(tool, [key]) });
  return {
    ...defaults,
    ...tool,
    enable: merged("enable"),
    detached: merged("detached"),
    style: merged("style"),
    policy: Object.fromEntries(
      ["run", "result"].map((of) => {
        const wordOf = (entry: JsonObject) => tableAt(entry, ["policy", of])["mode"] ?? entry[of];
        const mode = wordOf(tool) ?? wordOf(defaults);
        return [of, mode === undefined ? {} : { mode }] as const;
      }),
    ),
  };
}
