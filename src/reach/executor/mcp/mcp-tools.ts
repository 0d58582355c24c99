/** Tools of MCP servers, loaded with the first of them. */
export { createMcpTool } from "./create-mcp-tool.ts";
export { toRefusedQuestions } from "./mcp-executor.ts";
export { toServerQuestions } from "./server-questions.ts";
