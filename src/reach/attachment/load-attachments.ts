/** The attachments of programs. What reads them is loaded with the first call. */
import type { Attachment } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type { LoadAttachmentsOptions } from "./load.ts";

/**
 * Reads attachments by their addresses: paths, `https:`, `cmd:` and `mcp+<server>+…`, as in `conversation.attachments`
 * of a config. It runs and reaches what they name, so they must not come from someone else. Throws
 * `AttachmentError`, `invalid_attachment`, `McpError`, and the signal's reason.
 */
export async function loadAttachments(
  uris: readonly string[],
  options: LoadAttachmentsOptions,
): Promise<readonly Attachment[]> {
  const { readAttachments } = await loadReader();
  return readAttachments(uris, options);
}

/** Loads the code that reads attachments. Throws `module_not_loaded`. */
export async function preloadAttachments(): Promise<void> {
  const { preloadReaders } = await loadReader();
  await preloadReaders();
}

const loadReader = loaderOf(() => import("./load.ts"));
