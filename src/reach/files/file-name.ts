/**
 * File names as strings, even those that are not UTF-8. Each byte that is not part of a character becomes half a surrogate
 * pair, from U+DC80 to U+DCFF, as in Python's `surrogateescape`. No valid name contains one, so no two names look the same.
 */
import { isUtf8 } from "node:buffer";

const ESCAPED = /[\udc80-\udcff]/u;
const OFFSET = 0xdc00;

export function decodeFileName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    text +=
      length === 0
        ? String.fromCharCode(OFFSET + (bytes[at] ?? 0))
        : bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** The path to pass to the file system: bytes if its name is not UTF-8. */
export function toSystemPath(file: string): string | Buffer {
  if (file.isWellFormed()) return file;
  return Buffer.concat(
    Array.from(file, (character) =>
      ESCAPED.test(character)
        ? Buffer.of(character.charCodeAt(0) - OFFSET)
        : Buffer.from(character, "utf8"),
    ),
  );
}

/** The bytes of the character that begins there; 0 if none does. */
function characterLength(bytes: Buffer, at: number): number {
  const lengths = [1, 2, 3, 4];
  return lengths.find((length) => isUtf8(bytes.subarray(at, at + length))) ?? 0;
}
