/** Tells text from images, PDFs and other files by their first bytes, ignoring their names. */
import { decodeUtf8, decodeWindows1252 } from "../files/index.ts";
import { bytesToBase64 } from "../../util/index.ts";
import type { Attachment, MessageFile } from "../../record/conversation/index.ts";

/** A file that is neither text nor of a type that models accept. */
const UNKNOWN_TYPE = "application/octet-stream";

const SIGNATURES: readonly (readonly [mediaType: string, pattern: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
  ["application/pdf", /^%PDF-/],
];
const SIGNATURE_BYTES = 16;

/** Tells the model and the user how a text was decoded. */
const READ_AS_WINDOWS_1252 = "read as Windows-1252 (Latin-1), because it is not UTF-8";

/** Returns text as it is, and anything else as a file with this name. Text that is not UTF-8 gets a description. */
export function toContent(
  bytes: Buffer,
  filename: string,
): Pick<Attachment, "content" | "description"> {
  const start = bytes.toString("latin1", 0, SIGNATURE_BYTES);
  const known = SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0];
  if (known === undefined) {
    const text = decodeUtf8(bytes);
    if (text !== undefined) return { content: text.replace(/^\uFEFF/, "") };
    const older = decodeWindows1252(bytes);
    if (older !== undefined) return { content: older, description: READ_AS_WINDOWS_1252 };
  }
  return { content: { mediaType: known ?? UNKNOWN_TYPE, data: bytesToBase64(bytes), filename } };
}

/** Whether at least one model accepts it. */
export function isKnownFile({ mediaType }: MessageFile): boolean {
  return mediaType !== UNKNOWN_TYPE;
}
