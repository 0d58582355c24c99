/** Salts for the chain of decisions. */
import { closeSync, openSync, readSync } from "node:fs";

const BYTES = 16;
/** Read together, since a decision often has several links. */
const pool = Buffer.alloc(16 * BYTES);
let used = pool.length;

/**
 * 128 bits that no one can guess, in hexadecimal digits. Read from the system where it has a file for that: Node takes a
 * tenth of its own start to load its cryptography.
 */
export function newSalt(): string {
  try {
    if (used === pool.length) fill();
    used += BYTES;
    return pool.toString("hex", used - BYTES, used);
  } catch {
    return crypto.randomUUID();
  }
}

function fill(): void {
  const source = openSync("/dev/urandom", "r");
  try {
    const length = readSync(source, pool);
    if (length < pool.length) throw new Error("a short read");
    used = 0;
  } finally {
    closeSync(source);
  }
}
