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

/** Up to here, our own is faster than loading Node's. */
const MAX_OWN_BYTES = 4096;
let ownBytes = 0;

/** In hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  ownBytes += bytes.length;
  if (ownBytes <= MAX_OWN_BYTES) return sha256Here(bytes);
  // Not imported: Node takes a fifth of its own start to load it, and the desk's page bundles this folder.
  return process.getBuiltinModule("node:crypto").hash("sha256", bytes, "hex");
}

const BLOCK = 64;

/** The first bits of the fractional parts of the square or cube roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const bits = new Uint32Array(count);
  for (let [candidate, found] = [2, 0]; found < count; candidate += 1) {
    let divisor = 2;
    while (candidate % divisor !== 0) divisor += 1;
    if (divisor !== candidate) continue;
    bits[found] = Math.trunc((root(candidate) % 1) * 2 ** 32);
    found += 1;
  }
  return bits;
}

let constants: { readonly start: Uint32Array; readonly rounds: Uint32Array } | undefined;

/** FIPS 180-4. */
export function sha256Here(bytes: Uint8Array): string {
  constants ??= { start: fractions(8, Math.sqrt), rounds: fractions(BLOCK, Math.cbrt) };
  const hash = constants.start.slice();
  // The data, a one, zeros, and its length in bits.
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length * 8);
  const words = new Uint32Array(BLOCK);
  for (let offset = 0; offset < padded.length; offset += BLOCK) {
    for (let index = 0; index < 16; index += 1) words[index] = view.getUint32(offset + index * 4);
    mix(hash, words, constants.rounds);
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The names are those of the standard. */
function mix(hash: Uint32Array, w: Uint32Array, k: Uint32Array): void {
  for (let t = 16; t < BLOCK; t += 1) {
    const [far, near] = [w[t - 15] ?? 0, w[t - 2] ?? 0];
    const small0 = turn(far, 7) ^ turn(far, 18) ^ (far >>> 3);
    const small1 = turn(near, 17) ^ turn(near, 19) ^ (near >>> 10);
    w[t] = (w[t - 16] ?? 0) + small0 + (w[t - 7] ?? 0) + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let t = 0; t < BLOCK; t += 1) {
    const large1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + large1 + ((e & f) ^ (~e & g)) + (k[t] ?? 0) + (w[t] ?? 0)) | 0;
    const large0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const second = (large0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) {
    hash[index] = (hash[index] ?? 0) + word;
  }
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
