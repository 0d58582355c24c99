/** Compares data of any depth. */

/** As `isDeepStrictEqual` of Node, whose module is slow to load: it is loaded with the first comparison. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  return process.getBuiltinModule("node:util").isDeepStrictEqual(one, other);
}
