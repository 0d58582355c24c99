/** Describes a tool of an MCP server, as the server lists it right now. */
import type { McpServer, RemoteTool, ServerAddress } from "../../mcp/index.ts";
import { quoteCommand } from "../../process/index.ts";
import type { ToolSource } from "../../../record/tool/index.ts";
import type { Json } from "../../../util/index.ts";

/** `tool` is the server's name for it. Waits for the server, restarting it if necessary. Never throws. */
export async function describeMcpSource(server: McpServer, tool: string): Promise<ToolSource> {
  return {
    ...describeAddress(server.address, { server: server.name, tool }),
    definition: await describeDefinition(server, tool),
  };
}

/** The part that is known from the config. Starts nothing. */
export function describeAddress(
  address: ServerAddress,
  { server, tool }: { readonly server: string; readonly tool: string },
): ToolSource {
  const command =
    address.type === "http"
      ? withoutSecrets(address.url)
      : quoteCommand([address.command, ...address.arguments]);
  const { type: _type, ...identity } = address;
  return { origin: { type: "mcp", server, tool, command }, identity };
}

/** These parts of a URL may contain keys. */
function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return "";
  const shown = new URL(url);
  for (const part of ["username", "password", "search", "hash"] as const) shown[part] = "";
  return shown.href;
}

async function describeDefinition(server: McpServer, name: string): Promise<Json> {
  let tools: readonly RemoteTool[];
  try {
    tools = await server.tools(new AbortController().signal);
  } catch {
    return { unavailable: true };
  }
  const found = tools.find((tool) => tool.name === name);
  if (found === undefined) return { missing: true };
  const { description, inputSchema, annotations } = found;
  return {
    ...(description !== undefined && { description }),
    inputSchema,
    ...(annotations !== undefined && { annotations }),
  };
}
