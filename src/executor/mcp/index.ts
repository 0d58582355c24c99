export { createMcpTool } from "./create-mcp-tool.ts";
export { toRefusedQuestions } from "./mcp-executor.ts";
