/**
 * Settings for a group of tools, such as `conversation.tools.fs.enable = true`, apply to each of its tools, as `-t fs`
 * does. Each layer is rewritten as if it named the tools, so that everything else knows only tools.
 */
import type { ConfigIssue } from "./config-error.ts";
import { foldLayers, type Layer, mergeConfig, omitPaths } from "./layers.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import type { PolicyList } from "./policy-list.ts";
import type { Enable, PartialToolConfig } from "./schema/tool.ts";
import { parseToolSource, resolveTools, type ToolSettings } from "./tool-settings.ts";

/** Layers that name tools only. */
export interface UngroupedLayers {
  readonly layers: readonly Layer[];
  /** Settings that a group does not support, by the name of the layer. */
  readonly issues: readonly (ConfigIssue & { readonly layer: string })[];
}

const TOOLS = ["conversation", "tools"];

/** A group supports the same keys as the defaults for all tools. */
const OF_GROUPS: ReadonlySet<string> = new Set<keyof PartialToolConfig>([
  "enable",
  "run",
  "result",
  "cancellation_response",
  "detached",
  "timeout_secs",
  "style",
  "policy",
]);

/**
 * A tool with the name of a group takes precedence. Only the user's own config assigns the user's tools to groups:
 * otherwise a workspace could make the user switch on another tool.
 */
export function ungroupLayers(layers: readonly Layer[]): UngroupedLayers {
  const own = layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true);
  const sources = { all: sourcedIn(layers), own: sourcedIn(own) };
  const namesOf = ({ config, isFromWorkspace, isBase }: Layer) => {
    if (isBase === true) return [];
    const known = isFromWorkspace === true ? sources.all : sources.own;
    return Object.keys(toolsOf(config)).filter((name) => name !== "*" && !known.has(name));
  };
  const ofUser = resolveTools(foldLayers(own));
  const all = resolveTools(foldLayers(layers));
  const views = { all: [...all.values()], own: [...new Map([...all, ...ofUser]).values()] };
  const readOnly = new Set(layers.flatMap(({ readOnlyTools = [] }) => readOnlyTools));
  const ungrouped = layers.map((layer) => {
    const tools = layer.isFromWorkspace === true ? views.all : views.own;
    const groups = namesOf(layer).filter((name) => tools.some(({ group }) => group === name));
    return ungroup(layer, { groups, tools, readOnly });
  });
  return {
    layers: ungrouped.map(({ layer }) => layer),
    issues: ungrouped.flatMap(({ issues }) => issues),
  };
}

interface Groups {
  readonly groups: readonly string[];
  readonly tools: readonly ToolSettings[];
  /** The builtin tools that only read. */
  readonly readOnly: ReadonlySet<string>;
}

function ungroup(layer: Layer, { groups, tools, readOnly }: Groups) {
  const entries = toolsOf(layer.config);
  const changes: PartialConfig[] = [];
  const issues: UngroupedLayers["issues"][number][] = [];
  for (const group of groups) {
    const entry = entries[group] ?? {};
    const { enable, ...others } = pickShared(entry);
    for (const tool of tools.filter((one) => one.group === group)) {
      const state = enable && enableFor(tool, enable, readOnly);
      const settings = { ...others, ...(state !== undefined && { enable: state }) };
      changes.push({ conversation: { tools: { [tool.name]: settings } } });
    }
    const misplaced = Object.keys(entry).filter((key) => !OF_GROUPS.has(key));
    const message = `${group} is a group; set this for each of its tools`;
    for (const key of misplaced)
      issues.push({ path: [...TOOLS, group, key], message, layer: layer.name });
  }
  const rest = omitPaths(
    layer.config,
    groups.map((group) => [...TOOLS, group]),
  );
  const config = [...changes, withoutReadsOnly(rest, tools, readOnly)].reduce(mergeConfig, {});
  const written = Object.fromEntries(groups.map((group) => [group, asWritten(entries[group])]));
  const ofGroups: PartialConfig = { conversation: { tools: written } };
  return {
    layer: groups.length === 0 ? { ...layer, config } : { ...layer, config, groups: ofGroups },
    issues,
  };
}

/** A higher layer overrides `read` of a lower one. */
function asWritten({ enable, ...entry }: PartialToolConfig = {}): PartialToolConfig {
  if (enable === undefined) return entry;
  return { ...entry, enable: { ...enable, reads_only: enable.reads_only ?? false } };
}

function pickShared(entry: PartialToolConfig): PartialToolConfig {
  const { policy, ...others } = entry;
  const picked = Object.entries(others).filter(([key]) => OF_GROUPS.has(key));
  if (policy === undefined) return Object.fromEntries(picked);
  const lists = Object.entries(policy).map(([of, list]) => [of, list && shareRules(list)] as const);
  return { ...Object.fromEntries(picked), policy: Object.fromEntries(lists) };
}

/** Not every tool of a group has the same arguments. */
function shareRules(list: PolicyList): PolicyList {
  const rules = list.rules.map(({ place, ...rule }) =>
    place === undefined ? rule : { ...rule, place: { ...place, isShared: true } },
  );
  return { ...list, rules };
}

/** Undefined for a tool that cannot be switched with its group. */
function enableFor(
  tool: ToolSettings,
  { reads_only: readsOnly, ...enable }: Enable,
  readOnly: ReadonlySet<string>,
): Enable | undefined {
  if (tool.allowToggle !== "any" && tool.allowToggle !== "if_named_or_group") return undefined;
  if (readsOnly === true) return { state: onlyReads(tool, readOnly) };
  const { allow_toggle: policy, ...state } = enable;
  // `true` and `false` have this policy too, and must not change the policy of each tool.
  return policy === "any" ? state : enable;
}

function onlyReads(
  { name, source }: Pick<ToolSettings, "name" | "source">,
  readOnly: ReadonlySet<string>,
) {
  return source.type === "builtin" && readOnly.has(source.tool ?? name);
}

/** Resolves `enable = "read"` of a tool itself. */
function withoutReadsOnly(
  config: PartialConfig,
  tools: readonly ToolSettings[],
  readOnly: ReadonlySet<string>,
): PartialConfig {
  const named = Object.entries(toolsOf(config)).filter(
    ([, { enable }]) => enable?.reads_only === true,
  );
  if (named.length === 0) return config;
  const changed = named.map(([name]) => {
    const found = tools.find((tool) => tool.name === name);
    const { source = parseToolSource("local") } = found ?? {};
    return [name, { enable: { state: onlyReads({ name, source }, readOnly) } }] as const;
  });
  const without = omitPaths(
    config,
    named.map(([name]) => [...TOOLS, name, "enable"]),
  );
  return mergeConfig(without, { conversation: { tools: Object.fromEntries(changed) } });
}

function sourcedIn(layers: readonly Layer[]): ReadonlySet<string> {
  return new Set(
    layers.flatMap(({ config }) =>
      Object.entries(toolsOf(config)).flatMap(([name, tool]) =>
        "source" in tool && tool.source !== undefined ? [name] : [],
      ),
    ),
  );
}

function toolsOf({ conversation }: PartialConfig): Readonly<Record<string, PartialToolConfig>> {
  return conversation?.tools ?? {};
}
