/**
 * What a tool has answered, as text for a model. Images and other bytes become a note: nobody reads
 * base64. The text itself is foreign and stays as it came, up to a limit.
 */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { truncateBytes } from "../util/index.ts";

/** What a call came to, as text. */
export interface CallResult {
  readonly type: "success" | "error";
  readonly content: string;
}

const MOST_BYTES = 1024 * 1024;

export function toCallResult(result: CallToolResult): CallResult {
  const parts = result.content.map(partToText);
  const hasText = result.content.some(isText);
  const structured = hasText ? undefined : result.structuredContent;
  if (structured !== undefined) parts.push(JSON.stringify(structured));
  const content = capped(parts.filter((part) => part !== "").join("\n\n"));
  if (result.isError !== true) return { type: "success", content };
  return {
    type: "error",
    content: content === "" ? "The tool failed and did not say why." : content,
  };
}

export function capped(text: string): string {
  return truncateBytes(text, MOST_BYTES);
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
      return `[content of the unknown type ${JSON.stringify((block as { type: unknown }).type)}]`;
  }
}

function note(what: string, mimeType: string | undefined, base64: string): string {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
  return `[${[what, mimeType ?? "unknown type", `${bytes} bytes`].join(", ")}; not shown]`;
}
