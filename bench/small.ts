/** `--small`: runs every bench once on little data, only to check that it still works. Its figures mean nothing. */
import process from "node:process";

export const isSmall = process.argv.includes("--small");

/** A thousandth, but at least `least`. */
export function sized(size: number, least = 10): number {
  return isSmall ? Math.max(least, Math.ceil(size / 1000)) : size;
}
