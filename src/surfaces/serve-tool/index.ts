export { serveTool } from "./serve-tool.ts";
