/** Compares data of any depth. */

/** As `isDeepStrictEqual` of Node, which is slow to load: it is loaded with the first comparison of two objects. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other)) return Object.is(one, other);
  return process.getBuiltinModule("node:util").isDeepStrictEqual(one, other);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
