/** Creates a tool that an MCP server runs, described by the server and the config. */
import type { ToolSettings } from "../../../settings/config/index.ts";
import { McpError, type McpServer, type McpServers, type RemoteTool } from "../../mcp/index.ts";
import { findPaths } from "../parameters-schema.ts";
import type { RunnableTool, ToolDescription } from "../port.ts";
import { createMcpExecutor } from "./mcp-executor.ts";
import { describeMcpSource } from "./mcp-source.ts";
import { describeRemoteTool, mergeParameters } from "./remote-description.ts";

export interface McpToolOptions {
  readonly settings: ToolSettings;
  readonly servers: McpServers;
  readonly signal: AbortSignal;
  /** Identifies the caller, if several share the servers. */
  readonly caller?: object;
}

/** The tool's server is optional and did not start: jp continues without it. */
export interface AbsentTool {
  readonly warning: McpError;
}

/**
 * Waits for the server. Throws `McpError` if it does not start and is not optional, or lacks the tool or a configured
 * parameter; on abort, throws the signal's reason.
 */
export async function createMcpTool(options: McpToolOptions): Promise<RunnableTool | AbsentTool> {
  const { settings, servers, signal, caller } = options;
  const { name, source, timeoutMs } = settings;
  if (source.type !== "mcp") throw new Error(`the tool ${name} does not belong to an MCP server`);
  const reached = await servers.get(source.server, signal);
  if (reached.type === "absent") return reached;
  const { server, tools } = reached;
  const remote = getRemoteTool(server, tools, source.tool ?? name);
  const isIdempotent = remote.isIdempotent ?? false;
  return {
    description: toDescription(settings, remote),
    executor: createMcpExecutor({
      server,
      tool: remote,
      name,
      isIdempotent: settings.isIdempotent ?? isIdempotent,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(caller !== undefined && { caller }),
    }),
    describeSource: () => describeMcpSource(server, remote.name),
    isIdempotent,
    ...(remote.isReadOnly === true && { isReadOnly: true }),
    // A server's claim to be destructive is trusted: it only adds questions.
    ...(remote.isDestructive === true && { effect: "destroys" }),
    argumentKinds: findPaths(settings.parameters),
  };
}

function getRemoteTool(server: McpServer, tools: readonly RemoteTool[], name: string): RemoteTool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name);
  const similar = similarNames(name, names).join(", ");
  throw new McpError("mcp_unknown_tool", `The MCP server "${server.name}" has no tool "${name}".`, {
    hint: similar === "" ? "It has no tools." : `Its most similar tools: ${similar}`,
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

const MAX_SIMILAR_NAMES = 5;

/** Most similar first. */
export function similarNames(wanted: string, known: readonly string[]): readonly string[] {
  const pairs = pairsOf(wanted);
  return known
    .map((name) => ({ name, similarity: similarity(pairs, pairsOf(name)) }))
    .toSorted((left, right) => right.similarity - left.similarity)
    .slice(0, MAX_SIMILAR_NAMES)
    .map(({ name }) => name);
}

/** The share of letter pairs that two names have in common: `read_file` is similar to `file_read`. */
function similarity(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const common = [...left].filter((pair) => right.has(pair)).length;
  return common === 0 ? 0 : (2 * common) / (left.size + right.size);
}

function pairsOf(name: string): ReadonlySet<string> {
  const letters = ` ${name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, " ")} `;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}
