/** The tools of a server, from all pages of its list. */
import type { Client, ListToolsResult } from "@modelcontextprotocol/client";
import { abortable, type JsonObject, MAX_TIMER_MS } from "../util/index.ts";
import { MAX_MESSAGE_BYTES, messageTooLong } from "./message-limit.ts";

/** A tool as its server describes it: foreign text. */
export interface RemoteTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
}

const MAX_PAGES = 1000;

/** All pages together take no longer than the limit, which is infinite for none. */
export async function listTools(client: Client, timeoutMs: number): Promise<readonly RemoteTool[]> {
  const deadline = new AbortController();
  const late = new Error(`it took more than ${timeoutMs / 1000} s`);
  const timer = setTimeout(() => deadline.abort(late), Math.min(timeoutMs, MAX_TIMER_MS));
  try {
    return await abortable(listPages(client, deadline.signal), deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** The SDK's own walk stops at 64 pages, and prints. */
async function listPages(client: Client, signal: AbortSignal): Promise<readonly RemoteTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools: RemoteTool[] = [];
  let size = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const options = { signal, timeout: MAX_TIMER_MS };
    const result = await client.request({ method: "tools/list", params }, options);
    const listed = result.tools.map(toRemoteTool);
    size += JSON.stringify(listed).length;
    if (size > MAX_MESSAGE_BYTES) throw messageTooLong();
    tools.push(...listed);
    cursor = result.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`its list has more than ${MAX_PAGES} pages`);
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
