export { type Elicitation, ELICITATION, type FormField, parseElicitation } from "./elicitation.ts";
export { McpError, type McpErrorCode } from "./mcp-error.ts";
export type { McpContext, McpServer, SharedQuestion, UnscopedQuestion } from "./mcp-server.ts";
export { McpServers } from "./mcp-servers.ts";
export { LaterServers, openMcpServers } from "./open-servers.ts";
export type {
  McpServerConfig,
  McpServerConfigs,
  McpServersOptions,
  SharedMcpServers,
} from "./server-configs.ts";
export { isOwnServers } from "./own-servers.ts";
export type { InputRequest, InputResponse } from "./pending-calls.ts";
export type {
  CallResult,
  ConnectionContext,
  RemoteTool,
  ResourceContent,
  ServerAddress,
  ServerLink,
  ServerTransport,
  Variables,
} from "./port.ts";
export { parseSampling, SAMPLING } from "./sampling.ts";
export type { Asks, ServerCall } from "./server-call.ts";
