/** Tells whether a file is still as it was, without reading it. */
import { type BigIntStats, lstatSync } from "node:fs";

/** Changes when a program writes to the file or replaces it. Empty if it does not exist. */
export function fingerprintOf(file: string): string {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "" : fingerprint(stats);
}

export function fingerprint({ ino, size, mtimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs}`;
}

/** File times are coarse: a file or folder that changed more recently may change again without a new time. */
const SETTLE_MS = { seconds: 2000, fractions: 100 };

/** Whether the next change will show in the time of the last one, in milliseconds. */
export function isSettled(changed: number): boolean {
  const settled = changed % 1000 === 0 ? SETTLE_MS.seconds : SETTLE_MS.fractions;
  return Date.now() - changed > settled;
}
