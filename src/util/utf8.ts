/** Strict base64 of UTF-8 text. It owns the alphabets, not the question of which field has one. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeBase64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/**
 * The text behind canonical, padded base64, all in the standard or all in the URL-safe alphabet;
 * undefined for anything else. `Buffer.from` skips what it cannot read, so the length tells whether
 * there was such a thing.
 */
export function decodeBase64(encoded: string): string | undefined {
  if (encoded.length % 4 !== 0) return undefined;
  const padding = encoded.endsWith("==") ? 2 : encoded.endsWith("=") ? 1 : 0;
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.length !== (encoded.length / 4) * 3 - padding) return undefined;
  if (hasTrailingBits(encoded, padding) || isMixed(encoded)) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Before padding, the last character may only fill the bits that are left of a byte. */
function hasTrailingBits(encoded: string, padding: 0 | 1 | 2): boolean {
  if (padding === 0) return false;
  const last = encoded.charAt(encoded.length - padding - 1);
  return !(padding === 2 ? "AQgw" : "AEIMQUYcgkosw048").includes(last);
}

function isMixed(encoded: string): boolean {
  const isUrlSafe = encoded.includes("-") || encoded.includes("_");
  return isUrlSafe && (encoded.includes("+") || encoded.includes("/"));
}

/** Cut between two characters, with a notice of what is missing. */
export function truncateBytes(text: string, most: number): string {
  if (text.length * 3 <= most) return text; // No character takes more.
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const start = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, most), {
    stream: true,
  });
  return `${start}\n[Cut off here: ${bytes.length - most} of ${bytes.length} bytes were left out.]`;
}
