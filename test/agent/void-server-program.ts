/**
 * An MCP server for tests that reads the definitions of its tools from a file when it starts. `deploy` appends a line to
 * another file. Arguments: both files, and `asks` if it asks before, about the content of a third one.
 */
import { appendFileSync, readFileSync } from "node:fs";
import {
  type CallToolResult,
  type InputRequiredResult,
  Server,
  type Tool,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [definitions = "", effects = "", asks = "", target = ""] = process.argv.slice(2);
const tools = JSON.parse(readFileSync(definitions, "utf8")) as Tool[]; // The test has written it.

serveStdio(
  () => {
    const server = new Server({ name: "ops", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools }));
    server.setRequestHandler("tools/call", (_request, { mcpReq }) =>
      deploy(mcpReq.requestState<string>()),
    );
    return server;
  },
  { legacy: "reject" },
);

/** The state says what the answer is about. */
function deploy(state: string | undefined): CallToolResult | InputRequiredResult {
  const content = asks === "asks" ? readFileSync(target, "utf8") : undefined;
  if (content !== state) {
    const requestedSchema = {
      type: "object" as const,
      properties: { name: { type: "string" as const } },
    };
    const params = { mode: "form" as const, message: "Who deploys it?", requestedSchema };
    return {
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create", params } },
      requestState: content ?? "",
    };
  }
  appendFileSync(effects, "deployed\n");
  return { content: [{ type: "text", text: "deployed" }] };
}
