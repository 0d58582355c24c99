/** Canonical JSON (RFC 8785) and SHA-256: equal data has equal digests, whoever computes them. */
import type * as NodeCrypto from "node:crypto";
import type { Json, JsonObject } from "./json.ts";

/**
 * A value as JSON with sorted keys and without white space. As RFC 8785 requires, keys are sorted by UTF-16 code
 * units, and numbers are written as in JavaScript. A lone surrogate is escaped. Undefined members are left out.
 */
export function canonicalJson(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  }
  // In one pass: every decision is serialized like this twice.
  let members = "";
  const object = value as JsonObject;
  // oxlint-disable-next-line unicorn/no-array-sort -- Its own array, which needs no copy.
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member === undefined) continue;
    members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** An object whose members are already canonical JSON. */
export function canonicalObject(
  members: readonly (readonly [key: string, json: string])[],
): string {
  const sorted = members.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return `{${sorted.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
}

/** Up to this size, our own implementation is faster than loading Node's. */
const MAX_OWN_BYTES = 8192;
let ownBytes = 0;
let nodeHash: typeof NodeCrypto.hash | undefined;

/** In hexadecimal digits. */
export function sha256(data: string | Uint8Array): string {
  if (ownBytes <= MAX_OWN_BYTES) {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    ownBytes += bytes.length;
    if (ownBytes <= MAX_OWN_BYTES) return sha256Here(bytes);
  }
  nodeHash ??= nodeCrypto().hash;
  return nodeHash("sha256", data, "hex");
}

/** Not imported: Node takes a fifth of its own start to load it, and the desk's page bundles this folder. */
export function nodeCrypto(): typeof NodeCrypto {
  return process.getBuiltinModule("node:crypto");
}

const BLOCK = 64;

/** The first bits of the fractional parts of the square roots of the first primes. */
const START = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** The first bits of the fractional parts of their cube roots. */
const ROUNDS = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/** FIPS 180-4. */
export function sha256Here(bytes: Uint8Array): string {
  const hash = Uint32Array.from(START);
  // Padding: the data, a one bit, zeros, and the length in bits.
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length * 8);
  const words = new Uint32Array(BLOCK);
  for (let offset = 0; offset < padded.length; offset += BLOCK) {
    for (let index = 0; index < 16; index += 1) words[index] = view.getUint32(offset + index * 4);
    mix(hash, words);
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The names follow the standard. */
function mix(hash: Uint32Array, w: Uint32Array): void {
  for (let t = 16; t < BLOCK; t += 1) {
    const far = w[t - 15] ?? 0;
    const near = w[t - 2] ?? 0;
    const small0 = turn(far, 7) ^ turn(far, 18) ^ (far >>> 3);
    const small1 = turn(near, 17) ^ turn(near, 19) ^ (near >>> 10);
    w[t] = (w[t - 16] ?? 0) + small0 + (w[t - 7] ?? 0) + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let t = 0; t < BLOCK; t += 1) {
    const large1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + large1 + ((e & f) ^ (~e & g)) + (ROUNDS[t] ?? 0) + (w[t] ?? 0)) | 0;
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
