/** The tools that MCP servers offer, for turns that take all of them. */
import type { PartialConfig, PartialToolConfig, ToolSettings } from "../config/index.ts";
import { mergeConfig, resolveTools } from "../config/index.ts";
import type { McpServers } from "../mcp/index.ts";

/** A tool as it is offered: its name, where it comes from, and its config without the program's. */
export interface OfferedTool {
  readonly name: string;
  readonly owner: string;
  readonly config: PartialToolConfig;
  /** The server of the tool. */
  readonly server?: string;
}

interface ListedServers {
  readonly servers: McpServers;
  readonly names: readonly string[];
  readonly onWarning: (message: string) => void;
}

/** All at once. Without `isComplete`, an optional one is unavailable. */
export async function listServers(
  { servers, names, onWarning }: ListedServers,
  signal: AbortSignal,
): Promise<{ readonly offered: readonly OfferedTool[]; readonly isComplete: boolean }> {
  servers.allowRestart();
  const reached = await Promise.all(
    names.map(async (name) => ({ name, ...(await servers.get(name, signal)) })),
  );
  let isComplete = true;
  const offered = reached.flatMap((each): readonly OfferedTool[] => {
    if (each.type === "absent") {
      isComplete = false;
      onWarning(each.warning.message);
      return [];
    }
    const { name: server, tools } = each;
    const owner = `the MCP server "${server}"`;
    return tools.map((tool) => {
      const name = toToolName(each.server.toolPrefix + tool.name);
      return { name, owner, server, config: { source: `mcp.${server}.${tool.name}` } };
    });
  });
  return { offered, isComplete };
}

const MAX_NAME_LENGTH = 64;

/** As all providers accept it. */
function toToolName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME_LENGTH);
}

/**
 * The configured tools, and those of servers that offer all of theirs. A configured tool keeps its name, and stands for
 * the tool of the server that it names.
 */
export function withServerTools(
  config: PartialConfig,
  offered: readonly OfferedTool[],
): ReadonlyMap<string, ToolSettings> {
  const { "*": _defaults, ...tools } = config.conversation?.tools ?? {};
  const configured = new Set(Object.values(tools).map(({ source }) => source));
  const added = offered.filter(
    ({ name, config: { source } }) => tools[name] === undefined && !configured.has(source),
  );
  const entries = added.map(({ name, config: own }): [string, PartialToolConfig] => [
    name,
    // Nothing else would tell the model the rest of a server's description.
    { summary: "{{description}}", ...own },
  ]);
  return resolveTools(
    mergeConfig({ conversation: { tools: Object.fromEntries(entries) } }, config),
  );
}
