/** UTF-8 text as bytes: strict base64, truncation between two characters, and sizes. */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/**
 * Decodes canonical, padded base64 in either the standard or the URL-safe alphabet, not a mix of
 * both. Undefined for anything else. A `Buffer` silently skips invalid characters, which the length
 * of the result reveals.
 */
export function decodeBase64(encoded: string): string | undefined {
  // Most texts have a space near the start, whereas a `Buffer` would scan the whole text for base64.
  if (encoded.length % 4 !== 0 || NOT_BASE64.test(encoded)) return undefined;
  const padding = encoded.endsWith("==") ? 2 : encoded.endsWith("=") ? 1 : 0;
  const bytes = encoded.length <= shared.length ? shared : Buffer.allocUnsafe(encoded.length);
  const length = bytes.write(encoded, "base64");
  if (length !== (encoded.length / 4) * 3 - padding) return undefined;
  if (hasTrailingBits(encoded, padding) || isMixed(encoded)) return undefined;
  const text = bytes.toString("utf8", 0, length);
  // Either a literal U+FFFD, or a replacement for invalid UTF-8.
  return text.includes("\ufffd") ? decodeStrictly(bytes.subarray(0, length)) : text;
}

const NOT_BASE64 = /[^\w+/=-]/;

/** Reused, because a long record has a hundred thousand short texts. */
const shared = Buffer.allocUnsafeSlow(1 << 16);

function decodeStrictly(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** In canonical base64, the unused bits of the last character before the padding are zero. */
function hasTrailingBits(encoded: string, padding: 0 | 1 | 2): boolean {
  if (padding === 0) return false;
  const last = encoded.charAt(encoded.length - padding - 1);
  return !(padding === 2 ? "AQgw" : "AEIMQUYcgkosw048").includes(last);
}

function isMixed(encoded: string): boolean {
  const isUrlSafe = encoded.includes("-") || encoded.includes("_");
  return isUrlSafe && (encoded.includes("+") || encoded.includes("/"));
}

/** Truncates between two characters and appends a notice. */
export function truncateBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text; // No UTF-16 code unit takes more than three bytes.
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const start = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), {
    stream: true,
  });
  return start + truncationNotice(bytes.length - maxBytes, bytes.length);
}

/** The notice at the end of truncated text. */
export function truncationNotice(omitted: number, total: number): string {
  return `\n[Truncated: ${omitted} of ${total} bytes omitted.]`;
}

export function bytesToBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** The number of bytes the text decodes to. Undefined if it is not padded base64 in the standard alphabet. */
export function base64Size(text: string): number | undefined {
  const size = Buffer.byteLength(text, "base64");
  if (text.length % 4 !== 0 || text.includes("-") || text.includes("_")) return undefined;
  // A `Buffer` skips invalid characters. Finding them with a regular expression is ten times slower.
  return Buffer.from(text, "base64").length === size ? size : undefined;
}

/** A byte count for people, such as `14 kB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [unit, size] = bytes < 999_500 ? ["kB", bytes / 1000] : ["MB", bytes / 1_000_000];
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}
