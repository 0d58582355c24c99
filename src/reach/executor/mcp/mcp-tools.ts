/** The parts of the tools of MCP servers, which are loaded with the first of them. */
export { createMcpTool } from "./create-mcp-tool.ts";
export { toRefusedQuestions } from "./mcp-executor.ts";
