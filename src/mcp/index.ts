export type { CallResult } from "./call-result.ts";
export {
  type Elicitation,
  ELICITATION,
  type InputRequest,
  type InputResponse,
  parseElicitation,
} from "./elicitation.ts";
export type { FormField } from "./form-field.ts";
export type { McpContext, StrayQuestion } from "./link.ts";
export type { RemoteTool } from "./list-tools.ts";
export { McpError, type McpErrorCode } from "./mcp-error.ts";
export type { McpServer } from "./mcp-server.ts";
export { McpServers, type ReachedServer } from "./mcp-servers.ts";
export type { Asks, CallStep, ServerCall } from "./server-call.ts";
export type { Variables } from "./server-environment.ts";
