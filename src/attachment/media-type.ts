/** Tells text from images, PDFs and other files by their first bytes, whatever their names say. */
import { decodeUtf8 } from "../files/index.ts";
import { bytesToBase64 } from "../util/index.ts";
import type { MessageFile } from "../conversation/index.ts";

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

/** Text as such, anything else as a file with this name. */
export function toContent(bytes: Buffer, filename: string): string | MessageFile {
  const start = bytes.toString("latin1", 0, SIGNATURE_BYTES);
  const known = SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0];
  const text = known === undefined ? decodeUtf8(bytes) : undefined;
  if (text !== undefined) return text.replace(/^\uFEFF/, "");
  return { mediaType: known ?? UNKNOWN_TYPE, data: bytesToBase64(bytes), filename };
}

/** Whether some model accepts it. */
export function isKnownFile({ mediaType }: MessageFile): boolean {
  return mediaType !== UNKNOWN_TYPE;
}
