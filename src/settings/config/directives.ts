/** Applies `-t` and `-T`, which switch tools on and off as far as each tool allows it. */
import { findClosest } from "../../util/index.ts";
import { ConfigError } from "./config-error.ts";
import { mergeConfig } from "./layers.ts";
import { offeringServers } from "./mcp-settings.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { resolveTools, type ToolSettings } from "./tool-settings.ts";

/** The meaning of one `-t` or `-T`. */
export interface ToolDirective {
  readonly isEnabled: boolean;
  /** A tool or a group; absent for all tools. */
  readonly name?: string;
}

/**
 * Changes only the state, never the policy for changing it. An unknown name may belong to a tool that a server will
 * offer. Throws `unknown_tool`, `tool_locked`.
 */
export function applyDirectives(
  config: PartialConfig,
  directives: readonly ToolDirective[],
  mayBeOffered = offeringServers(config).length > 0,
): PartialConfig {
  return directives.reduce((current, directive) => {
    const tools = [...resolveTools(current).values()];
    if (mayBeOffered && !isKnown(tools, directive)) return current;
    const names = affected(tools, directive).map(({ name }) => name);
    const changes = names.map(
      (name) => [name, { enable: { state: directive.isEnabled } }] as const,
    );
    return mergeConfig(current, { conversation: { tools: Object.fromEntries(changes) } });
  }, config);
}

function isKnown(tools: readonly ToolSettings[], { name }: ToolDirective): boolean {
  return name === undefined || tools.some((tool) => tool.name === name || tool.group === name);
}

function affected(
  tools: readonly ToolSettings[],
  directive: ToolDirective,
): readonly ToolSettings[] {
  const { name, isEnabled } = directive;
  const changing = tools.filter((tool) => tool.isEnabled !== isEnabled);
  if (name === undefined) return changing.filter(({ allowToggle }) => allowToggle === "any");
  const named = tools.find((tool) => tool.name === name);
  if (named !== undefined) {
    if (named.isEnabled === isEnabled) return [];
    if (named.allowToggle === "never") throw lockedError(name, isEnabled);
    return [named];
  }
  if (!tools.some(({ group }) => group === name)) throw unknownToolError(name, tools);
  return changing.filter(
    ({ group, allowToggle }) =>
      group === name && (allowToggle === "any" || allowToggle === "if_named_or_group"),
  );
}

function lockedError(name: string, isEnabled: boolean): ConfigError {
  const wanted = isEnabled ? "enable" : "disable";
  const state = isEnabled ? "locked-off" : "locked-on";
  return new ConfigError(
    "tool_locked",
    `cannot ${wanted} \`${name}\`: this tool is configured as ${state}`,
    { hint: `See conversation.tools.${name}.enable in your config.` },
  );
}

function unknownToolError(name: string, tools: readonly ToolSettings[]): ConfigError {
  const known = [...tools.map((tool) => tool.name), ...tools.flatMap(({ group = [] }) => group)];
  const closest = findClosest(name, known);
  const hints =
    closest === undefined
      ? { commandHint: "List them with `jp tool ls`." }
      : { hint: `Did you mean ${closest}?` };
  return new ConfigError("unknown_tool", `Unknown tool or group: ${name}`, hints);
}
