/** Compares data of any depth by its content, without `isDeepStrictEqual` of Node, which is slow to load. */
import { isJsonArray, isJsonObject } from "./json.ts";

/** For anything that JSON can hold, and nothing. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (isJsonArray(one) && isJsonArray(other)) {
    return one.length === other.length && one.every((item, at) => isDeepEqual(item, other[at]));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return Object.is(one, other);
  const keys = Object.keys(one);
  const isSame = (key: string) => Object.hasOwn(other, key) && isDeepEqual(one[key], other[key]);
  return keys.length === Object.keys(other).length && keys.every(isSame);
}
