/** Deep equality of data, without Node's `isDeepStrictEqual`, which is slow to load. */
import { isJsonArray, isJsonObject } from "./json.ts";

/** For JSON values and undefined. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (isJsonArray(one) && isJsonArray(other)) {
    return one.length === other.length && one.every((item, at) => isDeepEqual(item, other[at]));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return Object.is(one, other);
  const keys = Object.keys(one);
  const isSame = (key: string) => Object.hasOwn(other, key) && isDeepEqual(one[key], other[key]);
  return keys.length === Object.keys(other).length && keys.every(isSame);
}
