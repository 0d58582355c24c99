/** Lists a server's tools, and reads the result of a call. */
import type {
  CallToolResult,
  Client,
  ContentBlock,
  ListToolsResult,
} from "@modelcontextprotocol/client";
import { abortable, type JsonObject, MAX_TIMER_MS, truncateBytes } from "../../util/index.ts";
import { isPlainText, parseBlock, type TextBlock, textForModel } from "../../record/tool/index.ts";
import type { CallResult, RemoteTool } from "./port.ts";
import { MAX_MESSAGE_BYTES, messageTooLong } from "./transport.ts";

const MAX_PAGES = 1000;
const MAX_RESULT_BYTES = 1024 * 1024;

/** The limit covers all pages; pass infinity for none. */
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
  annotations,
  execution,
}: ListToolsResult["tools"][number]): RemoteTool {
  const { readOnlyHint = false, idempotentHint = false, destructiveHint } = annotations ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: inputSchema as JsonObject, // JSON.
    ...(annotations !== undefined && { annotations: annotations as JsonObject }),
    ...((readOnlyHint || idempotentHint) && { isIdempotent: true }),
    ...(readOnlyHint && { isReadOnly: true }),
    ...(destructiveHint === true && !readOnlyHint && { isDestructive: true }),
    ...(execution?.taskSupport === "required" && { isTask: true }),
  };
}

/** Passes the text of the blocks on unchanged, up to a limit. */
export function toCallResult(result: CallToolResult): CallResult {
  const isError = result.isError === true;
  // JSON; a server may send blocks that the SDK has no type for.
  const given = result.content as unknown as readonly JsonObject[];
  const blocks = [...given.map(parseBlock), ...structuredBlock(result)];
  const content = truncateResult(textForModel(blocks, isError));
  const kept = blocks.every(isPlainText) ? {} : { blocks };
  if (!isError) return { type: "success", content, ...kept };
  return {
    type: "error",
    content: content === "" ? "The tool failed and gave no reason." : content,
    ...kept,
  };
}

export function truncateResult(text: string): string {
  return truncateBytes(text, MAX_RESULT_BYTES);
}

/** Structured content only repeats the text, if there is any. */
function structuredBlock({ content, structuredContent }: CallToolResult): readonly TextBlock[] {
  if (structuredContent === undefined || content.some(isText)) return [];
  return [{ type: "text", text: JSON.stringify(structuredContent) }];
}

function isText(block: ContentBlock): boolean {
  return block.type === "text" || (block.type === "resource" && "text" in block.resource);
}
