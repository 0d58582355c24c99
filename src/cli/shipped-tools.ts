/** The tools that come with the program. */
import type { PartialConfig } from "../config/index.ts";
import {
  createDescribeTools,
  createFileTools,
  type ShippedTool,
  type ToolDescription,
} from "../executor/index.ts";

export interface ShippedToolsOptions {
  readonly root: string;
  readonly describe: (name: string) => ToolDescription | undefined;
}

export function createShippedTools({
  root,
  describe,
}: ShippedToolsOptions): readonly ShippedTool[] {
  return [createDescribeTools(describe), ...createFileTools({ root })];
}

/** What they are by themselves; the user's config merges over it, field by field. */
export function shippedConfig(): PartialConfig {
  const tools = createShippedTools({ root: "", describe: () => undefined });
  const entries = tools.map(({ tool, config }) => [tool.name, config] as const);
  return { conversation: { tools: Object.fromEntries(entries) } };
}
