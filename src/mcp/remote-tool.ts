/** The tools of a server: their list, and the result of a call as text for a model. */
import type {
  CallToolResult,
  Client,
  ContentBlock,
  ListToolsResult,
} from "@modelcontextprotocol/client";
import { abortable, type JsonObject, MAX_TIMER_MS, truncateBytes } from "../util/index.ts";
import type { CallResult, RemoteTool } from "./port.ts";
import { MAX_MESSAGE_BYTES, messageTooLong } from "./transport.ts";

const MAX_PAGES = 1000;
const MAX_RESULT_BYTES = 1024 * 1024;

/** The limit is for all pages together; infinity for none. */
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

/** The SDK's own pagination stops at 64 pages and prints a warning. */
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
  throw new Error(`its tool list has more than ${MAX_PAGES} pages`);
}

function toRemoteTool({
  name,
  description,
  inputSchema,
  annotations: { readOnlyHint = false, idempotentHint = false } = {},
}: ListToolsResult["tools"][number]): RemoteTool {
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: inputSchema as JsonObject, // Read from JSON.
    ...((readOnlyHint || idempotentHint) && { isIdempotent: true }),
  };
}

/** Images and other bytes become a note. The text itself is passed on as it is, up to a limit. */
export function toCallResult(result: CallToolResult): CallResult {
  const parts = result.content.map(partToText);
  const hasText = result.content.some(isText);
  const structured = hasText ? undefined : result.structuredContent;
  if (structured !== undefined) parts.push(JSON.stringify(structured));
  const content = truncateResult(parts.filter((part) => part !== "").join("\n\n"));
  if (result.isError !== true) return { type: "success", content };
  return {
    type: "error",
    content: content === "" ? "The tool failed and gave no reason." : content,
  };
}

export function truncateResult(text: string): string {
  return truncateBytes(text, MAX_RESULT_BYTES);
}

function isText(block: ContentBlock): boolean {
  return block.type === "text" || (block.type === "resource" && "text" in block.resource);
}

function partToText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return note(block.type, block.mimeType, block.data);
    case "resource_link":
      return `${block.name} (${block.uri})`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return resource.text;
      return note(`resource ${resource.uri}`, resource.mimeType, resource.blob);
    }
    default:
      return `[content of unknown type ${JSON.stringify((block as { type: unknown }).type)}]`;
  }
}

function note(what: string, mimeType: string | undefined, base64: string): string {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
  return `[${[what, mimeType ?? "unknown type", `${bytes} bytes`].join(", ")}; not shown]`;
}
