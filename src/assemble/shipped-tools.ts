/** jp's built-in tools. */
import type { PartialConfig } from "../settings/config/index.ts";
import {
  createAskUser,
  createDescribeTools,
  createFileTools,
  createShellRunTool,
  createTellUser,
  createWebFetchTool,
  declaredIds,
  type FindDescription,
  type ShellPlace,
  type ShippedTool,
} from "../reach/executor/index.ts";
import type { ChangeKeeper } from "../reach/undo/index.ts";

export interface ShippedToolsOptions {
  readonly root: string;
  /** The `PATH`. */
  readonly searchPath?: string | undefined;
  readonly describe: FindDescription;
  /** Hosts with private addresses that `web_fetch` may reach. */
  readonly privateHosts?: readonly string[] | undefined;
  /** The user's data folder, which keeps the digests of long files. */
  readonly dataFolder?: string | undefined;
  /** Absent if no tool will be called. */
  readonly shell?: ShellPlace;
  /** Keeps the tools' changes, for undo. */
  readonly changes?: ChangeKeeper | undefined;
}

export function createShippedTools({
  root,
  searchPath,
  describe,
  privateHosts = [],
  dataFolder,
  shell,
  changes,
}: ShippedToolsOptions): readonly ShippedTool[] {
  return [
    createAskUser(),
    createTellUser(),
    createDescribeTools(describe),
    ...createFileTools({ root, searchPath, changes, dataFolder }),
    createWebFetchTool({ privateHosts }),
    createShellRunTool(shell && { ...shell, changes }),
  ];
}

/**
 * The tools' config, which the user's is merged over field by field; the tools that need no trust; and their question
 * IDs.
 */
export function shippedConfig() {
  const tools = createShippedTools({ root: "", describe: async () => undefined });
  const entries = tools.map(({ tool, config }) => [tool.name, config] as const);
  const builtins: PartialConfig = { conversation: { tools: Object.fromEntries(entries) } };
  const readOnlyTools = tools.flatMap(({ tool, isReadOnly }) => (isReadOnly ? [tool.name] : []));
  const questionIds = Object.fromEntries(
    tools.map((shipped) => [shipped.tool.name, declaredIds(shipped) ?? []] as const),
  );
  return { builtins, readOnlyTools, questionIds };
}
