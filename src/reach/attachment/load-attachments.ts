/** Loads attachments for programs. The readers load on the first call. */
import type { Attachment } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type { LoadAttachmentsOptions } from "./load.ts";

/**
 * Reads attachments by address: paths, `https:`, `cmd:` and `mcp+<server>+…`, as in `conversation.attachments` of a
 * config. It runs the commands and connects to the hosts that they name, so never pass untrusted addresses. Throws
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
