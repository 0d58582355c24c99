/**
 * Loads a page that the user has named. A redirect may not reach a private address, unless the first connection went to
 * the same address and port: the user has named the page, not the targets of its redirects, nor a changed DNS entry.
 */
import type { MessageFile } from "../../record/conversation/index.ts";
import {
  isPrivateAddress,
  loadPage,
  type Lookup,
  type PageAccess,
  pageText,
  WebError,
} from "../web/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { isKnownFile, toContent } from "./media-type.ts";

const ACCESS: PageAccess = {
  mayConnect: (_url, { address, port }, first) =>
    first === undefined ||
    !isPrivateAddress(address) ||
    (address === first.address && port === first.port),
  mayFollow: () => true,
  wants: () => true,
};

/**
 * Returns text, Markdown from HTML, or an image or PDF. Tests replace `lookup`. Throws `AttachmentError`, and the
 * signal's reason.
 */
export async function readPage(
  address: string,
  signal: AbortSignal,
  lookup?: Lookup,
): Promise<string | MessageFile> {
  const options = { signal, access: ACCESS, ...(lookup !== undefined && { lookup }) };
  const page = await loadPage(new URL(address), options).catch((error: unknown) => {
    throw error instanceof WebError ? toAttachmentError(error, address) : error;
  });
  if (page.type !== "page") throw new Error("every page is wanted, and every redirect followed");
  const filename = new URL(address).pathname.split("/").at(-1) || "page";
  const { content } = toContent(page.bytes, filename);
  if (typeof content !== "string" && isKnownFile(content)) return content;
  return pageText(page) ?? content;
}

function toAttachmentError({ code, reason }: WebError, address: string): AttachmentError {
  if (code === "address_private") {
    return new AttachmentError("attachment_not_read", `Cannot attach the page: ${reason}.`, {
      hint: "To attach it anyway, name that address.",
    });
  }
  const isLarge = code === "page_too_large";
  const message = `Cannot attach ${address}: ${reason}.`;
  return new AttachmentError(isLarge ? "attachments_too_large" : "attachment_not_read", message);
}
