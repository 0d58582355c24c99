/** Strict base64 of UTF-8 text. It owns the alphabets, not the question of which field has one. */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/**
 * The text behind canonical, padded base64 in the standard or the URL-safe alphabet; undefined for
 * anything else. `Buffer.from` skips what it cannot read, so only a string that is encoded back to
 * itself counts.
 */
export function decodeBase64(encoded: string): string | undefined {
  if (encoded.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") !== encoded && !isUrlSafe(encoded, bytes)) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function isUrlSafe(encoded: string, bytes: Buffer): boolean {
  const padding = "=".repeat((3 - (bytes.length % 3)) % 3);
  return bytes.toString("base64url") + padding === encoded;
}
