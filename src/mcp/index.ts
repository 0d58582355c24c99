export type { CallResult } from "./call-result.ts";
export type { CallRequest } from "./connection.ts";
export type { McpContext } from "./link.ts";
export type { RemoteTool } from "./list-tools.ts";
export { McpError, type McpErrorCode } from "./mcp-error.ts";
export type { McpServer } from "./mcp-server.ts";
export { McpServers, type ReachedServer } from "./mcp-servers.ts";
export type { Variables } from "./server-environment.ts";
