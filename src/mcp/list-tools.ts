/** The tools of a server, from all pages of its list. */
import type { Client, ListToolsResult } from "@modelcontextprotocol/client";
import { type JsonObject, LONGEST_TIMER_MS } from "../util/index.ts";

/** A tool as its server describes it: foreign text. */
export interface RemoteTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
}

const MOST_PAGES = 1000;

/** The SDK's own walk stops at 64 pages, and prints. */
export async function listTools(client: Client, timeoutMs: number): Promise<readonly RemoteTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const timeout = Math.min(timeoutMs, LONGEST_TIMER_MS);
  const tools: RemoteTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method: "tools/list", params }, { timeout });
    tools.push(...result.tools.map(toRemoteTool));
    cursor = result.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`its list has more than ${MOST_PAGES} pages`);
}

function toRemoteTool({
  name,
  description,
  inputSchema,
}: ListToolsResult["tools"][number]): RemoteTool {
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: inputSchema as JsonObject, // Read from JSON.
  };
}
