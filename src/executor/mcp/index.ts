export { createMcpTool } from "./create-mcp-tool.ts";
