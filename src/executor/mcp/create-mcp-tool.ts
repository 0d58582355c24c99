/** A tool of an MCP server: described by its server and the config, run by its server. */
import type { ToolSettings } from "../../config/index.ts";
import { McpError, type McpServer, type McpServers, type RemoteTool } from "../../mcp/index.ts";
import type { RunnableTool, ToolDescription } from "../port.ts";
import { describeRemoteTool } from "./describe-remote-tool.ts";
import { createMcpExecutor } from "./mcp-executor.ts";
import { mergeParameters } from "./merge-parameters.ts";
import { similarNames } from "./similar-names.ts";

export interface McpToolOptions {
  readonly settings: ToolSettings;
  readonly servers: McpServers;
  readonly signal: AbortSignal;
}

/** Its server is optional and did not start: everything goes on without the tool. */
export interface AbsentTool {
  readonly warning: McpError;
}

/**
 * Waits for the server. Throws `McpError` if it does not start and is not optional, or does not have
 * the tool or a parameter that the config speaks of; on abort the signal's reason.
 */
export async function createMcpTool(options: McpToolOptions): Promise<RunnableTool | AbsentTool> {
  const { settings, servers, signal } = options;
  const { name, source, timeoutMs } = settings;
  if (source.type !== "mcp") throw new Error(`the tool ${name} is not of an MCP server`);
  const reached = await servers.get(source.server, signal);
  if (reached.type === "absent") return reached;
  const { server, tools } = reached;
  const remote = getRemoteTool(server, tools, source.tool ?? name);
  return {
    description: toDescription(settings, remote),
    executor: createMcpExecutor({
      server,
      tool: remote,
      name,
      ...(timeoutMs !== undefined && { timeoutMs }),
    }),
  };
}

function getRemoteTool(server: McpServer, tools: readonly RemoteTool[], name: string): RemoteTool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name);
  const similar = similarNames(name, names).join(", ");
  throw new McpError("mcp_unknown_tool", `The MCP server "${server.name}" has no tool "${name}".`, {
    hint: similar === "" ? "It has no tools at all." : `The nearest it has: ${similar}`,
  });
}

function toDescription(settings: ToolSettings, remote: RemoteTool): ToolDescription {
  const { name, examples, parameters } = settings;
  return {
    name,
    ...describeRemoteTool(settings, remote),
    ...(examples !== undefined && { examples }),
    parameters: mergeParameters(name, remote.inputSchema, parameters),
  };
}
