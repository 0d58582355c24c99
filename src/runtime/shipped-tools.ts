/** The tools that come with the program. */
import type { PartialConfig } from "../config/index.ts";
import {
  createAskUser,
  createDescribeTools,
  createFileTools,
  createTellUser,
  createWebFetchTool,
  type FindDescription,
  type ShippedTool,
} from "../executor/index.ts";

export interface ShippedToolsOptions {
  readonly root: string;
  readonly describe: FindDescription;
  /** Those that `web_fetch` may reach at private addresses. */
  readonly privateHosts?: readonly string[] | undefined;
}

export function createShippedTools({
  root,
  describe,
  privateHosts = [],
}: ShippedToolsOptions): readonly ShippedTool[] {
  return [
    createAskUser(),
    createTellUser(),
    createDescribeTools(describe),
    ...createFileTools({ root }),
    createWebFetchTool({ privateHosts }),
  ];
}

/** Their config, over which the user's is merged field by field, and which of them need no trust. */
export function shippedConfig() {
  const tools = createShippedTools({ root: "", describe: async () => undefined });
  const entries = tools.map(({ tool, config }) => [tool.name, config] as const);
  const builtins: PartialConfig = { conversation: { tools: Object.fromEntries(entries) } };
  const readOnlyTools = tools.flatMap(({ tool, isReadOnly }) => (isReadOnly ? [tool.name] : []));
  return { builtins, readOnlyTools };
}
