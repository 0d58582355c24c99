/** `-t` and `-T`: tools switched on and off, one after the other, as far as each tool allows it. */
import { nearest } from "../util/index.ts";
import { ConfigError } from "./config-error.ts";
import { mergeConfig } from "./merge.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { resolveTools, type ToolSettings } from "./tool-settings.ts";

/** What one `-t` or `-T` says. */
export interface ToolDirective {
  readonly isEnabled: boolean;
  /** A tool or a group; absent for all tools. */
  readonly name?: string;
}

/** Changes only the state, never who may change it. Throws `unknown_tool`, `tool_locked`. */
export function applyDirectives(
  config: PartialConfig,
  directives: readonly ToolDirective[],
): PartialConfig {
  return directives.reduce((current, directive) => {
    const tools = [...resolveTools(current).values()];
    const names = affected(tools, directive).map(({ name }) => name);
    const changes = names.map(
      (name) => [name, { enable: { state: directive.isEnabled } }] as const,
    );
    return mergeConfig(current, { conversation: { tools: Object.fromEntries(changes) } });
  }, config);
}

function affected(
  tools: readonly ToolSettings[],
  directive: ToolDirective,
): readonly ToolSettings[] {
  const { name, isEnabled } = directive;
  const others = tools.filter((tool) => tool.isEnabled !== isEnabled);
  if (name === undefined) return others.filter(({ allowToggle }) => allowToggle === "any");
  const named = tools.find((tool) => tool.name === name);
  if (named !== undefined) {
    if (named.isEnabled === isEnabled) return [];
    if (named.allowToggle === "never") throw locked(name, isEnabled);
    return [named];
  }
  if (!tools.some(({ group }) => group === name)) throw unknownTool(name, tools);
  return others.filter(
    ({ group, allowToggle }) =>
      group === name && (allowToggle === "any" || allowToggle === "if_named_or_group"),
  );
}

function locked(name: string, isEnabled: boolean): ConfigError {
  const wanted = isEnabled ? "enable" : "disable";
  const state = isEnabled ? "locked-off" : "locked-on";
  return new ConfigError(
    "tool_locked",
    `cannot ${wanted} \`${name}\`: this tool is configured as ${state}`,
    { hint: `Its config says so: conversation.tools.${name}.enable` },
  );
}

function unknownTool(name: string, tools: readonly ToolSettings[]): ConfigError {
  const known = [...tools.map((tool) => tool.name), ...tools.flatMap(({ group = [] }) => group)];
  const close = nearest(name, known);
  return new ConfigError("unknown_tool", `There is no tool or group called ${name}.`, {
    hint: close === undefined ? "`jp tool ls` lists them." : `Did you mean ${close}?`,
  });
}
