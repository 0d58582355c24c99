/** An MCP server whose tool saves a backup of a file. For jp and any other client that shows forms. */
import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const form = z.object({ overwrite: z.boolean().default(false) });

serveStdio(() => {
  const server = new McpServer({ name: "backup", version: "1.0.0" });
  const about = {
    description: "Keep a copy of a file beside it.",
    inputSchema: z.object({ path: z.string() }),
  };
  server.registerTool("backup", about, async ({ path }, { mcpReq: { inputResponses } }) => {
    const message = "There is a backup already. Replace it?";
    if (existsSync(`${path}.bak`)) {
      const overwrite = inputRequired.elicit({ message, requestedSchema: form });
      if (inputResponses === undefined) return inputRequired({ inputRequests: { overwrite } });
      const answer = acceptedContent(inputResponses, "overwrite", form);
      if (answer?.overwrite !== true) return text("The old backup was kept.");
    }
    await copyFile(path, `${path}.bak`);
    return text(`Saved ${path}.bak`);
  });
  return server;
});

function text(words: string) {
  return { content: [{ type: "text" as const, text: words }] };
}
