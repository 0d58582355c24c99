/** The tools that come with the program. */
import type { PartialConfig } from "../config/index.ts";
import {
  createAskUser,
  createDescribeTools,
  createFileTools,
  type FindDescription,
  type ShippedTool,
} from "../executor/index.ts";

export interface ShippedToolsOptions {
  readonly root: string;
  readonly describe: FindDescription;
}

export function createShippedTools({
  root,
  describe,
}: ShippedToolsOptions): readonly ShippedTool[] {
  return [createAskUser(), createDescribeTools(describe), ...createFileTools({ root })];
}

/** What they are by themselves; the user's config merges over it, field by field. */
export function shippedConfig(): PartialConfig {
  return shippedLayer().builtins;
}

/** The same for the loader of layers, with which of them need no trust. */
export function shippedLayer() {
  const tools = createShippedTools({ root: "", describe: async () => undefined });
  const entries = tools.map(({ tool, config }) => [tool.name, config] as const);
  const builtins: PartialConfig = { conversation: { tools: Object.fromEntries(entries) } };
  const readOnlyTools = tools.flatMap(({ tool, isReadOnly }) => (isReadOnly ? [tool.name] : []));
  return { builtins, readOnlyTools };
}
