/** Where a tool comes from, in words, for whoever decides about a call of it. */
import type { ToolOrigin } from "../tool/index.ts";
import { assertNever } from "../util/index.ts";
import { jsonLine } from "./neutralize.ts";

/** `local command "sh deploy.sh"`: on one line, with all names quoted. */
export function describeOrigin(origin: ToolOrigin): string {
  switch (origin.type) {
    case "builtin":
      return "built into jp";
    case "program":
      return "defined by the program that runs jp";
    case "local":
      return `local command ${jsonLine(origin.command)}`;
    case "mcp": {
      const { server, tool, command } = origin;
      return `MCP server ${jsonLine(server)} (${jsonLine(command)}), tool ${jsonLine(tool)}`;
    }
    default:
      return assertNever(origin);
  }
}
