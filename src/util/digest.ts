/** Canonical JSON (RFC 8785) and SHA-256: the same data has the same digest, whoever computes it. */
import type { Json } from "./json.ts";

/**
 * The JSON of a value with sorted keys and without white space. Keys are sorted by UTF-16 code units, and numbers
 * written as JavaScript does, as RFC 8785 demands. A lone surrogate is escaped. Members that are undefined are left out.
 */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) {
    return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** In hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  // Not imported: it is slow to load, most commands never need it, and the desk's page bundles this folder.
  return process.getBuiltinModule("node:crypto").hash("sha256", data, "hex");
}
