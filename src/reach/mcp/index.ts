export { type Elicitation, ELICITATION, type FormField, parseElicitation } from "./elicitation.ts";
export { usesLogins, variablesIn } from "./http-settings.ts";
export {
  loginEnded,
  loginRequired,
  McpError,
  type McpErrorCode,
  reasonOf,
  ScopeMissing,
} from "./mcp-error.ts";
export type {
  McpContext,
  McpServer,
  ServerRefusal,
  SharedQuestion,
  UnscopedQuestion,
} from "./mcp-server.ts";
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
  HttpServer,
  RemoteTool,
  ResourceContent,
  ServerAddress,
  ServerLink,
  ServerLogins,
  ServerTransport,
  Variables,
} from "./port.ts";
export { parseSampling, SAMPLING } from "./sampling.ts";
export type { Asks, ServerCall } from "./server-call.ts";
